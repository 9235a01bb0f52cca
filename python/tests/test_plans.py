"""Plans as plain objects: made, changed, proved and run, as one does in a notebook."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy
import pytest
import rondo

COLLECTIVES = ["all_reduce", "reduce", "broadcast", "reduce_scatter", "all_gather", "gather", "scatter", "all_to_all", "scan"]
ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "tests" / "formats" / "data"
EXAMPLE = ROOT / "python" / "examples" / "write_an_algorithm.py"


def given(ranks, count):
    return [numpy.arange(count, dtype="float64") * (rank + 1) for rank in range(ranks)]


def expected(collective, arrays, root):
    """By rank."""
    ranks, total = len(arrays), sum(arrays)
    at_root = [None] * ranks
    if collective == "reduce":
        at_root[root] = total
        return at_root
    if collective == "gather":
        at_root[root] = numpy.stack(arrays)
        return at_root
    return {
        "all_reduce": lambda: [total] * ranks,
        "broadcast": lambda: [arrays[root]] * ranks,
        "reduce_scatter": lambda: numpy.split(total, ranks),
        "all_gather": lambda: [numpy.stack(arrays)] * ranks,
        "scatter": lambda: numpy.split(arrays[root], ranks),
        "all_to_all": lambda: list(numpy.stack([numpy.concatenate([numpy.split(array, ranks)[rank] for array in arrays]) for rank in range(ranks)])),
        "scan": lambda: list(numpy.cumsum(numpy.stack(arrays), axis=0)),
    }[collective]()


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_plans_are_made_proved_and_run(collective):
    for ranks in (1, 2, 3, 5):
        arrays = given(ranks, 12 * ranks)
        root = ranks - 1
        for symmetric in (False, True):
            plan = rondo.plan(collective, ranks, 96 * ranks, "f64", root=root, symmetric=symmetric)
            assert rondo.verify(plan).proved
            results = rondo.run(plan, arrays)
            for result, right in zip(results, expected(collective, arrays, root), strict=True):
                numpy.testing.assert_array_equal(result, right)
    assert all((array == same).all() for array, same in zip(arrays, given(5, 60))), "what was given has been changed"


def test_a_plan_that_serves_calls_in_place_alone_is_run_in_place():
    for collective in COLLECTIVES:
        plan = rondo.plan(collective, 3, 1 << 10, "f64", root=1)
        plan["out_of_place"] = False
        assert rondo.verify(plan).proved
        for result, right in zip(rondo.run(plan, given(3, 30)), expected(collective, given(3, 30), 1), strict=True):
            numpy.testing.assert_array_equal(result, right)


def test_barriers_and_other_operations():
    assert rondo.run(rondo.plan("barrier", 3), [None] * 3) == [None] * 3
    assert rondo.run(rondo.plan("all_reduce", 2, 8, "i32", "max"), [numpy.array([1, 9], "int32"), numpy.array([5, 2], "int32")], "max")[0].tolist() == [5, 9]


def test_plans_follow_the_machine_that_is_given(tmp_path):
    machine = "package:2 l3:1 core:4 pu:1"
    plan = rondo.plan("all_reduce", 8, 64 << 20, algorithm="hierarchical", topology=machine)
    assert plan["groups"] == [4] and rondo.verify(plan).proved
    whole = rondo.Communicator.in_process(1)[0].topology()
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(whole))
    assert rondo.plan("all_reduce", 2, topology=whole)["programs"] == rondo.plan("all_reduce", 2, topology=file)["programs"]


def test_a_wrong_plan_is_refused_with_the_step_that_is_wrong():
    plan = rondo.plan("all_reduce", 3, 1 << 20, algorithm="ring")
    steps = plan["programs"][1]["lanes"][0]
    at = next(number for number, step in enumerate(steps) if "reduce" in step)
    steps[at]["reduce"] = [operand.replace("input[0]", "input[1]").replace("input[2]", "input[1]") for operand in steps[at]["reduce"]]
    proof = rondo.verify(plan)
    assert not proof.proved and proof.violations[0].rank in range(3) and proof.violations[0].message, proof
    arrays = [numpy.ones(9, "float32")] * 3
    with pytest.raises(rondo.InvalidPlanError):
        rondo.run(plan, arrays)
    assert not numpy.array_equal(rondo.run(plan, given(3, 9), unverified=True)[2], sum(given(3, 9)))  # as it is, it is run


def test_plans_of_others_are_read_and_run():
    plan = rondo.read_plan(FILES / "ring3.xml")
    assert plan["ranks"] == 3 and rondo.verify(plan).proved
    results = rondo.run(plan, given(3, 36))
    for result, right in zip(results, expected(plan["collective"], given(3, 36), 0)):
        numpy.testing.assert_array_equal(result, right)


def test_an_algorithm_of_one_s_own_is_proved_run_and_saved(tmp_path):
    file = tmp_path / "plan.json"
    for ranks in (2, 5):
        said = subprocess.run([sys.executable, str(EXAMPLE), "--ranks", str(ranks), "--save", str(file)], capture_output=True, text=True, timeout=60)
        assert said.returncode == 0 and f"run by {ranks} threads: right" in said.stdout, said
    plan = rondo.read_plan(file)
    assert plan["ranks"] == 5 and rondo.verify(plan).proved
    plan["programs"][0]["lanes"][0][0]["reduce"].pop()
    assert rondo.verify(plan).violations[0].message == "sends on the link from rank 4 to rank 0, channel 0, where nobody receives message 0"


def refused(error, words, call):
    with pytest.raises(error) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_what_makes_no_sense_is_refused(tmp_path):
    refused(ValueError, ["all_reduxe"], lambda: rondo.plan("all_reduxe", 2))
    refused(ValueError, ["float32", "f32"], lambda: rondo.plan("all_reduce", 2, dtype="float32"))
    refused(rondo.UnsupportedError, ["best", "ring"], lambda: rondo.plan("all_reduce", 2, algorithm="best"))
    refused(OSError, ["nowhere.xml"], lambda: rondo.plan("all_reduce", 2, topology="nowhere.xml"))
    refused(OSError, ["nowhere.json"], lambda: rondo.read_plan("nowhere.json"))
    refused(rondo.InvalidPlanError, [], lambda: rondo.verify({"ranks": 2}))
    refused(ValueError, ["3 arrays", "2 ranks"], lambda: rondo.run(rondo.plan("all_reduce", 2), [numpy.ones(1)] * 3))
    refused(ValueError, ["0 ranks"], lambda: rondo.plan("all_reduce", 0))


def test_the_traffic_of_a_plan_is_counted_and_drawn(tmp_path):
    def run(*arguments):
        drawing = tmp_path / "traffic.svg"
        program = EXAMPLE.with_name("traffic.py")
        done = subprocess.run([sys.executable, program, *arguments, "--save", drawing], capture_output=True, text=True, check=True)
        return done.stdout.strip(), ElementTree.parse(drawing).getroot()

    # Each rank gets 2 · 3 chunks from the one before it.
    said, picture = run("all_reduce", "4", "--algorithm", "ring", "--topology", "core:4 pu:1")
    assert said == "ring: all_reduce of 4 ranks: 24 chunks pass between 4 pairs of ranks, 6 between the busiest"
    titles = {title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")}
    assert titles == {f"rank {rank} to rank {(rank + 1) % 4}: 6 chunks" for rank in range(4)}
    # Each rank reduces its part of the three others' and reads theirs.
    assert run("all_reduce", "4", "--algorithm", "two_shot")[0].endswith("24 chunks pass between 12 pairs of ranks, 2 between the busiest")
    assert run(str(FILES / "ring3.xml"))[0].startswith("ring3: all_reduce of 3 ranks: 12 chunks pass between 3 pairs")
