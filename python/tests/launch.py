"""Starts programs as their users do, or faster, and reads what the examples report."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import ranks
from ranks import free_port
from script import become

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
WITHOUT_REDUCTIONS = Path(__file__).with_name("without_reductions.py")
ON_GLOO = Path(__file__).with_name("on_gloo.py")
WITHOUT_GLOO = Path(__file__).with_name("without_gloo.py")
EXACT = 1e-4  # losses that differ by the order of sums alone
BFLOAT16 = 2**-8  # what one rounding to it may lose


def output_of(command, environment, seconds):
    """What a program prints, and its exit status; None where it hasn't ended after so long. Then it is killed with all that it has started."""
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True)
    try:
        return program.communicate(timeout=seconds)[0], program.returncode
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        return program.communicate()[0], None


def launched(command, takeover=False, may_hang=False, **variables):
    """What a program prints that must end well, with these environment variables. `may_hang`: of a program that forks its ranks beside a thread of torch's
    store. Where that has just taken glibc's resolver lock, to write an address of a rank before, the fork never gets it: then it is started again."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore", **variables)
    environment.pop("RONDO_TAKEOVER", None)
    if takeover:
        environment["RONDO_TAKEOVER"] = "gloo"
    said, status = output_of([sys.executable, *map(str, command)], environment, 120 if may_hang else 240)
    if may_hang and status is None:
        said, status = output_of([sys.executable, *map(str, command)], environment, 240)
    assert status == 0, said
    return said


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
    """As users start it: by torchrun."""
    return losses_of(torchrun, size, *command, folder=folder, **options)


def _be_script(_rank, _size, script, *arguments):
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        become(script, *arguments)


def run_forked(size, *command, folder):
    """The same losses from ranks that needn't import torch and what stands on it: seconds for each that torchrun starts. For what a test runs besides."""
    return losses_of(lambda *words: ranks.run(size, _be_script, *map(str, words), backend=None), *command, folder=folder)
