"""Tensors in memory that a group's ranks map, which torch lets a backend allocate."""

import os

import pytest
import torch
import torch.distributed as dist
from ranks import run
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

CPU = torch.device("cpu")


def allocated(count, dtype=torch.float32):
    backend = dist.group.WORLD._get_backend(CPU)
    assert backend.supports_tensor_alloc(CPU)
    return backend.allocate_tensor(count, dtype=dtype, device=CPU)


def is_shared(tensor):
    """Whether it lies in memory that other processes may map, by the kernel's word."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if begin <= tensor.data_ptr() < end:
                return line.split()[1][3] == "s"
    return False


def _calls(rank, size):
    assert not is_shared(torch.zeros(1 << 20))
    for count in (0, 1, 5000, 300_001):
        for dtype in (torch.float32, torch.bfloat16, torch.int64):
            tensor, own = allocated(count, dtype), (torch.arange(count) % 7 + rank).to(dtype)
            assert tensor.dtype == dtype and tensor.shape == (count,) and not tensor.any()
            assert is_shared(tensor) == (count > 0 and size > 1), "where there is nobody to map it, it is ordinary memory"
            expected = sum((torch.arange(count) % 7 + r).to(torch.float64) for r in range(size)).to(dtype)
            for asynchronous in (False, True):
                tensor.copy_(own)
                work = dist.all_reduce(tensor, async_op=asynchronous)
                if asynchronous:
                    work.wait()
                assert torch.equal(tensor, expected)
            gathered = allocated(count * size, dtype)
            dist.all_gather_into_tensor(gathered, allocated(count, dtype).copy_(own))
            assert torch.equal(gathered, torch.cat([(torch.arange(count) % 7 + r).to(dtype) for r in range(size)]))
    with pytest.raises(ValueError, match="allocate_tensor of -1 elements; accepted: 0 or more"):
        allocated(-1)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_calls_on_such_tensors_are_right(size):
    run(size, _calls)


def _differing(rank, size):
    tensor = allocated(1000) if rank == 0 else torch.zeros(1000)
    with pytest.raises(dist.DistBackendError, match="rank 0 called all_reduce of 1000 f32 .*in symmetric memory"):
        dist.all_reduce(tensor)
    os._exit(0)  # the group is over


def test_ranks_that_differ_are_told():
    run(2, _differing)


def _outliving(rank, size):
    tensor = allocated(1000)
    tensor.fill_(rank + 1)
    dist.all_reduce(tensor)
    dist.destroy_process_group()
    assert tensor.tolist() == [3.0] * 1000
    tensor.fill_(7)
    assert tensor.sum() == 7000


def test_tensors_outlive_their_group():
    run(2, _outliving)


def _network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 300), torch.nn.ReLU(), torch.nn.Linear(300, 10))


def _losses(model, rank, steps=4):
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 64)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _buckets(rank, size):
    ordinary = _losses(DistributedDataParallel(_network()), rank)
    os.environ["DDP_DISABLE_COMM_MEM"] = "0"
    assert _losses(DistributedDataParallel(_network()), rank) == ordinary
    model, seen = DistributedDataParallel(_network(), gradient_as_bucket_view=True), []

    def hook(_, bucket):
        seen.append(is_shared(bucket.buffer()))
        return dist.all_reduce(bucket.buffer().div_(size), async_op=True).get_future().then(lambda future: future.value()[0])

    model.register_comm_hook(None, hook)
    assert _losses(model, rank) == ordinary
    assert seen and all(seen), "a bucket isn't in memory that the peers map"


def test_ddp_keeps_its_buckets_there_where_it_is_told_to():
    run(2, _buckets)


def _shards(rank, size):
    losses = []
    for mapped in (False, True):
        model = fully_shard(_network(), mesh=init_device_mesh("cpu", (size,)))
        model.set_allocate_memory_from_process_group_for_comm(mapped)
        losses.append(_losses(model, rank))
    assert losses[0] == losses[1]


def test_fsdp_gathers_there_where_it_is_told_to():
    run(2, _shards)
