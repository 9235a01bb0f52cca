"""A rank is killed while it trains: the others hear of it at once, torchrun starts all anew, and they go on from the last checkpoint.

    torchrun --nproc-per-node 2 --max-restarts 1 restart.py --folder FOLDER [--die-in 2] [--backend rondo|gloo] [--epochs 4] [--losses FILE]

FOLDER keeps the checkpoints. In the first run rank 1 kills itself in the middle of epoch `--die-in`; with -1 nobody dies, and the losses are the same.
"""

import os
import signal
import time
from pathlib import Path

import torch
import torch.distributed as dist
from digits import accuracy_of, make_model, options, report, train_epoch
from torch.nn.parallel import DistributedDataParallel


def save(path, model, optimizer, losses):
    """Whole or not at all."""
    unfinished = path.with_suffix(".new")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "losses": losses}, unfinished)
    unfinished.replace(path)


def load(path, model, optimizer):
    """The losses of the epochs that are done."""
    if not path.exists():
        return []
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["losses"]


def die(batch):
    """In the middle of an epoch."""
    if batch == 3:
        print(f"killed at {time.time()}", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    given = options(__doc__, folder="checkpoints", die_in=2)
    dist.init_process_group(given.backend)
    rank, first_run = dist.get_rank(), os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
    checkpoint = Path(given.folder, "checkpoint.pt")
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = load(checkpoint, model, optimizer)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun sends it as soon as it misses a rank: each is to say first what it heard itself
    try:
        for epoch in range(len(losses), given.epochs):
            doomed = first_run and rank == 1 and epoch == given.die_in
            losses.append(train_epoch(model, optimizer, epoch, *([die] if doomed else [])))
            if rank == 0:
                save(checkpoint, model, optimizer, losses)
            dist.barrier()
    except dist.DistBackendError as failure:
        print(f"rank {rank} heard at {time.time()}: {failure}", flush=True)
        raise
    report(given, rank, losses, accuracy_of(model))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
