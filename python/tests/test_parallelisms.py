"""Torch's other ways to train on several ranks: what they learn is what one process learns that has all the data."""

import functools
import warnings

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from ranks import run
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

WIDTH = 12
STEPS = 3
CPU = torch.device("cpu")


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, 2 * WIDTH), torch.nn.ReLU(), torch.nn.Linear(2 * WIDTH, WIDTH))


def batch(rank, step):
    return torch.randn(8, WIDTH, generator=torch.Generator().manual_seed(100 * rank + step))


def loss_of(output):
    return (output - 1).square().mean()


def learn(model, batches, steps=STEPS):
    """The losses of a model that learns from batches(step), which gives one or several."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = torch.stack([loss_of(model(given)) for given in batches(step)]).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def expected(size):
    """The mean losses of one process that has all ranks' batches."""
    return learn(network(), lambda step: [batch(rank, step) for rank in range(size)])


def mean(losses, size):
    total = torch.tensor(losses, dtype=torch.float64)
    dist.all_reduce(total)
    return (total / size).tolist()


def own(model, rank, size):
    """What a data-parallel model learns from this rank's batches, averaged over all ranks."""
    return mean(learn(model, lambda step: [batch(rank, step)]), size)


def same(losses, size):
    assert losses == pytest.approx(expected(size), rel=1e-5)


def fsdp1(rank, size, strategy):
    warnings.simplefilter("ignore")
    mesh = init_device_mesh("cpu", (2, 2)) if strategy == "HYBRID_SHARD" else None
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=WIDTH * WIDTH)
    model = FullyShardedDataParallel(network(), sharding_strategy=ShardingStrategy[strategy], auto_wrap_policy=policy, device_mesh=mesh, device_id=CPU)
    same(own(model, rank, size), size)


@pytest.mark.parametrize("strategy, size", [("FULL_SHARD", 2), ("SHARD_GRAD_OP", 2), ("NO_SHARD", 2), ("HYBRID_SHARD", 4)])
def test_the_first_fsdp(strategy, size):
    run(size, fsdp1, strategy)


def hybrid(rank, size):
    model = network()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    same(own(model, rank, size), size)


def test_fsdp_with_replicas_of_its_shards():
    run(4, hybrid)


def tensor_parallel(rank, size):
    """All ranks have the same batch, and a part of each layer."""
    model = parallelize_module(network(), init_device_mesh("cpu", (size,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    same(learn(model, lambda step: [batch(other, step) for other in range(size)]), size)


def test_layers_shared_out_over_ranks():
    run(2, tensor_parallel)


def pipeline(rank, size, schedule):
    """The first rank has the first layers and the batches, the second the rest and the losses."""
    whole = network()
    part = whole[:2] if rank == 0 else whole[2:]
    stage = PipelineStage(part, rank, size, CPU)
    run_step = schedule(stage, n_microbatches=4, loss_fn=lambda output, _: loss_of(output)).step
    optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
    learned = []
    for step in range(STEPS):
        optimizer.zero_grad()
        losses = []
        if rank == 0:
            run_step(batch(0, step))
        else:
            run_step(target=torch.zeros(8, WIDTH), losses=losses)
            learned.append(torch.stack(losses).mean().item())
        optimizer.step()
    if rank == 1:
        same(learned, 1)


@pytest.mark.parametrize("schedule", [ScheduleGPipe, Schedule1F1B])
def test_pipelines(schedule):
    run(2, pipeline, schedule)


def uneven(rank, size):
    """A rank whose data are used up goes along with the others."""
    model = DistributedDataParallel(network())
    mine = STEPS + rank
    with Join([model]):
        learn(model, lambda step: [batch(rank, step)], mine)
    alone = network()
    optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)
    for step in range(STEPS + size - 1):
        optimizer.zero_grad()
        (sum(loss_of(alone(batch(other, step))) for other in range(size) if step < STEPS + other) / size).backward()
        optimizer.step()
    for ours, theirs in zip(model.parameters(), alone.parameters()):
        torch.testing.assert_close(ours, theirs)


def test_ranks_with_different_numbers_of_batches():
    run(2, uneven)


def embedding():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Embedding(20, 6, sparse=True), torch.nn.Flatten(), torch.nn.Linear(24, WIDTH))


def words(rank, step):
    return torch.randint(20, (8, 4), generator=torch.Generator().manual_seed(100 * rank + step))


def embedded(rank, size):
    """Gradients of an embedding are sparse: DDP starts their sum among those of dense buckets."""
    ours = mean(learn(DistributedDataParallel(embedding()), lambda step: [words(rank, step)]), size)
    assert ours == pytest.approx(learn(embedding(), lambda step: [words(other, step) for other in range(size)]), rel=1e-5)


@pytest.mark.parametrize("size", [2, 4])
def test_embeddings_with_sparse_gradients(size):
    run(size, embedded)


def compressed(rank, size):
    """Gradients as products of narrow matrices, several operations chained by their futures: all ranks stay the same, and learn."""
    model = DistributedDataParallel(network())
    model.register_comm_hook(powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)
    losses = learn(model, lambda step: [batch(rank, step)], 10)
    assert losses[-1] < losses[0]
    parameters = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    of_all = [torch.empty_like(parameters) for _ in range(size)]
    dist.all_gather(of_all, parameters)
    assert all(torch.equal(other, parameters) for other in of_all)


def test_power_sgd():
    run(2, compressed)


def saved(rank, size, folder):
    """A checkpoint of shards, read by a model whose shards lie otherwise."""
    model = network()
    fully_shard(model)
    own(model, rank, size)
    checkpoint.save({"model": model.state_dict()}, checkpoint_id=folder)
    plain = network()
    state = {"model": plain.state_dict()}
    checkpoint.load(state, checkpoint_id=folder)
    plain.load_state_dict(state["model"])
    for sharded, whole in zip(model.parameters(), plain.parameters()):
        torch.testing.assert_close(sharded.full_tensor(), whole)


def test_checkpoints(tmp_path):
    run(2, saved, str(tmp_path))
