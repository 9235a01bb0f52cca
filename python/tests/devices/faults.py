"""What a group of two ranks says of calls on a device that can't be served, or fail."""

import datetime
import os
import time

import pytest
import torch
import torch.distributed as dist

TIMEOUTS = {"mismatch": 3, "death": 5}
"""Of the groups of these checks, in seconds."""


def refusals(rank, size, device):
    tensor = torch.ones(4, device=device)
    with pytest.raises(NotImplementedError, match=f"rondo: recvAnySource on rank {rank} isn't served on {device}"):
        dist.recv(tensor)
    with pytest.raises(ValueError, match=f"send on rank {rank}: to rank {rank}; accepted: another one"):
        dist.group.WORLD.send([tensor], rank, 0)
    dist.group.WORLD._start_coalescing(device)
    dist.group.WORLD.send([tensor], 1 - rank, 0)
    with pytest.raises(ValueError, match=f"recv on rank {rank}: from rank 7; accepted: another one"):
        dist.group.WORLD.recv([tensor], 7, 0)
    with pytest.raises(ValueError, match="endCoalescing.. without a startCoalescing"):  # the call that was refused ended it
        dist.group.WORLD._end_coalescing(device)
    with pytest.raises(ValueError, match="all_gather.* tensors on .*:.* and cpu; accepted: all of one device"):
        dist.all_gather([torch.empty(4), torch.empty(4)], tensor)
    with pytest.raises(TypeError, match="can't be combined by BAND"):
        dist.all_reduce(tensor, dist.ReduceOp.BAND)
    if torch.get_device_module(device).device_count() > 1:
        dist.all_reduce(tensor)
        with pytest.raises(ValueError, match="accepted: one device a rank"):
            dist.all_reduce(torch.ones(4, device=torch.device(device.type, 1 - device.index)))
    tensor.fill_(1)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [2.0] * 4, "what was refused has left something behind"


def fails_with(words, work, device):
    """Waiting for it with a time says what is wrong, and so does the group's next call."""
    for call in (lambda: work.wait(datetime.timedelta(seconds=20)), lambda: dist.all_reduce(torch.ones(4, device=device))):
        with pytest.raises(dist.DistBackendError, match=words):
            call()
    assert work.is_completed() and not work.is_success() and work.exception() is not None
    future = work.get_future()
    with pytest.raises(RuntimeError, match=words):
        future.wait()


def mismatch(rank, size, device):
    dist.all_reduce(torch.ones(4, device=device))
    work = dist.all_reduce(torch.ones(100 + rank, device=device), async_op=True)
    fails_with("rondo: all_reduce #.* rank . is in another call|rank . has failed|mismatch|ranks disagree", work, device)


def lateness(rank, size, device):
    """A rank that doesn't come: the wait's time is over first, then the group's, which was changed behind its first call."""
    dist.all_reduce(torch.ones(4, device=device))
    dist.group.WORLD.set_timeout(datetime.timedelta(seconds=3))
    torch.get_device_module(device).synchronize()
    dist.barrier()
    if rank == 0:
        work = dist.all_reduce(torch.ones(4, device=device), async_op=True)
        began = time.monotonic()
        with pytest.raises(dist.DistBackendError, match="has not ended within a timeout of 300 ms"):
            work.wait(datetime.timedelta(milliseconds=300))
        assert time.monotonic() - began < 2
        fails_with("timeout", work, device)
    else:
        time.sleep(5)
    os._exit(0)  # there is nobody left to say goodbye to


def death(rank, size, device):
    dist.all_reduce(torch.ones(4, device=device))
    torch.get_device_module(device).synchronize()
    dist.barrier()
    if rank == 1:
        os._exit(0)
    fails_with("timeout|rank 1", dist.all_reduce(torch.ones(4, device=device), async_op=True), device)
    os._exit(0)


def aborted(rank, size, device):
    dist.all_reduce(torch.ones(4, device=device))
    torch.get_device_module(device).synchronize()
    dist.barrier()
    if rank == 0:
        work = dist.all_reduce(torch.ones(4, device=device), async_op=True)
        dist.group.WORLD.abort()
        fails_with("abort", work, device)
    else:
        time.sleep(1)
    os._exit(0)


def aborted_pair(rank, size, device):
    """Of a group that has sent messages alone: they have communicators of their own."""
    tensor = torch.ones(4, device=device)
    if rank == 0:
        dist.send(tensor, 1)
        work = dist.irecv(tensor, 1)
        dist.group.WORLD.abort()
        with pytest.raises(dist.DistBackendError, match="recv on rank 0 from rank 1 .*abort"):
            work.wait(datetime.timedelta(seconds=20))
    else:
        dist.recv(tensor, 0)
        torch.get_device_module(device).synchronize()
        time.sleep(1)
    os._exit(0)


def left(rank, size, device):
    """A group that was destroyed takes no more calls, and its works stay what they are."""
    group = dist.new_group([0, 1])
    tensor = torch.ones(4, device=device)
    work = dist.all_reduce(tensor, group=group, async_op=True)
    backend = group._get_backend(device)
    dist.destroy_process_group(group)
    work.wait()
    assert tensor.tolist() == [2.0] * 4
    with pytest.raises(dist.DistBackendError, match="destroyed"):
        backend.allreduce([tensor])
