"""The examples, run as their users run them: the same losses as on Gloo, and others where nobody combines the gradients."""

import json
import re

import pytest
from launch import BFLOAT16, EXACT, EXAMPLES, ON_GLOO, WITHOUT_GLOO, WITHOUT_REDUCTIONS, launched, losses_of, run, run_forked, torchrun
from ranks import free_port


@pytest.mark.parametrize(
    "script, options, close",
    [("ddp.py", [], EXACT), ("zero.py", [], EXACT), ("fsdp.py", [], EXACT), ("accelerated.py", [], EXACT),
     ("accelerated.py", ["--precision", "bf16"], BFLOAT16), ("trainer.py", [], EXACT), ("hybrid.py", [], EXACT)],
    ids=["ddp", "zero", "fsdp", "accelerate", "accelerate in bfloat16", "trainer", "rpc beside ddp"],
)
def test_an_example_learns_on_rondo_what_it_learns_on_gloo(script, options, close, tmp_path):
    has_server = script == "hybrid.py"
    server = 1 if has_server else 0  # a rank that doesn't train; RPC has a Gloo group of its own
    for size in (2,) if options else (2, 4):  # a variant of an example that has been run with 4 ranks
        start = run if size == 2 else run_forked
        ours = start(size + server, *([] if has_server else [WITHOUT_GLOO]), EXAMPLES / script, *options, "--backend", "rondo", folder=tmp_path)
        theirs = run_forked(size + server, ON_GLOO, EXAMPLES / script, *options, "--backend", "gloo", folder=tmp_path)
        assert ours == pytest.approx(theirs, rel=close)
        assert ours[-1] < 0.6 * ours[0]
        # The test can fail: without reductions each rank learns alone.
        alone = run_forked(size + server, WITHOUT_REDUCTIONS, EXAMPLES / script, *options, "--backend", "rondo", folder=tmp_path)
        assert alone != pytest.approx(theirs, rel=close)


@pytest.mark.parametrize("script", ["accelerated.py", "trainer.py"])
def test_programs_that_choose_gloo_themselves_learn_the_same_when_it_is_taken_over(script, tmp_path):
    ours = run(2, WITHOUT_GLOO, EXAMPLES / script, "--backend", "default", folder=tmp_path, takeover=True)
    theirs = run_forked(2, ON_GLOO, EXAMPLES / script, "--backend", "default", folder=tmp_path)
    assert ours == pytest.approx(theirs, rel=EXACT)


def test_accelerate_launch_starts_a_program_on_rondo_that_learns_as_on_gloo(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("localhost slots=2\n")

    def accelerate_launch(*command, takeover=False):
        """Accelerate starts several ranks on CPU by mpirun alone."""
        launcher = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", 2, "--num_machines", 1, "--mpirun_hostfile", hosts,
                    "--main_process_port", free_port()]
        return launched([*launcher, *command], takeover, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    program = [EXAMPLES / "accelerated.py", "--backend", "default"]
    ours = losses_of(accelerate_launch, WITHOUT_GLOO, *program, folder=tmp_path, takeover=True)
    theirs = run_forked(2, ON_GLOO, *program, folder=tmp_path)
    assert ours == pytest.approx(theirs, rel=EXACT)
    assert losses_of(accelerate_launch, WITHOUT_REDUCTIONS, *program, folder=tmp_path, takeover=True) != pytest.approx(theirs, rel=EXACT)


@pytest.mark.parametrize("size", [2, 4])
def test_a_notebook_learns_on_rondo_what_it_learns_on_gloo(size, tmp_path):
    def notebook(*command, takeover=False):
        return losses_of(lambda *words: launched(words, takeover, may_hang=True), *command, EXAMPLES / "notebook.py", "--ranks", size, folder=tmp_path)

    ours, theirs = notebook(WITHOUT_GLOO, takeover=True), notebook(ON_GLOO)
    assert ours == pytest.approx(theirs, rel=EXACT)
    if size == 2:
        alone = notebook(WITHOUT_REDUCTIONS, takeover=True)
        assert alone != pytest.approx(theirs, rel=EXACT)


@pytest.mark.parametrize("size", [2, 4])
def test_training_goes_on_from_its_checkpoint_after_a_rank_was_killed(size, tmp_path):
    def program(folder, dies=-1, backend="rondo"):
        return [EXAMPLES / "restart.py", "--folder", tmp_path / folder, "--die-in", dies, "--epochs", 4, "--backend", backend]

    losses = tmp_path / "killed.json"
    said = torchrun(size, WITHOUT_GLOO, *program("killed", dies=2), "--losses", losses, restarts=1)
    whole = run_forked(size, WITHOUT_GLOO, *program("whole"), folder=tmp_path)
    assert json.loads(losses.read_text())["losses"] == whole
    assert whole == pytest.approx(run_forked(size, ON_GLOO, *program("on gloo", backend="gloo"), folder=tmp_path), rel=EXACT)
    assert whole != pytest.approx(run_forked(size, WITHOUT_REDUCTIONS, *program("alone"), folder=tmp_path), rel=EXACT)
    # who was left heard of it, by name, long before any time limit
    killed = float(re.search(r"killed at ([\d.]+)", said)[1])
    heard = re.findall(r"rank \d heard at ([\d.]+): .*?rank 1 \(process \d+", said)
    assert len(heard) == size - 1 and all(float(when) - killed < 10 for when in heard), said
