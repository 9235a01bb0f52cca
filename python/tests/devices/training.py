"""Training on tensors of a device, against the same on the processor's: what DDP, its hook and FSDP make of a group of two ranks."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import rondo.torch

STEPS = 8
CLOSE = 1e-5  # losses that differ by the order of sums alone


def network():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.ReLU(), torch.nn.Linear(40, 40), torch.nn.ReLU(), torch.nn.Linear(40, 5))


def samples(rank):
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(16, 30, generator=generator), torch.randn(16, 5, generator=generator)


def losses_of(model, rank, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    inputs, targets = (part.to(device) for part in samples(rank))
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def on_processor(rank):
    return losses_of(DistributedDataParallel(network()), rank, "cpu")


def check_close(got, expected, what, bound=CLOSE):
    off = max(abs(a - b) / b for a, b in zip(got, expected))
    assert len(got) == len(expected) and off <= bound, f"{what}: off by {off}: {got}, expected {expected}"
    assert expected[-1] < expected[0], "it doesn't learn"


def ddp(rank, size, device):
    expected = on_processor(rank)
    for options in ({}, {"bucket_cap_mb": 0.005}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}, {"static_graph": True}):
        model = DistributedDataParallel(network().to(device), **options)
        check_close(losses_of(model, rank, device), expected, f"DDP with {options}")


def hook(rank, size, device):
    expected = on_processor(rank)
    for wire, feedback, bound in ((None, False, CLOSE), ("bf16", False, 2e-2), ("fp16", False, 2e-3), ("bf16", True, 2e-2)):
        model = DistributedDataParallel(network().to(device), bucket_cap_mb=0.005)
        rondo.torch.DDPHook(wire, feedback).register(model)
        losses = losses_of(model, rank, device)
        check_close(losses, expected, f"the hook with {wire}", bound)
        assert wire is None or losses != expected, "nothing was rounded"
        mine = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
        every = [torch.empty_like(mine) for _ in range(size)]
        dist.all_gather(every, mine)
        assert torch.equal(every[0].cpu(), every[1].cpu()), "ranks differ"


def averages(rank, size, device):
    """What the hook makes of gradients is their average, rounded to the wire's type and back."""
    for wire, bound in (("bf16", 2 * 2**-8), ("fp16", 2 * 2**-11)):
        gradients = []
        for r in range(size):
            model = network()
            model(samples(r)[0]).square().mean().backward()
            gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
        model = DistributedDataParallel(network().to(device))
        rondo.torch.DDPHook(wire).register(model)
        model(samples(rank)[0].to(device)).square().mean().backward()
        got = torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).cpu()
        off = (got - sum(gradients) / size).abs()
        assert (off <= torch.stack(gradients).abs().amax(0) * bound + 2 * 2**-25).all(), f"{wire}: off by {off.max()}"

    model = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False).to(device))
    rondo.torch.DDPHook("fp16").register(model)
    (model(torch.ones(1, 1, device=device)) * 2**-24).sum().backward()
    assert model.module.weight.grad.item() == 2**-24, "what is exact on the wire was rounded once more: gradients are to be divided behind the sum, in f32"


def fsdp(rank, size, device):
    expected = on_processor(rank)
    mesh = dist.init_device_mesh(device.type, (size,))
    model = network().to(device)
    for layer in (model[0], model[2], model[4]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    check_close(losses_of(model, rank, device), expected, "FSDP")
