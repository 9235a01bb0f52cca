"""What the examples have in common: pictures of digits to learn, a small network, and what they say in the end."""

import argparse
import json

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def options(description, **more):
    """The command line that all examples share; `more` are further options, by name and default."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--backend", default="rondo", help="of torch.distributed; 'default': what the library at hand chooses by itself")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--losses", help="rank 0 writes the losses and the accuracy into this JSON file")
    for name, default in more.items():
        parser.add_argument(f"--{name.replace('_', '-')}", default=default, type=type(default))
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return given


def digits():
    """8 x 8 pictures of digits that ship with scikit-learn: 1,500 to learn from, 297 to be judged by."""
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


def batches(epoch, size=50):
    """This rank's part of an epoch: each rank has pictures of its own."""
    learning, _ = digits()
    sampler = DistributedSampler(learning, shuffle=True, seed=1)
    sampler.set_epoch(epoch)
    return DataLoader(learning, batch_size=size, sampler=sampler)


def train_epoch(model, optimizer, epoch, before_batch=lambda number: None):
    """One pass over the data. Its loss, averaged over the ranks."""
    total = torch.zeros(2)
    for number, (pictures, labels) in enumerate(batches(epoch)):
        before_batch(number)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item(), 1.0])
    return averaged(total)


def averaged(total, group=None):
    """Of all ranks' sums and counts."""
    dist.all_reduce(total, group=group)
    return (total[0] / total[1]).item()


def accuracy_of(model):
    """On digits that no rank has learned from."""
    _, (pictures, labels) = digits()
    model.eval()
    with torch.no_grad():
        return (model(pictures).argmax(1) == labels).float().mean().item()


def report(given, rank, losses, accuracy):
    """Rank 0 says how it went."""
    if rank != 0:
        return
    print(f"{given.backend}: losses {', '.join(f'{loss:.4f}' for loss in losses)}; accuracy {accuracy:.3f}")
    if given.losses:
        with open(given.losses, "w") as file:
            json.dump({"losses": losses, "accuracy": accuracy}, file)
