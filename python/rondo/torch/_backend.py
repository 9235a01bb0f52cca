"""Finds the adapter that was built for this torch, and makes backends with it."""

import atexit
import functools
import importlib
import os
from pathlib import Path

import torch
from torch.distributed import Backend


def _built():
    """The versions of torch that this installation has an adapter for."""
    files = Path(__file__).parent.glob("_c10d_*")
    return sorted({".".join(file.name.split(".")[0].split("_")[-2:]) for file in files})


def _version():
    return ".".join(torch.__version__.split(".")[:2])


def is_built():
    """Whether there is an adapter for this torch. Loads nothing."""
    return _version() in _built()


def missing(reason="there is none"):
    """What to say of an adapter that can't be had."""
    built = ", ".join(_built()) or "none"
    return (
        f"rondo's adapter for torch {_version()} can't be loaded ({reason}); it was built for: {built}. "
        "To build it for this torch: pip install --force-reinstall --no-deps rondo-ccl, from its sources"
    )


@functools.cache
def load():
    """The adapter. ImportError says which torch it was built for, and what to do."""
    try:
        adapter = importlib.import_module(f"rondo.torch._c10d_{_version().replace('.', '_')}")
    except ImportError as reason:
        raise ImportError(missing(reason)) from reason
    # What is still under way when the interpreter ends would call into it afterwards.
    atexit.register(adapter.give_up_unfinished)
    return adapter


@functools.cache  # to count GPUs takes milliseconds
def _have_buckets_mapped():
    """DistributedDataParallel asks a backend for its buckets' memory if this variable says so, which torch hasn't by default. So do the backends for GPUs: where
    there are any it is left alone."""
    if "DDP_DISABLE_COMM_MEM" not in os.environ and torch.cuda.device_count() == 0:
        os.environ["DDP_DISABLE_COMM_MEM"] = "0"


def make(store, rank, size, timeout, name, is_world, global_ranks=(), for_gloo=False):
    """A c10d backend. Ranks find one another through `store`, but for parts of the default group (`is_world`) that have a name of their own.
    `for_gloo`: the group goes on saying that it is Gloo's.

    NotImplementedError: the ranks can't share memory, on all of them.
    """
    _have_buckets_mapped()
    device = next((kind for kind in Backend.backend_capability["rondo"] if kind != "cpu"), "")
    return load().create(store, rank, size, timeout.total_seconds(), name, is_world, list(global_ranks), for_gloo, device)


def create(options):
    """A c10d backend for the process group that torch describes (c10d.DistributedBackendOptions)."""
    ranks = list(options.global_ranks_in_group)
    return make(options.store, options.group_rank, options.group_size, options.timeout, options.group_id, not ranks, ranks)
