"""The communicator for Python, on numpy arrays and torch tensors, against results that each rank works out for itself."""

import array
import gc
import json
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from ranks import run

import rondo

TYPES = ["float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "complex64", "complex128"]
COMBINE = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max}


def in_threads(size, body, **options):
    """body(communicator) on each rank, in threads of this process. Raises what the first of them raised."""
    failures = []

    def rank_main(communicator):
        try:
            body(communicator)
        except BaseException as failure:  # noqa: BLE001
            failures.append(failure)
            communicator.abort()

    threads = [threading.Thread(target=rank_main, args=(communicator,)) for communicator in rondo.Communicator.in_process(size, **options)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def as_process(rank, size, name):
    with_communicator = globals()[name]
    with_communicator(rondo.Communicator.from_environment(timeout=60))


def everywhere(body, sizes=(1, 2, 3)):
    for size in sizes:
        in_threads(size, body)
    run(2, as_process, body.__name__, backend=None)


def values(rank, shape, dtype):
    random = np.random.default_rng(rank)
    if np.dtype(dtype).kind == "c":
        return (random.integers(0, 4, shape) + 1j * random.integers(0, 4, shape)).astype(dtype)
    return random.integers(0, 4, shape).astype(dtype)


def collectives(c):
    for dtype in TYPES:
        given = [values(rank, (2 * c.size, 3), dtype) for rank in range(c.size)]
        mine = given[c.rank]
        total = np.sum(given, axis=0, dtype=dtype)
        for op, combine in COMBINE.items():
            if np.dtype(dtype).kind == "c" and op != "sum":
                continue
            np.testing.assert_array_equal(c.all_reduce(mine, op), combine(given, axis=0).astype(dtype))
        in_place = mine.copy()
        assert c.all_reduce(in_place, out=in_place) is in_place
        np.testing.assert_array_equal(in_place, total)
        np.testing.assert_array_equal(c.all_gather(mine), np.stack(given))
        np.testing.assert_array_equal(c.reduce_scatter(mine), total[2 * c.rank : 2 * c.rank + 2])
        np.testing.assert_array_equal(c.all_to_all(mine), np.concatenate([g[2 * c.rank : 2 * c.rank + 2] for g in given]))
        np.testing.assert_array_equal(c.scan(mine), np.sum(given[: c.rank + 1], axis=0, dtype=dtype))
        root = c.size - 1
        reduced, gathered = c.reduce(mine, root=root), c.gather(mine, root=root)
        if c.rank == root:
            np.testing.assert_array_equal(reduced, total)
            np.testing.assert_array_equal(gathered, np.stack(given))
        else:
            assert reduced is None and gathered is None
        copied = mine.copy()
        c.broadcast(copied, root)
        np.testing.assert_array_equal(copied, given[root])
        part = c.scatter(mine, root, out=None if c.rank == root else np.empty((2, 3), dtype))
        np.testing.assert_array_equal(part, given[root][2 * c.rank : 2 * c.rank + 2])
    c.barrier()


def other_types(c):
    truth = np.array([c.rank == 0, False, True])
    np.testing.assert_array_equal(c.all_reduce(truth), [True, False, True])
    np.testing.assert_array_equal(c.all_reduce(truth, "min"), [c.size == 1, False, True])
    moments = np.array(["2026-11-23"] * (c.rank + 1), dtype="datetime64[D]").view("int64")
    assert c.all_gather(moments[:1]).shape == (c.size, 1)
    for dtype in (torch.bfloat16, torch.float32, torch.int64):
        result = c.all_reduce(torch.full((4,), c.rank + 1, dtype=dtype))
        assert isinstance(result, torch.Tensor) and result.dtype == dtype and result[0] == c.size * (c.size + 1) // 2
    assert c.all_gather(torch.zeros(2, dtype=torch.complex64)).shape == (c.size, 2)
    scalar = c.all_reduce(np.array(c.rank + 1.0))
    assert scalar.shape == () and scalar == c.size * (c.size + 1) / 2
    assert c.all_reduce(np.empty((0, 3))).shape == (0, 3)
    np.testing.assert_array_equal(c.all_reduce(np.ones(3), "premul_sum", scale=0.5), np.full(3, 0.5 * c.size))
    for plain in (memoryview(np.ones(3)), array.array("d", [1, 1, 1])):
        np.testing.assert_array_equal(c.all_reduce(plain, out=np.empty(3)), np.full(3, float(c.size)))


def parts_of_different_lengths(c):
    rows = [[sender + receiver for receiver in range(c.size)] for sender in range(c.size)]
    sent = [values(sender, (sum(rows[sender]), 2), "float32") for sender in range(c.size)]
    received = [rows[sender][c.rank] for sender in range(c.size)]
    got = c.all_to_all_v(sent[c.rank], rows[c.rank], received)
    begins = [sum(rows[sender][: c.rank]) for sender in range(c.size)]
    np.testing.assert_array_equal(got, np.concatenate([sent[s][begins[s] : begins[s] + received[s]] for s in range(c.size)]))


def started(c):
    first, second = np.ones(1000), np.full(10, float(c.rank))
    works = [c.all_reduce(first, async_op=True), c.all_gather(second, async_op=True), c.barrier(async_op=True)]
    np.testing.assert_array_equal(works[0].wait(), np.full(1000, float(c.size)))
    np.testing.assert_array_equal(works[1].wait(timeout=30), np.repeat(np.arange(float(c.size)), 10).reshape(c.size, 10))
    assert works[2].wait() is None and all(work.done() for work in works)


def forgotten(c):
    """Arrays stay until their calls have ended, whoever forgets the work, and no longer."""
    if c.size != 2:
        return
    peer = 1 - c.rank
    rooms = [np.zeros(1000) for _ in range(3)]
    seen = [weakref.ref(room) for room in rooms]
    for room in rooms:
        c.recv(room, peer, async_op=True)
    growing = bytearray(8000)
    lent = c.recv(growing, peer, async_op=True)
    with pytest.raises(BufferError):
        growing.clear()  # its memory is lent
    del room, rooms
    gc.collect()
    c.barrier()
    assert all(one() is not None for one in seen), "an array is gone before its call"
    for value in (5.0, 6.0, 7.0):
        c.send(np.full(1000, value), peer)
    assert not any(one() is None for one in seen[2:])
    c.send(bytearray(8000), peer)
    lent.wait()  # and so have those before it
    c.all_reduce(np.ones(1), async_op=True).wait()  # a started call lets go of the arrays of those that have ended
    growing.clear()
    gc.collect()
    assert all(one() is None for one in seen), "an array outlives its call"


def left(c):
    """Who leaves waits for what was started."""
    if c.size != 2:
        return
    copy = c.duplicate()
    rooms = [np.zeros(10) for _ in range(3)]
    if c.rank == 0:
        for room in rooms:
            copy.recv(room, 1, async_op=True)
        del copy
        assert [room[9] for room in rooms] == [5, 6, 7]
    else:
        time.sleep(0.2)
        for value in (5.0, 6.0, 7.0):
            copy.send(np.full(10, value), 0)
        c.barrier()
        return
    c.barrier()


def swapped(c):
    if c.size == 1:
        return
    c.send(np.ones(1), (c.rank + 1) % c.size)
    yield c.recv(np.empty(1), (c.rank - 1) % c.size)


def groups(c):
    total = np.zeros(2)
    with c.group():
        c.all_reduce(np.ones(2), out=total)
        with c.group():
            works = [c.all_gather(np.ones(1), async_op=True)]
        sources = []
        thread = threading.Thread(target=lambda: sources.extend(swapped(c)))  # a group is its thread's affair
        thread.start()
        thread.join()
    assert sources == [(c.rank - 1) % c.size] * (c.size > 1)
    assert total[1] == c.size and works[0].wait().sum() == c.size
    with pytest.raises(ValueError, match="overlap"):
        with c.group():
            c.all_reduce_fused([total, total])
    other = c.duplicate()
    pairs = [(c, np.ones(3)), (other, np.ones(4))]  # nested the other way round on other ranks
    (outer, of_outer), (inner, of_inner) = pairs if c.rank % 2 else pairs[::-1]
    with outer.group():
        outer.all_reduce(of_outer, out=of_outer)
        with inner.group():
            inner.all_reduce(of_inner, out=of_inner)
    assert of_outer[-1] == of_inner[-1] == c.size
    broken = c.duplicate()
    with pytest.raises(KeyError):
        with broken.group():
            broken.all_reduce(total)
            raise KeyError("of the program's own")
    with pytest.raises(rondo.AbortedError):
        broken.barrier()


def messages(c):
    if c.size == 1:
        return
    following, before = (c.rank + 1) % c.size, (c.rank - 1) % c.size
    out = np.empty(5)
    sending = c.send(np.full(5, float(c.rank)), following, async_op=True)
    assert c.recv(out, before) == before and out[0] == before
    sending.wait()
    with c.group():
        c.send(np.full(5, c.rank + 10.0), following)
        c.recv(out, before)
        total = c.all_reduce(np.ones(3))
    assert out[0] == before + 10 and total[0] == c.size
    c.barrier()
    if c.rank == 0:
        sources = {c.recv(out) for _ in range(c.size - 1)}
        assert sources == set(range(1, c.size))
        c.barrier()  # no rank's second message is there before every first one
        late = c.recv(out, async_op=True)
        assert late.wait() == late.source() == c.size - 1
    else:
        c.send(out, 0)
        c.barrier()
        if c.rank == c.size - 1:
            c.send(out, 0)


def communicators(c):
    half = c.split(c.rank % 2, key=-c.rank)
    assert half.size == (c.size + 1 - c.rank % 2) // 2
    assert half.all_reduce(np.array([c.rank]))[0] == sum(rank for rank in range(c.size) if rank % 2 == c.rank % 2)
    alone = c.split(None if c.rank else 0)
    assert alone.size == 1 if c.rank == 0 else alone is None
    assert c.duplicate().all_reduce(np.ones(1))[0] == c.size
    copy = c.duplicate()
    if c.rank == 1:
        del copy  # and so is no survivor
    else:
        survivors = copy.shrink()
        assert survivors.size == max(1, c.size - 1) and survivors.all_reduce(np.ones(1))[0] == survivors.size
        with pytest.raises(ValueError, match="shrunk before"):
            copy.shrink()
        with pytest.raises(ValueError, match="accepted: more than"):
            survivors.grow(survivors.size, "job")
    symmetric = c.allocate((3, 4), "int32")
    assert symmetric.shape == (3, 4) and not symmetric.any()
    symmetric += c.rank + 1
    assert c.all_reduce(symmetric, out=symmetric)[2, 3] == c.size * (c.size + 1) // 2
    assert c.allocate(0).size == 0
    lists = [np.ones(3), np.ones((0,)), np.full((2, 2), 2.0)]
    c.all_reduce_fused(lists)
    assert lists[0][0] == c.size and lists[2][1, 1] == 2 * c.size
    c.set_timeout(30)


def what_is_known(c):
    plan = c.plan("all_reduce", np.ones(1000, "float32"))
    assert plan["collective"] == "all_reduce" and c.topology()["ranks"]
    c.start_trace()
    c.all_reduce(np.ones(10))
    events = c.stop_trace()
    timeline = json.loads(rondo.trace_file([events]))
    assert timeline["traceEvents"] and "all_reduce" in c.flight_record()


@pytest.mark.parametrize("body", [collectives, other_types, parts_of_different_lengths, started, forgotten, left, groups, messages, communicators, what_is_known])
def test_calls_give_what_each_rank_works_out_for_itself(body):
    everywhere(body)


def refused(kind, words, call):
    with pytest.raises(kind) as raised:
        call()
    assert all(word in str(raised.value) for word in words), f"{words} in: {raised.value}"


def nonsense(c):
    ones = np.ones((4, 3))
    read_only = np.ones(4)
    read_only.flags.writeable = False
    refused(ValueError, ["array is (3, 4) float64 and not contiguous", "ascontiguousarray"], lambda: c.all_reduce(ones.T))
    refused(ValueError, ["array is (4, 3) float64, out is (4,) float64", "12 elements"], lambda: c.all_reduce(ones, out=np.ones(4)))
    refused(TypeError, ["float64", "float32", "one type"], lambda: c.all_reduce(ones, out=np.ones((4, 3), "float32")))
    refused(TypeError, [], lambda: c.all_reduce(read_only, out=read_only))
    refused(TypeError, ["array is a list", "numpy"], lambda: c.all_reduce([1, 2, 3]))
    refused(TypeError, ["array is a list", "numpy"], lambda: c.all_reduce([1, 2, 3], out=np.empty(3)))
    refused(TypeError, ["memoryview", "out="], lambda: c.all_reduce(memoryview(ones)))
    refused(ValueError, ["is_conj", "resolve_conj"], lambda: c.all_reduce(torch.ones(2, dtype=torch.complex64).conj()))
    lazy = torch.ones(2, dtype=torch.complex64).conj()
    refused(ValueError, ["is_conj"], lambda: c.all_to_all_v(torch.ones(2, dtype=torch.complex64), [1, 1], [1, 1], out=lazy))
    refused(ValueError, ["is_neg"], lambda: c.all_gather(torch.ones(2, dtype=torch.complex64).conj().imag))
    refused(ValueError, ["color is -1"], lambda: c.split(-1))
    refused(ValueError, ["(-2, 3)"], lambda: c.allocate((-2, 3)))
    refused(ValueError, ["(5,)", f"{c.size} ranks"], lambda: c.reduce_scatter(np.ones(5)))
    refused(ValueError, ["median", "sum"], lambda: c.all_reduce(ones, "median"))
    refused(ValueError, ["band is not defined on f64"], lambda: c.all_reduce(ones, "band"))
    refused(TypeError, ["prod of (1,) complex128", "sum, avg"], lambda: c.all_reduce(np.ones(1, "complex128"), "prod"))
    refused(ValueError, ["root 7"], lambda: c.broadcast(ones, root=7))
    refused(ValueError, ["takes an out"], lambda: c.scatter(None, root=1 - c.rank))
    refused(ValueError, ["itself"], lambda: c.send(ones, c.rank))
    refused(ValueError, ["rows", "sent adds up to 3"], lambda: c.all_to_all_v(ones, [1, 2], [2, 2]))
    refused(ValueError, ["seconds is -1"], lambda: c.set_timeout(-1))
    refused(TypeError, ["unknown option 'speed'", "timeout"], lambda: rondo.Communicator.in_process(1, speed=9))
    refused(OSError, ["/nowhere"], lambda: c.use_plan("/nowhere/plan.json"))
    assert c.all_reduce(np.ones(1))[0] == c.size  # and all is well afterwards


def test_arguments_without_sense_are_refused_and_the_communicator_stays_usable():
    in_threads(2, nonsense)


def disagreeing(c):
    refused(rondo.MismatchError, ["all_reduce", f"rank {1 - c.rank}"], lambda: c.all_reduce(np.ones(4 + c.rank)))
    refused(rondo.MismatchError, [], c.barrier)
    refused(rondo.MismatchError, [], lambda: c.allocate(8))


def late(c):
    if c.rank == 1:
        return time.sleep(1)
    refused(TimeoutError, ["barrier", "rank 1"], c.barrier)


def given_up(c):
    work = c.recv(np.empty(1), 1 - c.rank, async_op=True)
    if c.rank == 0:
        refused(rondo.DeadlineError, [], lambda: work.wait(timeout=0.01))
        assert not work.done()  # rank 1 sends nothing
        c.abort()
    refused(rondo.AbortedError, ["abort()"], work.wait)


def test_what_passes_between_ranks_may_have_checksums():
    def body(c):
        for count in (1, 100_000):
            assert c.all_reduce(np.full(count, c.rank + 1.0)).tolist() == [3.0] * count
        assert c.plan("all_reduce", np.ones(1), np.ones(1))["protocol"] == "staged"

    in_threads(2, body, integrity=True)
    assert issubclass(rondo.CorruptedError, rondo.Error)


def test_failures_are_exceptions_that_say_what_happened():
    in_threads(2, disagreeing)
    in_threads(2, late, timeout=0.3)
    in_threads(2, given_up)


def test_the_commands_of_the_package_run():
    for name in ("rondo", "rondo-bench"):
        said = subprocess.run([Path(sys.executable).with_name(name), "--help"], capture_output=True, text=True, timeout=60)
        assert said.returncode == 0 and name in said.stdout, said.stdout + said.stderr


def test_nothing_is_loaded_before_it_is_asked_for():
    program = "import sys, rondo; print([m for m in sys.modules if m in ('numpy', 'torch', 'rondo._core')]); rondo.Communicator; print('rondo._core' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert said.stdout.split() == ["[]", "True"], said.stdout + said.stderr
    assert set(rondo.__all__) >= {"Communicator", "Error"} and all(hasattr(rondo, name) for name in rondo.__all__)
    refused(AttributeError, ["nothing_like_it"], lambda: rondo.nothing_like_it)
