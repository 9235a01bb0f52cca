"""What a notebook's cell does: notebook_launcher(train_ddp, args=(), num_processes=2).

    RONDO_TAKEOVER=gloo python notebook.py [--ranks 2] [--epochs 3] [--losses FILE]

The launcher makes the group, on Gloo; the variable, or os.environ in the first cell, puts it on Rondo.
"""

import torch
from accelerate import Accelerator, notebook_launcher
from digits import accuracy_of, make_model, options, report, train_epoch


def train_ddp(given):
    accelerator = Accelerator(cpu=True)
    model = make_model()
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9))
    losses = [train_epoch(model, optimizer, epoch) for epoch in range(given.epochs)]
    report(given, accelerator.process_index, losses, accuracy_of(model))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    given = options(__doc__, ranks=2)
    notebook_launcher(train_ddp, args=(given,), num_processes=given.ranks)
