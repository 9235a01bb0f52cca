"""Trains a digit classifier with DistributedDataParallel: each rank on its part of the data, one model.

    torchrun --nproc-per-node 2 ddp.py [--backend rondo|gloo] [--epochs 3] [--losses FILE]

Prints the loss of each epoch, averaged over the ranks, and the accuracy on digits that no rank has seen. Needs scikit-learn, which ships the data.
"""

import torch
import torch.distributed as dist
from digits import accuracy_of, make_model, options, report, train_epoch
from torch.nn.parallel import DistributedDataParallel


def setup(backend):
    """Joins the process group that torchrun describes in the environment."""
    dist.init_process_group(backend)
    return dist.get_rank()


def cleanup():
    dist.destroy_process_group()


def train_ddp(epochs):
    """The loss of each epoch, averaged over the ranks, and the accuracy at the end."""
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = [train_epoch(model, optimizer, epoch) for epoch in range(epochs)]
    return losses, accuracy_of(model)


def main():
    given = options(__doc__)
    rank = setup(given.backend)
    report(given, rank, *train_ddp(given.epochs))
    cleanup()


if __name__ == "__main__":
    main()
