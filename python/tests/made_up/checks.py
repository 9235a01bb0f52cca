"""What a group of two ranks must do with tensors of the made-up device: functions of (rank, size, device)."""

import time

import torch
import torch.distributed as dist

TIMEOUTS = {}
"""Of the groups of some checks, in seconds."""

HELD_UP_MS = 300  # a stream, by a kernel that does nothing
AT_ONCE_S = 0.15  # what no host waits for takes less


def ranks_values(rank, count, device="cpu", dtype=torch.float32):
    return (torch.arange(count, device="cpu") % 7 + 10 * rank).to(dtype).to(device)


def same(got, expected, what):
    got = got.cpu()
    if got.dtype != expected.dtype or not torch.equal(got, expected):
        raise AssertionError(f"{what}: got {got}, expected {expected}")


def waited(work, asynchronous):
    if asynchronous:
        work.wait()


def all_reduces(rank, size, device):
    both = [ranks_values(r, 1000) for r in range(size)]
    expected = {
        dist.ReduceOp.SUM: both[0] + both[1],
        dist.ReduceOp.AVG: (both[0] + both[1]) / 2,
        dist.ReduceOp.MIN: torch.minimum(*both),
        dist.ReduceOp.MAX: torch.maximum(*both),
        dist.ReduceOp.PRODUCT: both[0] * both[1],
    }
    for asynchronous in (False, True):
        for op, right in expected.items():
            for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int32, torch.uint8):
                if op == dist.ReduceOp.AVG and not dtype.is_floating_point:
                    continue
                tensor = both[rank].to(dtype).to(device)
                waited(dist.all_reduce(tensor, op, async_op=asynchronous), asynchronous)
                same(tensor, right.to(dtype), f"{op} of {dtype}")
        for count in (0, 1, 200_000):
            tensor = ranks_values(rank, count, device)
            waited(dist.all_reduce(tensor, async_op=asynchronous), asynchronous)
            same(tensor, ranks_values(0, count) + ranks_values(1, count), f"{count} elements")
        premultiplied = both[rank].to(device)
        waited(dist.all_reduce(premultiplied, dist._make_nccl_premul_sum(0.5), async_op=asynchronous), asynchronous)
        same(premultiplied, (both[0] + both[1]) / 2, "premultiplied")
        truth = torch.tensor([rank == 0, rank == 1, False, True], device=device)
        waited(dist.all_reduce(truth, async_op=asynchronous), asynchronous)
        same(truth, torch.tensor([True, True, False, True]), "bool")
        several = [ranks_values(rank, n, device) for n in (3, 700)]
        waited(dist.all_reduce_coalesced(several, async_op=asynchronous), asynchronous)
        for tensor in several:
            same(tensor, ranks_values(0, len(tensor)) + ranks_values(1, len(tensor)), "coalesced")
