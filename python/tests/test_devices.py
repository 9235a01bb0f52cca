"""Tensors in the memory of GPUs, on a made-up GPU: a device of torch's that the backend takes as it takes cuda. Two ranks, as processes, with a GPU each, or
with one that they share."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build/release"
DEVICE = ROOT / "build/made_up_torch"
CALLS = ["all_reduces", "moves", "coalesced", "strided", "order", "order_of_streams", "memory", "mixed", "groups", "barriers", "futures"]
TRAINING = ["ddp", "averages", "hook", "fsdp"]
FAULTS = ["refusals", "mismatch", "lateness", "death", "aborted", "left"]
CHECKS = CALLS + TRAINING + FAULTS


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
            ran = subprocess.run([sys.executable, "-m", "made_up.run", *CHECKS], env=dict(device, MADE_UP_GPUS=str(gpus)), stdout=subprocess.PIPE, text=True,
                                 timeout=600)
            found[gpus] = {line["check"]: line["wrong"] for line in map(json.loads, filter(lambda text: text.startswith("{"), ran.stdout.splitlines()))}
        return found[gpus]

    return of


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("gpus", [2, 1])
def test_tensors_of_a_device(results, gpus, check):
    assert results(gpus).get(check, "it didn't run") == ""
