"""A monitored barrier names who is missing, or what broke the group."""

import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from ranks import expect, run


def monitored(rank, size):
    group = dist.group.WORLD
    group.monitored_barrier(timedelta(seconds=20), False)
    if rank == 2:
        time.sleep(2)
        os._exit(0)
    said = "Ranks 2 failed to pass" if rank == 0 else "Rank 1 successfully reached monitoredBarrier, but received errors"
    expect(dist.DistBackendError, [said], lambda: group.monitored_barrier(timedelta(seconds=1), True))
    os._exit(0)


def test_a_monitored_barrier_names_who_is_missing():
    run(3, monitored)


def monitored_when_broken(rank, size):
    group = dist.group.WORLD
    group._get_backend(torch.device("cpu")).abort()
    # The cause, and not that the others are late.
    expect(dist.DistBackendError, ["abort"], lambda: group.monitored_barrier(timedelta(seconds=20), True))


def test_a_monitored_barrier_of_a_broken_group_tells_what_broke_it():
    run(2, monitored_when_broken)
