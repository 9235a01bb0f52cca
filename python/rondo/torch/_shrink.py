"""A process group goes on without the ranks that have gone, and without their store."""

import json
import os
import socket

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from rondo.torch import _backend


def _own_address():
    """This machine as the ranks that are left reach it: on the way to where they met; where there is none any more they are on this machine."""
    met = os.environ.get("MASTER_ADDR", "127.0.0.1")
    try:
        with socket.socket(socket.getaddrinfo(met, 9, type=socket.SOCK_DGRAM)[0][0], socket.SOCK_DGRAM) as way:
            way.connect((met, 9))  # sends nothing
            return way.getsockname()[0]
    except OSError:
        return "127.0.0.1"


def _fresh_store(tell, first, timeout):
    """A store that the first of the ranks that are left keeps."""
    if not first:
        address, port, failure = json.loads(tell(""))
        if failure:
            raise dist.DistBackendError(f"rondo: the first rank that is left can't keep a store: {failure}")
        return dist.TCPStore(address, port, is_master=False, timeout=timeout)
    try:
        store = dist.TCPStore(_own_address(), 0, is_master=True, wait_for_workers=False, timeout=timeout)
    except RuntimeError as failure:
        tell(json.dumps(["", 0, str(failure)[:150]]))
        raise
    tell(json.dumps([store.host, store.port, ""]))
    return store


def shrink_group(group):
    adapter = _backend.load()
    group = c10d._get_default_group() if group is None else group
    lost = adapter.lost_ranks(group)
    first = group.rank() == min(set(range(group.size())) - set(lost))
    backend_name, store = c10d._world.pg_map[group]
    fresh = _fresh_store(lambda text: adapter.told_by_first(group, text), first, store.timeout)
    c10d._world.pg_map[group] = (backend_name, dist.PrefixStore("rondo", fresh))
    if lost:
        return dist.shrink_group(lost, group)
    # Torch's takes no empty list; what follows in it does.
    facts = c10d._prepare_shrink_target_group(group)
    return c10d._finalize_shrunk_group(facts, set(), c10d._validate_shrink_backend_requirements(facts).shrink([], 0, None))
