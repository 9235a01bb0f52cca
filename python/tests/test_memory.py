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
    with pytest.raises(RuntimeError, match="can't allocate memory"):  # as torch says it of its own
        allocated(1 << 50)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_calls_on_such_tensors_are_right(size):
    run(size, _calls)


def _differing(rank, size):
    for count in (1000, 300_001):
        for other in range(size):
            tensor = torch.zeros(count) if rank == other else allocated(count)
            for asynchronous in (False, True):
                tensor.copy_(torch.arange(count) % 7 + rank)
                work = dist.all_reduce(tensor, async_op=asynchronous)
                if asynchronous:
                    work.wait()
                assert torch.equal(tensor, sum((torch.arange(count) % 7 + r).float() for r in range(size)))


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_may_differ_in_whose_tensors_they_are(size):
    run(size, _differing)


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
    assert os.environ["DDP_DISABLE_COMM_MEM"] == "0", "nobody had said anything"
    losses = []
    for disabled in ("0", "1", str(rank)):
        os.environ["DDP_DISABLE_COMM_MEM"] = disabled
        losses.append(_losses(DistributedDataParallel(_network()), rank))
        model, seen = DistributedDataParallel(_network(), gradient_as_bucket_view=True), []

        def hook(_, bucket, seen=seen):
            seen.append(is_shared(bucket.buffer()))
            return dist.all_reduce(bucket.buffer().div_(size), async_op=True).get_future().then(lambda future: future.value()[0])

        model.register_comm_hook(None, hook)
        losses.append(_losses(model, rank))
        assert seen and set(seen) == {disabled == "0"}
    assert all(each == losses[0] for each in losses)


def test_ddp_keeps_its_buckets_there_unless_it_is_told_not_to():
    run(2, _buckets)


def _said(rank, size):
    os.environ["DDP_DISABLE_COMM_MEM"] = "1"
    dist.init_process_group("rondo")
    assert os.environ["DDP_DISABLE_COMM_MEM"] == "1"


def test_what_the_user_said_of_buckets_stays():
    run(2, _said, backend=None)


def _shards(rank, size):
    losses = []
    for mapped in (False, True):
        model = fully_shard(_network(), mesh=init_device_mesh("cpu", (size,)))
        model.set_allocate_memory_from_process_group_for_comm(mapped)
        losses.append(_losses(model, rank))
    assert losses[0] == losses[1]


def test_fsdp_gathers_there_where_it_is_told_to():
    run(2, _shards)
