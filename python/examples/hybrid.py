"""RPC, distributed autograd and DistributedOptimizer beside a Rondo group: trainers keep their last layers with a parameter server, and average the rest.

    torchrun --nproc-per-node 3 hybrid.py [--backend rondo|gloo] [--epochs 3] [--losses FILE]

Rank 0 is the server: each trainer's last layer lies there, is called by RPC, and its gradients come back by distributed autograd. The other ranks are the
trainers: what they hold themselves is one DistributedDataParallel model. RPC speaks by TensorPipe and a Gloo group of its own, whatever the backend.
"""

import torch
import torch.distributed as dist
import torch.distributed.autograd as dist_autograd
from digits import accuracy_of, averaged, digits, make_model, options, report
from torch import nn
from torch.distributed import rpc
from torch.distributed.optim import DistributedOptimizer
from torch.nn.parallel import DistributedDataParallel

SERVER = "server"


class RemoteLayer(nn.Module):
    """Calls a module that another process holds."""

    def __init__(self, remote):
        super().__init__()
        self.remote = remote

    def forward(self, values):
        return self.remote.rpc_sync().forward(values)


def last_layer():
    """The same for every trainer. The server makes several at once, in threads that share torch's random numbers, so these have a generator of their own."""
    layer = nn.Linear(64, 10)
    numbers = torch.Generator().manual_seed(0)
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -0.125, 0.125, generator=numbers)
    return layer


def parameters_of(remote):
    return [rpc.RRef(parameter) for parameter in remote.local_value().parameters()]


def batches(epoch, trainer, trainers):
    """A trainer's part of an epoch."""
    learning, _ = digits()
    order = torch.randperm(len(learning), generator=torch.Generator().manual_seed(epoch))[trainer::trainers]
    for part in order.split(50):
        yield learning[part]


def train(given, trainer, group):
    """One trainer's losses, averaged over all of them, and the accuracy."""
    trainers = dist.get_world_size(group)
    remote = rpc.remote(SERVER, last_layer)
    front = DistributedDataParallel(make_model()[:-1], process_group=group)
    model = nn.Sequential(front, RemoteLayer(remote))
    parameters = [rpc.RRef(parameter) for parameter in front.parameters()]
    parameters += rpc.rpc_sync(SERVER, parameters_of, args=(remote,))
    optimizer = DistributedOptimizer(torch.optim.SGD, parameters, lr=0.05, momentum=0.9)
    losses = []
    for epoch in range(given.epochs):
        total = torch.zeros(2)
        for pictures, labels in batches(epoch, trainer, trainers):
            with dist_autograd.context() as context:
                loss = nn.functional.cross_entropy(model(pictures), labels)
                dist_autograd.backward(context, [loss])
                optimizer.step(context)
            total += torch.tensor([loss.item(), 1.0])
        losses.append(averaged(total, group))
    return losses, accuracy_of(model)


def main():
    given = options(__doc__)
    dist.init_process_group(given.backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    trainers = dist.new_group(list(range(1, ranks)))
    rpc.init_rpc(SERVER if rank == 0 else f"trainer{rank}", rank=rank, world_size=ranks)
    if rank != 0:
        losses, accuracy = train(given, rank - 1, trainers)
        report(given, rank - 1, losses, accuracy)
    rpc.shutdown()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
