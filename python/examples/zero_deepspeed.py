"""DeepSpeed's ZeRO, stages 0 to 3: optimizer states, then gradients, then parameters are shared out over the ranks.

    torchrun --nproc-per-node 2 zero_deepspeed.py [--backend rondo|gloo] [--stage 2] [--precision no|bf16] [--epochs 3] [--losses FILE]

DeepSpeed hands the backend's name on to torch.distributed as it is. On CPU it wants DS_ACCELERATOR=cpu; to install it: DS_BUILD_OPS=0 pip install ninja deepspeed.
"""

import deepspeed
import torch
import torch.distributed as dist
from digits import averaged, digits, options, report


def make_model():
    """Nothing but what bfloat16 does on CPU: batch norms mix precisions."""
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))


def accuracy_of(engine, precision):
    """Of an engine whose ranks may have parts of the parameters alone, so that all of them have to ask."""
    _, (pictures, labels) = digits()
    engine.eval()
    with torch.no_grad():
        return (engine(pictures.to(precision)).argmax(1) == labels).float().mean().item()


def main():
    given = options(__doc__, stage=2, precision="no")
    precision = {"no": torch.float32, "bf16": torch.bfloat16}[given.precision]
    deepspeed.init_distributed(dist_backend=given.backend)
    learning, _ = digits()
    model = make_model()
    config = {
        "train_micro_batch_size_per_gpu": 50,
        "optimizer": {"type": "Adam", "params": {"lr": 0.003, "torch_adam": True}},
        "zero_optimization": {"stage": given.stage},
        "bf16": {"enabled": given.precision == "bf16"},
    }
    engine, _, loader, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), training_data=learning, config=config)
    losses = []
    for epoch in range(given.epochs):
        loader.data_sampler.set_epoch(epoch)
        total = torch.zeros(2)
        for pictures, labels in loader:
            loss = torch.nn.functional.cross_entropy(engine(pictures.to(precision)).float(), labels)
            engine.backward(loss)
            engine.step()
            total += torch.tensor([loss.item(), 1.0])
        losses.append(averaged(total))
    report(given, dist.get_rank(), losses, accuracy_of(engine, precision))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
