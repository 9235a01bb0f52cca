"""What a type checker knows of the package is what the package does."""

import subprocess
import sys

import pytest
import rondo

PROGRAM = """
import numpy
import rondo
import rondo.torch

ranks = rondo.Communicator.in_process(1, strict=True)
ones = numpy.ones(4)
reveal_type(ranks[0].all_reduce(ones, "max"))
reveal_type(ranks[0].all_reduce(ones, async_op=True).wait())
reveal_type(ranks[0].gather(ones))
reveal_type(ranks[0].split(None))
reveal_type(ranks[0].recv(ones, async_op=True).wait())
reveal_type(rondo.verify(rondo.plan("all_reduce", 2)).proved)
rondo.torch.DDPHook(wire="bf16")
try:
    ranks[0].barrier()
except rondo.PeerFailedError:
    pass
"""
WRONG = """
import rondo
import rondo.torch

only = rondo.Communicator.in_process(1)[0]
only.all_reduce([1.0], "median")
only.broadcast([1.0], "first")
only.bcast([1.0])
rondo.Communicator.in_process(1, strikt=True)
rondo.torch.DDPHook(wire="f8")
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What mypy has found out about torch, which takes it half a minute."""
    return tmp_path_factory.mktemp("cache")


def mypy(cache, *arguments, module="mypy"):
    done = subprocess.run([sys.executable, "-m", module, *map(str, arguments)], capture_output=True, text=True, timeout=240, cwd=cache)
    return done.returncode, done.stdout + done.stderr


def test_types_are_those_of_the_functions(cache):
    status, said = mypy(cache, "rondo._communicator", module="mypy.stubtest")
    assert status == 0, said
    assert rondo.Work[int]  # in annotations


def test_a_checker_knows_what_calls_return(tmp_path, cache):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    status, said = mypy(cache, "--strict", program)
    assert status == 0, said
    revealed = [line.split('"')[1] for line in said.splitlines() if "Revealed type" in line]
    array = revealed[0]
    assert "ndarray" in array and revealed == [array, array, f"{array} | None", "rondo._communicator.Communicator | None", "int", "bool"], said


def test_a_checker_finds_what_makes_no_sense(tmp_path, cache):
    program = tmp_path / "program.py"
    program.write_text(WRONG)
    status, said = mypy(cache, "--strict", program)
    lines = sorted({int(line.split(":")[1]) for line in said.splitlines() if ": error:" in line})
    assert status == 1 and lines == [6, 7, 8, 9, 10], said
