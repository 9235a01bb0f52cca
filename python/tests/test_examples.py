"""The examples, run as their users run them: the same losses as on Gloo, and others where nobody combines the gradients."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import free_port

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
WITHOUT_REDUCTIONS = Path(__file__).with_name("without_reductions.py")
WITHOUT_GLOO = Path(__file__).with_name("without_gloo.py")
EXACT = 1e-4
BFLOAT16 = 2**-8  # what one rounding to it may lose


def launched(command, takeover=False):
    """What a program prints that must end well."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore")
    environment.pop("RONDO_TAKEOVER", None)
    if takeover:
        environment["RONDO_TAKEOVER"] = "gloo"
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def torchrun(size, *command, takeover=False, restarts=0):
    """The same of a script with `size` ranks on this machine."""
    launcher = ["-m", "torch.distributed.run", f"--nproc-per-node={size}", f"--master-port={free_port()}", f"--max-restarts={restarts}"]
    return launched([*launcher, *command], takeover)


def losses_of(start, *command, folder, **options):
    """The losses that an example reports when it is started so."""
    losses = folder / "losses.json"
    losses.unlink(missing_ok=True)
    start(*command, "--losses", losses, **options)
    return json.loads(losses.read_text())["losses"]


def run(size, *command, folder, takeover=False):
    return losses_of(torchrun, size, *command, folder=folder, takeover=takeover)


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
        ours = run(size + server, *([] if has_server else [WITHOUT_GLOO]), EXAMPLES / script, *options, "--backend", "rondo", folder=tmp_path)
        theirs = run(size + server, EXAMPLES / script, *options, "--backend", "gloo", folder=tmp_path)
        assert ours == pytest.approx(theirs, rel=close)
        assert ours[-1] < 0.6 * ours[0]
    # The test can fail: without reductions each rank learns alone.
        if size == 2:
            alone = run(2 + server, WITHOUT_REDUCTIONS, EXAMPLES / script, *options, "--backend", "rondo", folder=tmp_path)
            assert alone != pytest.approx(theirs, rel=close)


@pytest.mark.parametrize("script", ["accelerated.py", "trainer.py"])
def test_programs_that_choose_gloo_themselves_learn_the_same_when_it_is_taken_over(script, tmp_path):
    ours = run(2, WITHOUT_GLOO, EXAMPLES / script, "--backend", "default", folder=tmp_path, takeover=True)
    theirs = run(2, EXAMPLES / script, "--backend", "default", folder=tmp_path)
    assert ours == pytest.approx(theirs, rel=EXACT)


@pytest.mark.parametrize("size", [2, 4])
def test_a_notebook_learns_on_rondo_what_it_learns_on_gloo(size, tmp_path):
    def notebook(*command, takeover=False):
        return losses_of(lambda *words: launched(words, takeover), *command, EXAMPLES / "notebook.py", "--ranks", size, folder=tmp_path)

    ours, theirs = notebook(WITHOUT_GLOO, takeover=True), notebook()
    assert ours == pytest.approx(theirs, rel=EXACT)
    if size == 2:
        alone = notebook(WITHOUT_REDUCTIONS, takeover=True)
        assert alone != pytest.approx(theirs, rel=EXACT)


@pytest.mark.parametrize("size", [2, 4])
def test_training_goes_on_from_its_checkpoint_after_a_rank_was_killed(size, tmp_path):
    said = {}
    for folder, dies in (("whole", -1), ("killed", 2)):
        losses = tmp_path / f"{folder}.json"
        said[folder] = torchrun(size, EXAMPLES / "restart.py", "--folder", tmp_path / folder, "--die-in", dies, "--epochs", 4, "--losses", losses, restarts=1)
        said[folder + " losses"] = json.loads(losses.read_text())["losses"]
    assert "killed at" not in said["whole"]
    assert said["killed losses"] == said["whole losses"]
    # who was left heard of it, by name, within a second
    killed = float(re.search(r"killed at ([\d.]+)", said["killed"])[1])
    heard = re.findall(r"rank \d heard at ([\d.]+): .*rank 1 \(process \d+", said["killed"])
    assert len(heard) == size - 1 and all(float(when) - killed < 1 for when in heard), said["killed"]
