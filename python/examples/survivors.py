"""Ranks die while they train, be it a whole host: those that are left go on from where they were. No restart, no checkpoint.

    survivors.py [--dying 2,3] [--die-at 20] [--steps 60] [--save FILE] [--resume FILE] [--backend rondo|gloo] [--losses FILE]

Start it on each host as torch's launchers do, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (docs/several-machines.md). The ranks in --dying kill themselves
at step --die-at; -1: nobody does. All ranks together learn from 200 pictures a step, however many they are.
"""

import os
import signal
import time

import torch
import torch.distributed as dist
from digits import accuracy_of, averaged, digits, make_model, options, report
from torch.nn.parallel import DistributedDataParallel

BATCH = 200


def part_of(step):
    """This rank's pictures and labels of a step."""
    learning, _ = digits()
    steps = len(learning) // BATCH
    order = torch.randperm(len(learning), generator=torch.Generator().manual_seed(step // steps))
    mine = order[step % steps * BATCH :][:BATCH][dist.get_rank() :: dist.get_world_size()]
    return learning[mine]


def train_step(model, optimizer, step):
    """Its loss, averaged over the ranks."""
    pictures, labels = part_of(step)
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(pictures), labels)
    loss.backward()
    optimizer.step()
    return averaged(torch.tensor([loss.item(), 1.0]))


def state_of(network, optimizer, losses):
    return {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "losses": losses}


def take_over(state, network, optimizer):
    """The losses of the steps that are done."""
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    return state["losses"]


def go_on_without_the_lost(network, optimizer, losses):
    """A smaller default group; all its ranks are where the first of those is that got furthest: some may have missed the last step."""
    from rondo.torch import shrink_group

    begin, before = time.monotonic(), dist.get_world_size()
    shrink_group()
    steps = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(steps, torch.tensor([len(losses)]))
    states = [state_of(network, optimizer, losses)]
    dist.broadcast_object_list(states, src=max(range(len(steps)), key=lambda rank: (steps[rank].item(), -rank)))
    took = time.monotonic() - begin
    print(f"rank {dist.get_rank()} of {dist.get_world_size()} goes on after {took:.2f} s, without {before - dist.get_world_size()} ranks", flush=True)
    return take_over(states[0], network, optimizer)


def main():
    given = options(__doc__, dying="", die_at=20, steps=60, save="", resume="")
    dist.init_process_group(given.backend)
    doomed = str(dist.get_rank()) in given.dying.split(",")
    network = make_model()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    losses = take_over(torch.load(given.resume), network, optimizer) if given.resume else []
    while len(losses) < given.steps:
        try:
            model = DistributedDataParallel(network)
            while len(losses) < given.steps:
                if doomed and len(losses) == given.die_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                losses.append(train_step(model, optimizer, len(losses)))
        except dist.DistBackendError as failure:
            print(f"rank {dist.get_rank()} heard: {failure}", flush=True)
            losses = go_on_without_the_lost(network, optimizer, losses)
    if given.save and dist.get_rank() == 0:
        torch.save(state_of(network, optimizer, losses), given.save)
    report(given, dist.get_rank(), losses, accuracy_of(network))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
