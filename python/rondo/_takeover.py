"""RONDO_TAKEOVER=gloo: process groups that ask for Gloo run on Rondo, in programs that know nothing of it.

Torch makes such groups by calling the class ProcessGroupGloo by its name in torch.distributed.distributed_c10d. The name is given to a class that makes a Rondo
backend instead, and Gloo itself where Rondo can't serve the group: there one line is logged.
"""

import logging
import os

VARIABLE = "RONDO_TAKEOVER"
_log = logging.getLogger("rondo")


def wanted():
    """Whether the environment asks for it. ValueError names the variable, what it is, and what is accepted."""
    value = os.environ.get(VARIABLE, "")
    if value not in ("", "gloo"):
        raise ValueError(f"{VARIABLE} is '{value}'; accepted: gloo")
    return value == "gloo"


def install():
    """From here on. Groups that are there stay what they are."""
    from torch._C._distributed_c10d import Backend
    from torch.distributed import distributed_c10d as c10d

    from rondo.torch import _backend

    if not _backend.is_built():
        _log.warning("%s has no effect: %s", VARIABLE, _backend.missing())
        return
    gloo = c10d.ProcessGroupGloo
    if getattr(gloo, "is_rondo", False):
        return

    # Torch reads and writes the options of what it takes for Gloo; of other backends Python doesn't see them.
    Backend.options = property(lambda backend: _backend.load().options(backend))
    # What DEBUG=DETAIL wraps a backend in has no time limit of its own in torch 2.11.
    Backend._set_default_timeout = lambda backend, timeout: getattr(backend, "wrapped_pg", backend).set_timeout(timeout)

    class LooksLikeGloo(type):
        def __instancecheck__(cls, instance):
            return isinstance(instance, (gloo, Backend)) if cls is ProcessGroupGloo else super().__instancecheck__(instance)

        def __getattr__(cls, name):
            return getattr(gloo, name)

    class ProcessGroupGloo(metaclass=LooksLikeGloo):
        is_rondo = True

        def __new__(cls, store, rank, size, timeout=c10d.default_pg_timeout, **options):
            try:
                return _backend.make(store, rank, size, timeout, "", not c10d.is_initialized(), for_gloo=True)
            except NotImplementedError as reason:
                _log.warning("this group goes on to Gloo: %s", reason)
            return gloo(store, rank, size, timeout=timeout, **options)

    c10d.ProcessGroupGloo = ProcessGroupGloo
