"""Hugging Face's Trainer with a loss of one's own.

    torchrun --nproc-per-node 2 trainer.py [--backend rondo|gloo|default] [--epochs 3] [--losses FILE]

The Trainer refuses backends that it doesn't know, and takes a process group that is there: so it is made first. With `--backend default` the Trainer
makes it, on Gloo; then RONDO_TAKEOVER=gloo puts it on Rondo, and the program stays as it was.
"""

import tempfile

import torch
import torch.distributed as dist
from digits import accuracy_of, averaged, digits, make_model, options, report
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments


class Pictures(Dataset):
    """As a Trainer wants them: dictionaries."""

    def __init__(self):
        self.tensors = digits()[0].tensors

    def __len__(self):
        return len(self.tensors[0])

    def __getitem__(self, index):
        return {"pictures": self.tensors[0][index], "labels": self.tensors[1][index]}


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = make_model()

    def forward(self, pictures, labels=None):
        return {"logits": self.layers(pictures)}


class DigitTrainer(Trainer):
    """Keeps each rank's own losses."""

    total = None

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs["logits"], inputs["labels"], label_smoothing=0.1)
        self.total += torch.tensor([loss.item(), 1.0])
        return (loss, outputs) if return_outputs else loss


class Losses(TrainerCallback):
    """The average over all ranks, for each epoch."""

    def __init__(self):
        self.losses = []

    def on_epoch_begin(self, arguments, state, control, **_):
        self.trainer.total = torch.zeros(2)

    def on_epoch_end(self, arguments, state, control, **_):
        self.losses.append(averaged(self.trainer.total))


def main():
    given = options(__doc__)
    if given.backend != "default":
        dist.init_process_group(given.backend)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, use_cpu=True, num_train_epochs=given.epochs, per_device_train_batch_size=50, learning_rate=3e-3, seed=0,
            save_strategy="no", report_to=[], disable_tqdm=True, logging_strategy="no", remove_unused_columns=False,
        )
        model, losses = Classifier(), Losses()
        losses.trainer = DigitTrainer(model=model, args=arguments, train_dataset=Pictures(), callbacks=[losses])
        losses.trainer.train()
    report(given, dist.get_rank(), losses.losses, accuracy_of(model.layers))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
