"""Communicators for Python: collectives on numpy arrays, torch tensors, and whatever else speaks DLPack or the buffer protocol. Types: _communicator.pyi."""

import contextlib
import json
import math
import operator
import os
import threading
import types
from collections.abc import Iterable

from rondo import _core
from rondo._arrays import blocks_of, check_arrays, empty_like, shape_of
from rondo._errors import Error

_OPTIONS = {"timeout": 1800.0, "bootstrap_timeout": 300.0, "algorithm": "", "transport": "", "strict": False, "integrity": False}


def _options(given):
    unknown = set(given) - set(_OPTIONS)
    if unknown:
        raise TypeError(f"unknown option {sorted(unknown)[0]!r}; accepted: {', '.join(_OPTIONS)}")
    return tuple(given.get(name, default) for name, default in _OPTIONS.items())


class Work:
    """A started call. Forgetting it doesn't cancel the call, whose arrays stay until it has ended."""

    __class_getitem__ = classmethod(types.GenericAlias)  # Work[numpy.ndarray]: what wait() returns

    def __init__(self, work, result, receives=False):
        self._work, self._result, self._receives = work, result, receives

    def done(self):
        """Whether the call has ended, well or badly. Never blocks."""
        return self._work.done()

    def source(self):
        """The rank that a started receive got its message from; None before its end, and of other calls."""
        return self._work.source()

    def wait(self, timeout=None):
        """Waits for the end, at most `timeout` seconds, and returns what the call would have. DeadlineError leaves it running."""
        self._work.wait(timeout)
        return self._work.source() if self._receives else self._result


class Communicator:
    """One rank of a group, as rondo::Communicator.

    Collectives are called by all ranks in the same order, with arrays of one size and type. Each returns its result: `out` where it is given, else a
    new array of the caller's library. `out=array` works in place where input and output are equally long. With `async_op=True` a Work comes back
    at once, whose wait() returns the result. Calls block without the interpreter's lock, so that ranks may be threads.

    op: "sum", "prod", "min", "max", "avg", "premul_sum" (`scale` multiplies this rank's array first), "band", "bor" or "bxor".

    Raises ValueError and TypeError (this rank's arguments; the group stays usable), MismatchError, PeerFailedError, DeadlineError, AbortedError and
    CorruptedError (after which every call raises the same: make a new communicator).
    """

    def __init__(self, core):
        """Use from_environment(), local(), by_id() or in_process()."""
        self._core = core
        self._groups = threading.local()  # a group is its thread's affair

    @classmethod
    def from_environment(cls, **options):
        """This process's rank of the job that torchrun's variables describe: RANK, WORLD_SIZE, MASTER_PORT. Waits until all ranks are there.

        options: timeout and bootstrap_timeout in seconds, of each call and of this one; algorithm, transport: forced; strict: sums of the same bits
        whatever the algorithm and the size; integrity: what passes between ranks has checksums, and what changed on the way raises CorruptedError.
        """
        return cls(_core.from_environment(_options(options)))

    @classmethod
    def local(cls, rank, size, job, **options):
        """Rank `rank` of the `size` processes on this machine that give the same text as `job`. Options as from_environment()."""
        return cls(_core.local(rank, size, job, _options(options)))

    @staticmethod
    def unique_id():
        """For ranks on any machines: rank 0 makes an id, tells it to the others in some way of its own, and all give it to by_id(). Whoever has it can join."""
        return _core.unique_id()

    @classmethod
    def by_id(cls, rank, size, id, **options):
        """Rank `rank` of `size` that were given `id`, which rank 0's process made. Options as from_environment()."""
        return cls(_core.by_id(rank, size, id, _options(options)))

    @classmethod
    def in_process(cls, size, **options):
        """`size` ranks in this process, for as many threads. Options as from_environment()."""
        return [cls(core) for core in _core.in_process(size, _options(options))]

    @property
    def rank(self):
        """This rank's number in the group."""
        return self._core.rank

    @property
    def size(self):
        """How many ranks the group has."""
        return self._core.size

    @property
    def parent_ranks(self):
        """By rank, its rank in the communicator that this one was made from by shrink(), split() or duplicate(); else empty."""
        return self._core.parent_ranks

    # Collectives

    def all_reduce(self, array, op="sum", out=None, *, scale=1.0, async_op=False):
        """The combination of all ranks' arrays, on every rank."""
        return self._call("all_reduce", array, self._room(array, out), op, scale=scale, async_op=async_op)

    def reduce(self, array, op="sum", root=0, out=None, *, scale=1.0, async_op=False):
        """The combination of all ranks' arrays, on the root; None elsewhere."""
        room = self._room(array, out) if self.rank == root else None
        return self._call("reduce", array, room, op, root, scale, async_op)

    def broadcast(self, array, root=0, *, async_op=False):
        """Copies the root's array into the others', which are as long."""
        return self._call("broadcast", array if self.rank == root else None, array, root=root, async_op=async_op)

    def reduce_scatter(self, array, op="sum", out=None, *, scale=1.0, async_op=False):
        """This rank's part, along the first dimension, of the combination of all ranks' arrays."""
        room = empty_like(array, blocks_of(array, self.size)) if out is None else out
        return self._call("reduce_scatter", array, room, op, scale=scale, async_op=async_op)

    def all_gather(self, array, out=None, *, async_op=False):
        """All ranks' arrays, by rank: the shape is (size, *array.shape)."""
        return self._call("all_gather", array, self._stack(array, out), async_op=async_op)

    def gather(self, array, root=0, out=None, *, async_op=False):
        """All ranks' arrays, by rank, on the root; None elsewhere."""
        return self._call("gather", array, self._stack(array, out) if self.rank == root else None, root=root, async_op=async_op)

    def scatter(self, array, root=0, out=None, *, async_op=False):
        """This rank's part, along the first dimension, of the root's array. Other ranks give no array, and an `out`."""
        if self.rank != root:
            array = None
            if out is None:
                raise ValueError("scatter on a rank that isn't the root takes an out, which says how long its part is")
        elif out is None:
            out = empty_like(array, blocks_of(array, self.size))
        return self._call("scatter", array, out, root=root, async_op=async_op)

    def all_to_all(self, array, out=None, *, async_op=False):
        """Part s of this rank's array, along the first dimension, goes to rank s; part r of the result comes from rank r."""
        blocks_of(array, self.size)
        return self._call("all_to_all", array, self._room(array, out), async_op=async_op)

    def all_to_all_v(self, array, sent, received, out=None, *, async_op=False):
        """The same with parts of different lengths: sent[s] rows of the first dimension go to rank s, received[r] come from rank r."""
        rows, *row_shape = shape_of(array) or (1,)
        row = math.prod(row_shape)
        if sum(sent) != rows:
            raise ValueError(f"array has {rows} rows, sent adds up to {sum(sent)}")
        room = empty_like(array, (sum(received), *row_shape)) if out is None else out
        check_arrays(array, room)
        work = self._core.exchange(array, [row * count for count in sent], room, [row * count for count in received])
        return self._follow(work, room, async_op)

    def scan(self, array, op="sum", out=None, *, scale=1.0, async_op=False):
        """The combination of the arrays of ranks 0 to this one."""
        return self._call("scan", array, self._room(array, out), op, scale=scale, async_op=async_op)

    def all_reduce_fused(self, arrays, op="sum", outs=None, *, wire="", scale=1.0, async_op=False):
        """One all_reduce of many arrays of one type where they lie, in place without `outs`. wire: "f16" or "bf16", what ranks read of one another."""
        inputs = list(arrays)
        rooms = inputs if outs is None else list(outs)
        if len(inputs) != len(rooms):
            raise ValueError(f"{len(inputs)} arrays and {len(rooms)} outs; accepted: as many")
        check_arrays(*inputs, *rooms)
        return self._follow(self._core.reduce_list(list(zip(inputs, rooms)), op, scale, wire), rooms, async_op)

    def barrier(self, *, async_op=False):
        """Waits until all ranks are in it."""
        return self._call("barrier", None, None, async_op=async_op)

    # Messages

    def send(self, array, to, *, async_op=False):
        """Sends an array. Messages between two ranks keep their order."""
        check_arrays(array)
        if async_op or self._is_grouped():
            return self._follow(self._core.start_send(array, to), None, True)
        return self._core.send(array, to)

    def recv(self, out, source=None, *, async_op=False):
        """Receives a message of out's length into it, from `source` or from whoever sends first, and returns whose it was."""
        check_arrays(out)
        if async_op or self._is_grouped():
            return self._follow(self._core.start_recv(out, source), out, True, receives=True)
        return self._core.recv(out, source)

    @contextlib.contextmanager
    def group(self):
        """This thread's calls inside are collected, and run together at the end of the thread's outermost group, whatever communicators groups are of, where
        their order can't deadlock. Their results are there afterwards. An exception inside aborts the communicator: the other ranks would wait for calls
        that don't come."""
        held = []
        if not self._is_grouped():
            self._groups.held = held
        outermost = self._groups.held is held
        self._core.group_begin()
        try:
            yield
        except BaseException:
            self._core.abort()
            with contextlib.suppress(Error):
                self._core.group_end()
            raise
        else:
            self._core.group_end()
        finally:
            if outermost:
                self._groups.held = None
        for work in held:  # those that were refused at once never got into the library's group
            if work.done():  # else it runs with the groups of other communicators that are still open
                work.wait()

    def _is_grouped(self):
        return getattr(self._groups, "held", None) is not None

    # Groups, plans, and what else a communicator has

    def split(self, color, key=0):
        """A collective call: ranks of one color (0 and above) get a communicator of their own, ordered by key; those with None get None."""
        if color is not None and color < 0:
            raise ValueError(f"color is {color}; accepted: 0 and above, or None")
        child = self._core.split(-1 if color is None else color, key)
        return None if child is None else Communicator(child)

    def duplicate(self):
        """The same ranks once more, with an order of calls of its own: for another thread, or a library."""
        return Communicator(self._core.duplicate())

    def shrink(self):
        """After a rank has died: a communicator of those that haven't, in their old order. All that are left call it, or end their communicators;
        waits for them. This communicator is over with it."""
        return Communicator(self._core.shrink())

    def grow(self, size, job):
        """A communicator of `size` ranks: all of this one, with their numbers, and newcomers, which call local() with the numbers behind them, and the
        same `size` and `job`. Where ranks are on other hosts `job` is a unique_id() of rank 0's, and newcomers call by_id(). Waits for all. This communicator
        stays what it is."""
        return Communicator(self._core.grow(size, job))

    def allocate(self, shape, dtype="float32"):
        """A numpy array of zeros in memory that peers map: collectives between such arrays on all ranks copy less."""
        import numpy

        kind = numpy.dtype(dtype)
        sizes = tuple(map(operator.index, shape if isinstance(shape, Iterable) else (shape,)))
        if min(sizes, default=0) < 0:
            raise ValueError(f"shape is {sizes}; accepted: no negative numbers")
        count = math.prod(sizes) * kind.itemsize
        return self._core.allocate(max(count, 1))[:count].view(kind).reshape(sizes)

    def plan(self, collective, array=None, out=None, op="sum", root=0):
        """The plan that a call would run, as Rondo's JSON form has it. Give `array`, or `out` where the collective reads nothing here."""
        return json.loads(self._core.plan_for(collective, array, out, op, root))

    def use_plan(self, plan, unverified=False):
        """From now on calls of the collective that the plan is for run this plan, on all ranks. It is proved first, unless `unverified`.
        plan: a plan as rondo.plan() returns it, or a file, as rondo.read_plan() takes it."""
        if isinstance(plan, dict):
            self._core.use_plan(json.dumps(plan), unverified)
        else:
            self._core.use_plan_file(os.fspath(plan), unverified)

    def set_timeout(self, seconds):
        """The deadline of later calls."""
        self._core.set_timeout(seconds)

    def abort(self):
        """Ends every wait, on every rank, with AbortedError. From any thread."""
        self._core.abort()

    def flight_record(self):
        """Which rank this is and whether it has failed, in a line, and its last operations, one a line, newest last."""
        return self._core.flight_record()

    def topology(self):
        """All ranks' machines merged into one graph."""
        return json.loads(self._core.topology())

    def start_trace(self, capacity=1_000_000):
        """From now on every step of this rank's calls is recorded, up to `capacity` of them."""
        self._core.start_trace(capacity)

    def stop_trace(self):
        """Ends that: what was recorded, for rondo.trace_file()."""
        return self._core.stop_trace()

    def __repr__(self):
        return f"<rondo.Communicator: rank {self.rank} of {self.size}>"

    # How calls are made

    @staticmethod
    def _room(array, out):
        return empty_like(array, shape_of(array)) if out is None else out

    def _stack(self, array, out):
        return empty_like(array, (self.size, *shape_of(array))) if out is None else out

    def _call(self, collective, array, out, op="sum", root=0, scale=1.0, async_op=False):
        check_arrays(array, out)
        if not async_op and not self._is_grouped():
            self._core.run(collective, array, out, op, root, scale)
            return out
        return self._follow(self._core.start(collective, array, out, op, root, scale), out, async_op)

    def _follow(self, core_work, result, async_op, receives=False):
        """A started call's Work, or, once it has ended, its result; within a group, which nobody waits in, the result as it will be."""
        work = Work(core_work, result, receives)
        if self._is_grouped():
            self._groups.held.append(work)
            return work if async_op else result
        return work if async_op else work.wait()


def trace_file(ranks):
    """The text of a file for ui.perfetto.dev, of what stop_trace() gave on each rank."""
    return _core.trace_file(list(ranks))
