"""Hugging Face's Accelerate: prepare() and backward(), in bfloat16 if asked for.

    torchrun --nproc-per-node 2 accelerated.py [--backend rondo|gloo|default] [--precision no|bf16] [--epochs 3] [--losses FILE]

Accelerate refuses backends that it doesn't know, and takes a process group that is there: so it is made first. With `--backend default` Accelerate makes
it, on Gloo; then RONDO_TAKEOVER=gloo puts it on Rondo, and the program stays as it was.
"""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from digits import accuracy_of, averaged, digits, make_model, options, report
from torch.utils.data import DataLoader


def main():
    given = options(__doc__, precision="no")
    if given.backend != "default":
        dist.init_process_group(given.backend)
    accelerator = Accelerator(cpu=True, mixed_precision=given.precision)
    learning, _ = digits()
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(learning, batch_size=50, shuffle=True))
    losses = []
    for _ in range(given.epochs):
        total = torch.zeros(2)
        for pictures, labels in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(pictures), labels)
            accelerator.backward(loss)
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0])
        losses.append(averaged(total))
    report(given, accelerator.process_index, losses, accuracy_of(model))
    accelerator.end_training()
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
