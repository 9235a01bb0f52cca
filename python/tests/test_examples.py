"""The examples, run as their users run them: the same losses as on Gloo, and others where the reductions do nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import free_port

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
WITHOUT_REDUCTIONS = Path(__file__).with_name("without_reductions.py")


def torchrun(size, *command, folder):
    """What `torchrun` says of a script with `size` ranks on this machine."""
    losses = folder / "losses.json"
    losses.unlink(missing_ok=True)
    launcher = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={size}", f"--master-port={free_port()}"]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run([*launcher, *map(str, command), "--losses", str(losses)], capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(losses.read_text())


@pytest.mark.parametrize("size", [2, 4])
def test_ddp_learns_on_rondo_what_it_learns_on_gloo(size, tmp_path):
    script = EXAMPLES / "ddp.py"
    ours = torchrun(size, script, "--backend", "rondo", folder=tmp_path)
    theirs = torchrun(size, script, "--backend", "gloo", folder=tmp_path)
    assert ours["losses"] == pytest.approx(theirs["losses"], rel=1e-4)
    assert ours["losses"][-1] < 0.5 * ours["losses"][0]
    # The test can fail: with reductions that do nothing each rank learns alone.
    alone = torchrun(size, WITHOUT_REDUCTIONS, script, "--backend", "rondo", folder=tmp_path)
    assert alone["losses"] != pytest.approx(theirs["losses"], rel=1e-4)
