"""What a group of two ranks, or of SIZES, must do with messages of tensors of a device: functions of (rank, size, device)."""

import time

import torch
import torch.distributed as dist

from devices.calls import AT_ONCE_S, delay, ranks_values, same

SIZES = {"pairs": 3}


def messages(rank, size, device):
    """A tensor at a time: by a pair of the ranks before the group's first call on a device, which needs all of them, and by the group behind it."""
    group, peer = dist.new_group([0, 1]), 1 - rank
    given = ranks_values(rank, 300_000)
    for behind in ("nothing", "a call of the group"):
        for count in (0, 1, 300_000):  # the last one waits for its receiver
            tensor = given[:count].to(device)
            got = torch.full((count,), -1.0, device=device)
            for turn in (0, 1):
                if rank == turn:
                    dist.send(tensor, peer, group=group)
                else:
                    dist.recv(got, peer, group=group)
            same(got, ranks_values(peer, count), f"{count} elements behind {behind}")
        grid, column = ranks_values(rank, 60, device, torch.int64).reshape(6, 10), torch.zeros(6, 2, dtype=torch.int64, device=device)
        works = [dist.isend(grid[:, 3], peer, group=group), dist.irecv(column[:, 1], peer, group=group)]  # short ones don't wait for one another
        for work in works:
            work.wait()
        same(column[:, 1], ranks_values(peer, 60, dtype=torch.int64).reshape(6, 10)[:, 3].contiguous(), f"a column behind {behind}")
        same(column[:, 0], torch.zeros(6, dtype=torch.int64), "what is beside it")
        if behind == "nothing":
            group = dist.new_group([0, 1])
            dist.all_reduce(torch.zeros(1, device=device), group=group)


def batches(rank, size, device):
    """Messages that go out together: both ways, more than are short, to oneself as well, of several types, in the order of streams."""
    peer = 1 - rank
    for count in (1, 300_000):
        given, got = ranks_values(rank, count, device), torch.zeros(count, device=device)
        sent_longs, longs, seen = ranks_values(rank, 5, device, torch.int64), torch.zeros(5, dtype=torch.int64, device=device), torch.zeros(count, device=device)
        tensor, own = torch.zeros(count, device=device), torch.zeros(7, device=device)
        began = time.monotonic()
        delay(device)
        tensor.copy_(given)
        ops = [dist.P2POp(dist.isend, tensor, peer), dist.P2POp(dist.irecv, got, peer)]
        ops += [dist.P2POp(dist.irecv, longs, peer), dist.P2POp(dist.isend, sent_longs, peer)]
        ops += [dist.P2POp(dist.isend, tensor[:1].expand(7), rank), dist.P2POp(dist.irecv, own, rank)]
        works = dist.batch_isend_irecv(ops)
        assert len(works) == 1
        assert not works[0].is_completed(), "it has ended before its input was there"
        works[0].wait()
        seen.copy_(got)
        assert count == 1 or time.monotonic() - began < AT_ONCE_S, "the host waited"  # the first one makes the communicator
        same(seen, ranks_values(peer, count), f"{count} elements")
        same(longs, ranks_values(peer, 5, dtype=torch.int64), "integers")
        same(own, ranks_values(rank, 1).expand(7).contiguous(), "what a rank sends itself")
    host = torch.zeros(9)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, ranks_values(rank, 9), peer), dist.P2POp(dist.irecv, host, peer)]):
        work.wait()
    same(host, ranks_values(peer, 9), "of the processor's memory")
    tensors = [ranks_values(rank, 9, device), ranks_values(rank, 4)]
    with dist._coalescing_manager(device=device, async_ops=True) as manager:
        for tensor in tensors:
            dist.broadcast(tensor, 1, async_op=True)
    manager.wait()
    for tensor, count in zip(tensors, (9, 4)):
        same(tensor, ranks_values(1, count), f"a broadcast on {tensor.device} among others")
    [work] = manager.works
    assert work.is_completed() and work.is_success()
    future = work.get_future()
    future.wait()
    assert [tensor.device.type for tensor in future.value()] == [device.type, "cpu"]


def ring(rank, size, device):
    """Steps of a pipeline: what comes is computed with, and passed on."""
    tensor = ranks_values(rank, 1000, device)
    for _ in range(20):
        got = torch.full((1000,), -1.0, device=device)
        for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, got, 1 - rank), dist.P2POp(dist.isend, tensor, 1 - rank)]):
            work.wait()
        tensor = got + 1
    same(tensor, ranks_values(rank, 1000) + 20, "what went to and fro")


def pairs(rank, size, device):
    """Messages between two ranks need nobody else, before and behind the group's first call on a device."""
    for behind in ("nothing", "a call of the group"):
        got = torch.zeros(100, device=device)
        if rank == 0:
            dist.send(ranks_values(7, 100, device), 1)
        elif rank == 1:
            dist.recv(got, 0)
            same(got, ranks_values(7, 100), f"behind {behind}")
            dist.send(torch.ones(1), 2)
        else:
            dist.recv(torch.zeros(1), 1)  # nothing on a device before this
        sums = torch.full((10,), float(rank), device=device)
        dist.all_reduce(sums)
        same(sums, torch.full((10,), 3.0), "all three")
