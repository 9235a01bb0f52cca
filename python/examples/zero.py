"""DistributedDataParallel with ZeroRedundancyOptimizer: each rank keeps the optimizer's state of a part of the parameters, and sends them to the others.

    torchrun --nproc-per-node 2 zero.py [--backend rondo|gloo] [--epochs 3] [--losses FILE]
"""

import torch
import torch.distributed as dist
from digits import accuracy_of, make_model, options, report, train_epoch
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def main():
    given = options(__doc__)
    dist.init_process_group(given.backend)
    model = DistributedDataParallel(make_model())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.003)
    losses = [train_epoch(model, optimizer, epoch) for epoch in range(given.epochs)]
    report(given, dist.get_rank(), losses, accuracy_of(model))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
