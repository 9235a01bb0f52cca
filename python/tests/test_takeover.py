"""RONDO_TAKEOVER=gloo: programs that ask for Gloo, unchanged."""

import os
import subprocess
import sys

import pytest
import torch.distributed as dist
from ranks import free_port

PROGRAM = r"""
import datetime, os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
assert dist.get_backend() == "gloo"
if os.environ["TORCH_DISTRIBUTED_DEBUG"] == "OFF":  # else torch wraps it, and the wrapper of Gloo itself aborts at its name
    sys.stdout.write(f"runs on {dist.group.WORLD._get_backend(torch.device('cpu')).name()}\n")  # in one piece, beside the other rank's
tensor = torch.ones(10)
dist.all_reduce(tensor)
assert tensor[0] == dist.get_world_size()
dist.monitored_barrier()
dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=77))
part = dist.new_group([0, 1])
dist.barrier(group=part)
gathered = [None] * dist.get_world_size()
dist.all_gather_object(gathered, os.getpid())
assert gathered[dist.get_rank()] == os.getpid()
dist.destroy_process_group()
"""


def run(command, **variables):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={free_port()}"]
    return subprocess.run([*launcher, *command], capture_output=True, text=True, timeout=120, env=dict(os.environ, OMP_NUM_THREADS="1", **variables))


@pytest.mark.parametrize("takeover, backend", [("gloo", "rondo"), ("", "gloo")])
def test_a_group_that_asks_for_gloo_gets_what_the_environment_says(tmp_path, takeover, backend):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    for detail in ("OFF", "DETAIL"):
        done = run([str(script)], RONDO_TAKEOVER=takeover, TORCH_DISTRIBUTED_DEBUG=detail)
        assert done.returncode == 0, done.stdout + done.stderr
        if detail == "OFF":
            assert f"runs on {backend}" in done.stdout


def test_another_value_is_named_and_torch_is_imported_all_the_same():
    done = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, text=True, timeout=60, env=dict(os.environ, RONDO_TAKEOVER="nccl"))
    assert done.returncode == 0 and "RONDO_TAKEOVER is 'nccl'; accepted: gloo" in done.stderr


def test_torch_has_its_own_gloo_where_nobody_asks_for_another():
    assert not hasattr(dist.ProcessGroupGloo, "is_rondo")


FORWARDED = """
import torch, torch.distributed as dist
from rondo.torch import _backend
def elsewhere(*arguments, **options):
    raise NotImplementedError("rank 1 runs elsewhere")
_backend.make = elsewhere
dist.init_process_group("gloo")
assert dist.group.WORLD._get_backend(torch.device("cpu")).name() == "gloo"
tensor = torch.ones(10)
dist.all_reduce(tensor)
assert tensor[0] == 2
dist.destroy_process_group()
"""


def test_what_rondo_cannot_serve_goes_on_to_gloo_with_a_line(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(FORWARDED)
    done = run([str(script)], RONDO_TAKEOVER="gloo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("this group goes on to Gloo: rank 1 runs elsewhere") == 2, done.stderr  # one for each rank


def test_a_torch_without_an_adapter_keeps_its_own_gloo():
    program = """
import sys, torch
from rondo.torch import _backend
_backend._built = lambda: ["2.99"]
from rondo import _takeover
_takeover.install()
assert not hasattr(torch.distributed.distributed_c10d.ProcessGroupGloo, "is_rondo")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=dict(os.environ, RONDO_TAKEOVER=""))
    assert done.returncode == 0 and "RONDO_TAKEOVER has no effect" in done.stderr and "2.99" in done.stderr, done.stderr
