"""FSDP2: parameters, gradients and the optimizer's state lie in parts on the ranks, which gather a layer's parameters when it runs.

    torchrun --nproc-per-node 2 fsdp.py [--backend rondo|gloo] [--epochs 3] [--losses FILE]
"""

import torch
import torch.distributed as dist
from digits import accuracy_of, make_model, options, report, train_epoch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main():
    given = options(__doc__)
    dist.init_process_group(given.backend)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = make_model()
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = [train_epoch(model, optimizer, epoch) for epoch in range(given.epochs)]
    report(given, dist.get_rank(), losses, accuracy_of(model))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
