"""Jobs of torchrun whose ranks are on several hosts."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from launch import EXACT, EXAMPLES, ON_GLOO, run, torchrun

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "support"))
from hosts import job, two_hosts  # noqa: E402

SCRIPT = """
import torch, torch.distributed as dist
dist.init_process_group("rondo")
rank, size = dist.get_rank(), dist.get_world_size()
ones = torch.ones(100_003)
dist.all_reduce(ones)
assert (ones == size).all()
parts = [torch.zeros(3) for _ in range(size)]
dist.all_gather(parts, torch.full((3,), float(rank)))
assert [part[0].item() for part in parts] == list(range(size))
neighbours = [dist.new_group([first, first + 1]) for first in range(0, size, 2)]  # each on one host
own = torch.tensor([float(rank)])
dist.all_reduce(own, group=neighbours[rank // 2])
assert own.item() == rank // 2 * 4 + 1
across = [dist.new_group([rank, rank + size // 2]) for rank in range(size // 2)]  # each on both
other = torch.tensor([float(rank)])
dist.all_reduce(other, group=across[rank % (size // 2)])
assert other.item() == 2 * (rank % (size // 2)) + size // 2
sparse = torch.sparse_coo_tensor([[rank]], [1.0], (size,))
dist.all_reduce(sparse)
assert (sparse.to_dense() == 1).all()
if rank == 0: dist.send(torch.ones(5), size - 1)
if rank == size - 1:
    got = torch.zeros(5)
    dist.recv(got, 0)
    assert got.sum() == 5
dist.barrier()
dist.destroy_process_group()
print("rank", rank, "is well")
"""


def torchrun_on(hosts, per_host, *command, **variables):
    """What the program prints on all hosts, which must end well."""
    started = []
    for number, host in enumerate(hosts):
        launcher = ["-m", "torch.distributed.run", f"--nnodes={len(hosts)}", f"--nproc-per-node={per_host}", f"--node-rank={number}",
                    f"--master-addr={hosts[0].address}", "--master-port=29500"]
        environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore", **variables)
        started.append(subprocess.Popen([*host.inside, sys.executable, *launcher, *map(str, command)], env=environment, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT))
    said = [process.communicate(timeout=200)[0] for process in started]
    assert all(process.returncode == 0 for process in started), "\n".join(said)
    return "\n".join(said)


def as_ranks(hosts, per_host, *command, **variables):
    """What the ranks of a program say that no launcher starts, and how they ended."""
    size, ranks = len(hosts) * per_host, []
    for rank in range(size):
        host = hosts[rank // per_host]
        environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore", **job(rank, size, per_host, hosts[0].address), **variables)
        ranks.append(subprocess.Popen([*host.inside, sys.executable, *map(str, command)], env=environment, text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT))
    return [(process.communicate(timeout=200)[0], process.returncode) for process in ranks]


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "job.key"
    path.touch(mode=0o600)
    path.write_text(os.urandom(32).hex())
    return path


def test_groups_of_ranks_on_two_hosts(tmp_path, key):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with two_hosts() as hosts:
        said = torchrun_on(hosts, 2, script, RONDO_JOB_KEY_FILE=str(key))
        assert said.count("is well") == 4 and "no key" not in said, said
        said = torchrun_on(hosts, 2, script)
        assert said.count("is well") == 4 and said.count("this job has no key") == 2, said  # once by each process that leads a group


def test_programs_without_torch_meet_through_torchrun_s_store(key):
    """Two communicators, one after the other, so that each must find its own id there."""
    bench = [Path(sys.executable).with_name("rondo-bench"), "all_reduce", "-b", "1K", "-e", "1M", "-f", "32"]
    with two_hosts() as hosts:
        said = torchrun_on(hosts, 2, "--no-python", *bench, RONDO_JOB_KEY_FILE=str(key))
        assert "Out of bounds values : 0 OK" in said and "4 ranks" in said and "no key" not in said, said
        assert "this job has no key" in torchrun_on(hosts, 1, "--no-python", *bench)


def test_training_on_two_hosts_gives_the_losses_of_one(tmp_path, key):
    wanted = run(2, EXAMPLES / "ddp.py", folder=tmp_path)
    losses = tmp_path / "several.json"
    with two_hosts() as hosts:
        torchrun_on(hosts, 1, EXAMPLES / "ddp.py", "--losses", losses, RONDO_JOB_KEY_FILE=str(key))
    got = json.loads(losses.read_text())["losses"]
    assert len(got) == len(wanted) and all(abs(a - b) <= EXACT * max(1, abs(b)) for a, b in zip(got, wanted)), (got, wanted)


@pytest.fixture(scope="module")
def losses_without_two(tmp_path_factory):
    """Of 20 steps of four ranks and 40 of two, on Gloo."""
    folder = tmp_path_factory.mktemp("gloo")
    torchrun(4, ON_GLOO, EXAMPLES / "survivors.py", "--backend", "gloo", "--steps", 20, "--save", folder / "half.pt")
    return run(2, ON_GLOO, EXAMPLES / "survivors.py", "--backend", "gloo", "--resume", folder / "half.pt", folder=folder)


@pytest.mark.parametrize("lost", [0, 1])
def test_training_goes_on_without_a_host_that_is_lost(lost, losses_without_two, tmp_path, key):
    """Also without the one that torch's store is on, and where those that are left had gone on alone from the same step with Gloo."""
    script, losses = EXAMPLES / "survivors.py", tmp_path / "losses.json"
    dying = [2 * lost, 2 * lost + 1]
    with two_hosts() as hosts:
        said = as_ranks(hosts, 2, script, "--dying", ",".join(map(str, dying)), "--losses", losses, RONDO_JOB_KEY_FILE=str(key))
    for rank, (text, code) in enumerate(said):
        assert code == (-signal.SIGKILL if rank in dying else 0), text
        assert rank in dying or re.search(r"rank [01] of 2 goes on after [01]\.\d+ s, without 2 ranks", text), text
    got = json.loads(losses.read_text())
    assert len(got["losses"]) == 60 and got["losses"] == pytest.approx(losses_without_two, rel=EXACT), (got, losses_without_two)
    assert got["accuracy"] > 0.85
