"""Trains a digit classifier with DistributedDataParallel: each rank on its part of the data, one model.

    torchrun --nproc-per-node 2 ddp.py [--backend rondo|gloo] [--epochs 3] [--losses FILE]

Prints the loss of each epoch, averaged over the ranks, and the accuracy on digits that no rank has seen. Needs scikit-learn, which ships the data.
"""

import argparse
import json

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def setup(backend):
    """Joins the process group that torchrun describes in the environment."""
    dist.init_process_group(backend)
    return dist.get_rank()


def cleanup():
    dist.destroy_process_group()


def digits():
    """8 x 8 pictures of digits: 1,500 to learn from, 297 to be judged by."""
    data = load_digits()
    pictures = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(data.target)
    return TensorDataset(pictures[:1500], labels[:1500]), (pictures[1500:], labels[1500:])


def make_model():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * 64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )


def train_ddp(epochs):
    """The loss of each epoch, averaged over the ranks, and the accuracy at the end."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    learning, (pictures, labels) = digits()
    sampler = DistributedSampler(learning, shuffle=True, seed=1)
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(2)
        for batch, answers in DataLoader(learning, batch_size=50, sampler=sampler):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(batch), answers)
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0])
        dist.all_reduce(total)
        losses.append((total[0] / total[1]).item())
    model.eval()
    with torch.no_grad():
        accuracy = (model(pictures).argmax(1) == labels).float().mean().item()
    return losses, accuracy


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--backend", default="rondo")
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--losses", help="rank 0 writes the losses and the accuracy into this JSON file")
    given = arguments.parse_args()
    rank = setup(given.backend)
    losses, accuracy = train_ddp(given.epochs)
    if rank == 0:
        print(f"{given.backend}: losses {', '.join(f'{loss:.4f}' for loss in losses)}; accuracy {accuracy:.3f}")
        if given.losses:
            with open(given.losses, "w") as file:
                json.dump({"losses": losses, "accuracy": accuracy}, file)
    cleanup()


if __name__ == "__main__":
    main()
