"""Rondo as a backend of torch.distributed.

    torch.distributed.init_process_group("rondo")

With this package installed torch knows the name; where its plugins are switched off (TORCH_DEVICE_BACKEND_AUTOLOAD=0), `import rondo.torch` tells it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rondo import _autoload

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup
    from torch.nn.parallel import DistributedDataParallel

_autoload.register()


def shrink_group(group: ProcessGroup | None = None) -> ProcessGroup:
    """What to do when a call has failed because ranks have died: the group (the default one) without them, as torch.distributed.shrink_group() makes it.

    All that are left call it, and agree on who that is: it waits until every rank has come here or gone, for the group's timeout at most. The group that is
    returned has the ranks in their old order, and a store of its own, as the old one's may have gone with its host; that of the default group becomes the
    default group, and ends all others. The group's calls end with DistBackendError from here on, also where nobody is missing.
    Errors: ValueError (it doesn't run on Rondo), DistBackendError (the ranks couldn't agree; see rondo::Communicator::shrink).
    """
    from rondo.torch import _shrink

    return _shrink.shrink_group(group)


_WIRES = {None: "", "fp16": "f16", "bf16": "bf16"}


class DDPHook:
    """How a DistributedDataParallel model averages its gradients: in one pass that divides, too, on Rondo's progress thread, without the interpreter.

        model = DistributedDataParallel(network)
        rondo.torch.DDPHook(wire="bf16").register(model)

    wire: None, "bf16" or "fp16": ranks read one another's float gradients in this type and add them in float32, which halves what moves between them.
    Of gradients on a GPU: enqueued on the group's stream, one launch a bucket.
    error_feedback: what a rank's gradients lose by that is added to its next ones. Every rank registers the same, once, before the first backward.
    """

    def __init__(self, wire: Literal["bf16", "fp16"] | None = None, error_feedback: bool = False) -> None:
        if wire not in _WIRES:
            raise ValueError(f"wire is {wire!r}; accepted: None, 'bf16', 'fp16'")
        if error_feedback and wire is None:
            raise ValueError("error_feedback without a wire: nothing is lost; accepted: wire='bf16' or 'fp16' with it")
        self.wire, self.error_feedback = wire, error_feedback

    def register(self, model: DistributedDataParallel) -> None:
        """ValueError where the model's process group doesn't run on Rondo; RuntimeError where the model has a hook."""
        from rondo.torch import _backend

        _backend.load().register_hook(model.reducer, model.process_group, _WIRES[self.wire], self.error_feedback)
