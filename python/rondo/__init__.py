"""Rondo: collective communication between the ranks of a machine.

For Python: rondo.Communicator, on numpy arrays and whatever speaks DLPack. For PyTorch: torch.distributed.init_process_group("rondo"); nothing has to be
imported (see rondo.torch).
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rondo._communicator import Communicator as Communicator
    from rondo._communicator import Work as Work
    from rondo._communicator import trace_file as trace_file
    from rondo._errors import AbortedError as AbortedError
    from rondo._errors import CorruptedError as CorruptedError
    from rondo._errors import DeadlineError as DeadlineError
    from rondo._errors import Error as Error
    from rondo._errors import InvalidPlanError as InvalidPlanError
    from rondo._errors import MismatchError as MismatchError
    from rondo._errors import PeerFailedError as PeerFailedError
    from rondo._errors import ResourceError as ResourceError
    from rondo._errors import UnsupportedError as UnsupportedError
    from rondo._plans import Proof as Proof
    from rondo._plans import Violation as Violation
    from rondo._plans import plan as plan
    from rondo._plans import read_plan as read_plan
    from rondo._plans import run as run
    from rondo._plans import verify as verify

_HOMES = {
    **dict.fromkeys(["Communicator", "Work", "trace_file"], "_communicator"),
    **dict.fromkeys(["Proof", "Violation", "plan", "read_plan", "run", "verify"], "_plans"),
}
_ERRORS = ["AbortedError", "CorruptedError", "DeadlineError", "Error", "InvalidPlanError", "MismatchError", "PeerFailedError", "ResourceError", "UnsupportedError"]
__all__ = [*_HOMES, *_ERRORS]


def __getattr__(name: str) -> Any:
    """Loads the library when it is first asked for: torch imports this package whenever it is imported itself."""
    if name not in __all__:
        raise AttributeError(f"module 'rondo' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"rondo.{_HOMES.get(name, '_errors')}"), name)
