"""DDPHook: gradients averaged without the interpreter, by way of narrower types if asked to."""

import pytest
import torch
import torch.distributed as dist
from ranks import run
from torch.nn.parallel import DistributedDataParallel

import rondo.torch

HOOKS = [(None, False), ("bf16", False), ("fp16", False), ("bf16", True)]
# Half a unit in the last place, for the contributions and once more for their sum; and that of half's smallest numbers, in which gradients may lie.
PRECISION = {None: 1e-6, "bf16": 2 * 2**-8, "fp16": 2 * 2**-11}
SMALLEST = {None: 1e-9, "bf16": 1e-9, "fp16": 2 * 2**-25}


def gradients_of(model, rank, step):
    generator = torch.Generator().manual_seed(10 * step + rank)
    model.zero_grad()
    model(torch.randn(16, 300, generator=generator)).square().mean().backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def network():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(300, 200), torch.nn.ReLU(), torch.nn.Linear(200, 10))


def averages(rank, size):
    for wire, feedback in HOOKS:
        model = DistributedDataParallel(network(), bucket_cap_mb=0.1)
        rondo.torch.DDPHook(wire, feedback).register(model)
        before = torch.zeros(())
        for step in range(3):
            got = gradients_of(model, rank, step)
            every = [gradients_of(network(), other, step) for other in range(size)]
            exact = torch.stack(every).double().mean(0).float()
            now = torch.stack(every).abs().amax(0)
            largest = torch.maximum(now, before) if feedback else now  # what is made good was lost by the last step's
            bound = largest * PRECISION[wire] * (2 if feedback else 1) + SMALLEST[wire]
            before = now
            assert ((got - exact).abs() <= bound).all(), f"{wire}, step {step}"
            others = [torch.empty_like(got) for _ in range(size)]
            dist.all_gather(others, got)
            assert all(torch.equal(got, other) for other in others), "ranks differ"
        assert wire is None or not torch.equal(got, exact), "nothing was rounded"


def lost_is_made_good(rank, size):
    """Gradients that the wire's type can't hold: with error feedback their sum over many steps is right all the same."""
    gradient = 1 + 2**-10  # bfloat16 has 8 bits
    for feedback, right in ((False, False), (True, True)):
        model = DistributedDataParallel(torch.nn.Linear(64, 1, bias=False))
        rondo.torch.DDPHook("bf16", feedback).register(model)
        total = torch.zeros(64)
        for _ in range(64):
            model.zero_grad()
            (model(torch.ones(1, 64)) * gradient).sum().backward()
            total += model.module.weight.grad[0]
        off = (total - 64 * gradient).abs().max().item()
        assert (off < 0.01) == right, f"feedback {feedback}: off by {off}"


def overflow(rank, size):
    """What a gradient that half can't hold does to one step, it does to that step alone."""
    model = DistributedDataParallel(torch.nn.Linear(4, 1, bias=False))
    rondo.torch.DDPHook("fp16", True).register(model)
    for gradient in (1.0, 1e5, 1.0, 1.0):
        model.zero_grad()
        (model(torch.ones(1, 4)) * gradient).sum().backward()
    assert model.module.weight.grad.tolist() == [[1.0] * 4]


def refusals(rank, size):
    gloo = dist.new_group(backend="gloo")
    model = DistributedDataParallel(torch.nn.Linear(2, 2), process_group=gloo)
    with pytest.raises(ValueError, match="doesn't run on Rondo"):
        rondo.torch.DDPHook().register(model)
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    rondo.torch.DDPHook().register(model)
    with pytest.raises(RuntimeError, match="hook"):
        rondo.torch.DDPHook().register(model)


@pytest.mark.parametrize("size", [2, 3])
def test_gradients_are_the_average_within_what_the_wire_rounds(size):
    run(size, averages)


def test_with_error_feedback_what_is_rounded_off_comes_back():
    run(2, lost_is_made_good)
    run(2, overflow)


def test_what_a_hook_cannot_do_is_said():
    run(2, refusals)
    with pytest.raises(ValueError, match="wire is 'int8'; accepted"):
        rondo.torch.DDPHook("int8")
    with pytest.raises(ValueError, match="error_feedback without a wire"):
        rondo.torch.DDPHook(error_feedback=True)
