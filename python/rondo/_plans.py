"""Plans as plain objects: made, read, proved and run, without a job."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, Union

from rondo import _core
from rondo._arrays import blocks_of, empty_like, shape_of
from rondo._communicator import Communicator
from rondo._errors import AbortedError, PeerFailedError

Plan = dict[str, Any]
"""A plan as Rondo's JSON form has it: "programs" has each rank's lanes of steps."""


class Violation(NamedTuple):
    """One thing that is wrong with a plan. rank, lane and step are -1 where it belongs to more than one."""

    fault: str
    rank: int
    lane: int
    step: int
    message: str


class Proof(NamedTuple):
    """What verify() found out. strictness: "loose", "own_type" or "any_type", and in `departure` the first step that keeps it from "any_type"."""

    proved: bool
    violations: list[Violation]
    truncated: bool
    least_safe_depth: int
    chunk_steps: int
    strictness: str
    departure: str


def plan(
    collective: str, ranks: int, nbytes: int = 1 << 20, dtype: str = "f32", op: str = "sum", root: int = 0, *, algorithm: str = "",
    topology: Union[Plan, str, os.PathLike[str], None] = None, in_place: bool = False, symmetric: bool = False,
) -> Plan:
    """The plan that a call with a larger buffer of `nbytes` would run, or that of `algorithm`.

    topology: a topology as Communicator.topology() returns it, a file (XML of hwloc's or NCCL's, or such a topology in JSON), a made-up fabric such as
    "dgx-h100*2", or a synthetic machine such as "package:2 l3:2 core:4 pu:1"; None: this machine. symmetric: arrays lie in memory that peers map (Communicator.allocate).
    Raises ValueError for a call that makes no sense, UnsupportedError where no algorithm, or not this one, can serve it, OSError for files.
    """
    as_json, as_text = (json.dumps(topology), "") if isinstance(topology, dict) else ("", "" if topology is None else os.fspath(topology))
    return json.loads(_core.plan(collective, ranks, nbytes, dtype, op, root, algorithm, as_json, as_text, in_place, symmetric))


def read_plan(path: Union[str, os.PathLike[str]]) -> Plan:
    """The plan in a file: Rondo's JSON, MSCCL XML or MSCCL++ JSON. InvalidPlanError says what is wrong with the file, and where."""
    return json.loads(_core.read_plan(os.fspath(path)))


def verify(plan: Plan) -> Proof:
    """Proves a plan, or says which rank, lane and step is wrong. InvalidPlanError where it can't be read as one."""
    found = _core.verify(json.dumps(plan))
    violations = [Violation(each.fault, each.rank, each.lane, each.step, each.message) for each in found.violations]
    return Proof(not violations, violations, found.truncated, found.least_safe_depth, found.chunk_steps, found.strictness, found.departure)


def run(plan: Plan, arrays: Sequence[Any], op: str = "sum", *, unverified: bool = False) -> list[Any]:
    """Runs a plan on a thread for each of its ranks, and returns what each has in the end, by rank; None where a rank gets nothing.

    arrays: what each rank gives to the collective, by rank; None where it gives nothing. They are left as they are. The plan is proved first, unless
    `unverified`. Raises what the collective's method of Communicator raises, InvalidPlanError with what is wrong with the plan, and ValueError for another
    number of arrays than ranks.
    """
    if len(arrays) != plan.get("ranks"):
        raise ValueError(f"{len(arrays)} arrays for a plan of {plan.get('ranks')} ranks; accepted: one for each, None where a rank gives nothing")
    ranks = Communicator.in_process(len(arrays))
    results: list[Any] = [None] * len(ranks)
    failures: list[BaseException] = []

    def serve(rank: Communicator) -> None:
        try:
            rank.use_plan(plan, unverified)
            results[rank.rank] = _call(rank, plan, arrays, op)
        except BaseException as failure:  # noqa: BLE001
            failures.append(failure)
            rank.abort()

    threads = [threading.Thread(target=serve, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:  # of one's own rather than of those who heard of it
        raise min(failures, key=lambda failure: isinstance(failure, (AbortedError, PeerFailedError)))
    return results


def _room(rank: Communicator, plan: Plan, like: Any, shape: Any) -> Any:
    """New memory for this rank; of the kind that peers map where the plan reads it there."""
    return rank.allocate(shape, like.dtype) if plan.get("protocol") == "direct" else empty_like(like, tuple(shape))


def _call(rank: Communicator, plan: Plan, arrays: Sequence[Any], op: str) -> Any:
    """The plan's collective on this rank, in place where the plan serves nothing else."""
    collective, root, size, own = plan["collective"], plan.get("root", 0), rank.size, arrays[rank.rank]
    if collective == "barrier":
        return rank.barrier()
    from_root = collective in ("broadcast", "scatter")
    given = arrays[root] if from_root else own
    is_root, shape = rank.rank == root, shape_of(given)
    whole = _room(rank, plan, given, (size, *shape) if collective in ("all_gather", "gather") else shape)
    if collective in ("all_gather", "gather"):
        return _gather(rank, plan, own, whole, root)
    whole[...] = 0 if from_root and not is_root else given
    if collective == "broadcast":
        return rank.broadcast(whole, root)
    if collective in ("reduce_scatter", "scatter"):
        part = blocks_of(given, size)
        out = _room(rank, plan, given, part) if plan.get("out_of_place", True) else whole.reshape(size, *part)[rank.rank]
        if collective == "reduce_scatter":
            return rank.reduce_scatter(whole, op, out)
        return rank.scatter(whole if is_root else None, root, out)
    out = _room(rank, plan, given, shape) if plan.get("out_of_place", True) else whole
    if collective == "reduce":
        return rank.reduce(whole, op, root, out)
    if collective == "all_to_all":
        return rank.all_to_all(whole, out)
    if collective in ("all_reduce", "scan"):
        return getattr(rank, collective)(whole, op, out)
    raise ValueError(f"a plan for {collective}; accepted: all_reduce, reduce, broadcast, reduce_scatter, all_gather, gather, scatter, all_to_all, scan, barrier")


def _gather(rank: Communicator, plan: Plan, own: Any, whole: Any, root: int) -> Any:
    block = _room(rank, plan, own, shape_of(own)) if plan.get("out_of_place", True) else whole[rank.rank]
    block[...] = own
    if plan["collective"] == "all_gather":
        return rank.all_gather(block, whole)
    return rank.gather(block, root, whole if rank.rank == root else None)
