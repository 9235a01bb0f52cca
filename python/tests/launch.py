"""Starts programs as their users do, and reads what the examples report."""

import json
import os
import subprocess
import sys
from pathlib import Path

from ranks import free_port

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
WITHOUT_REDUCTIONS = Path(__file__).with_name("without_reductions.py")
WITHOUT_GLOO = Path(__file__).with_name("without_gloo.py")
EXACT = 1e-4  # losses that differ by the order of sums alone
BFLOAT16 = 2**-8  # what one rounding to it may lose


def launched(command, takeover=False, **variables):
    """What a program prints that must end well, with these environment variables."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore", **variables)
    environment.pop("RONDO_TAKEOVER", None)
    if takeover:
        environment["RONDO_TAKEOVER"] = "gloo"
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def torchrun(size, *command, takeover=False, restarts=0, **variables):
    """The same of a script with `size` ranks on this machine."""
    launcher = ["-m", "torch.distributed.run", f"--nproc-per-node={size}", f"--master-port={free_port()}", f"--max-restarts={restarts}"]
    return launched([*launcher, *command], takeover, **variables)


def losses_of(start, *command, folder, **options):
    """The losses that an example reports when it is started so."""
    losses = folder / "losses.json"
    losses.unlink(missing_ok=True)
    start(*command, "--losses", losses, **options)
    return json.loads(losses.read_text())["losses"]


def run(size, *command, folder, **options):
    return losses_of(torchrun, size, *command, folder=folder, **options)
