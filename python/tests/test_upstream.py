"""A part of other people's tests of torch.distributed, unchanged; tools/test-torch runs all of them."""

import subprocess
import sys
from pathlib import Path

UPSTREAM = Path(__file__).resolve().parent.parent / "upstream"
SELECTED = [
    "test_DistributedDataParallelCPU", "test_all_gather_coalesced_full_group", "test_all_reduce_coalesced_full_group_sum", "test_barrier_timeout_full_group",
    "test_batch_isend_irecv_gloo", "test_ddp_logging_data_cpu", "test_isend_torch_profiler", "test_monitored_barrier_gloo", "test_reduce_full_group_sum",
]
OF_THE_BACKEND = ["test_all_reduce_full_group_sum", "test_gather_full_group", "test_send_recv_any_source"]


def said_by(program, *arguments):
    done = subprocess.run([sys.executable, str(UPSTREAM / program), *arguments], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_tests_that_torch_ships_pass_on_groups_that_are_taken_over():
    status, text = said_by("run_distributed.py", "takeover", *SELECTED)
    assert status == 0, text


def test_tests_that_torch_ships_pass_on_the_backend():
    status, text = said_by("run_distributed.py", "rondo", *OF_THE_BACKEND)
    assert status == 0 and "3 passed" in text, text


def test_a_test_that_torch_does_not_ship_is_named():
    status, text = said_by("run_distributed.py", "takeover", "test_nothing")
    assert status == 2 and "no test test_nothing" in text


def test_accelerates_own_scripts_end_well():
    status, text = said_by("run_accelerate.py", "test_ops", "test_sync")
    assert status == 0, text
