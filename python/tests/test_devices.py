"""Tensors in the memory of GPUs, on a made-up GPU: a device of torch's that the backend takes as it takes cuda. Two ranks, as processes, with a GPU each, or
with one that they share."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from devices import CHECKS
from ranks import run
from torch.distributed import Backend

from rondo import _autoload

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build/release"
DEVICE = ROOT / "build/made_up_torch"


def said_by(*command):
    done = subprocess.run(list(map(str, command)), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    assert done.returncode == 0, f"{command}:\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def device():
    """The environment of a process that has it."""
    said_by("cmake", "--preset", "release")
    if "rondo_made_up" not in said_by("cmake", "--build", RELEASE, "--target", "help"):
        pytest.skip("the made-up GPU needs CUDA's compiler, nvcc")
    said_by("cmake", "--build", RELEASE, "--target", "rondo_made_up")
    runtime = RELEASE / "tests/made_up_gpu"
    said_by("cmake", "-S", ROOT / "tests/made_up_torch", "-B", DEVICE, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DTORCH={Path(torch.__file__).parent}",
            f"-DRONDO_MADE_UP={runtime}")
    said_by("cmake", "--build", DEVICE)
    return dict(os.environ, LD_LIBRARY_PATH=str(runtime), MADE_UP_TORCH=str(DEVICE / "made_up_torch.so"), CUDA_DEVICE_MAX_CONNECTIONS="32",
                RONDO_NET_INTERFACES="lo", OMP_NUM_THREADS="1", PYTHONPATH=str(Path(__file__).parent))


@pytest.fixture(scope="module")
def results(device):
    """By GPUs: what each check said."""
    found = {}

    def of(gpus):
        if gpus not in found:
            ran = subprocess.run([sys.executable, "-m", "devices.run", "madeup", *CHECKS], env=dict(device, MADE_UP_GPUS=str(gpus)), stdout=subprocess.PIPE, text=True,
                                 timeout=600)
            found[gpus] = {line["check"]: line["wrong"] for line in map(json.loads, filter(lambda text: text.startswith("{"), ran.stdout.splitlines()))}
        return found[gpus]

    return of


def _is_refused_without_cuda(_rank, _size):
    Backend.backend_capability["rondo"] = ["cpu", "meta"]  # a kind of device that torch has here, in the place of cuda
    dist.init_process_group("rondo")
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    with pytest.raises(NotImplementedError, match="all_reduce #1 .* on meta, but rondo-ccl was built without CUDA; .*pip install .*cmake.define.RONDO_CUDA=ON"):
        backend.allreduce([torch.empty(2, device="meta")])


def test_a_package_without_cuda_says_how_it_is_built_with_it():
    run(1, _is_refused_without_cuda, backend=None)


def test_the_backend_takes_tensors_of_cuda_where_torch_has_it(monkeypatch):
    assert Backend.backend_capability["rondo"] == (["cpu"] if torch.version.cuda is None else ["cpu", "cuda"])
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert _autoload._devices() == ["cpu", "cuda"]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("gpus", [2, 1])
def test_tensors_of_a_device(results, gpus, check):
    assert results(gpus).get(check, "it didn't run") == ""
