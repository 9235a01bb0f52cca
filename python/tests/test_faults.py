"""What goes wrong becomes an exception that says what, on every rank; nothing hangs, and nothing crashes."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
import torch.distributed as dist
from ranks import expect, free_port, run


def product(tensor):
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp.PRODUCT
    dist.group.WORLD.allreduce([tensor], options)


def wrong_arguments(rank, size):
    ones = torch.ones(4)
    expect(TypeError, [f"all_reduce #1 on rank {rank}", "Float", "BAND", "accepted"], lambda: dist.all_reduce(ones.clone(), dist.ReduceOp.BAND))
    expect(TypeError, ["Float8", "SUM"], lambda: dist.all_reduce(ones.to(torch.float8_e5m2)))
    expect(TypeError, ["ComplexFloat", "PRODUCT"], lambda: product(ones.to(torch.complex64)))
    expect(TypeError, ["Bool", "AVG"], lambda: dist.all_reduce(ones.bool(), dist.ReduceOp.AVG))
    expect(ValueError, ["2 tensors"], lambda: dist.group.WORLD.allreduce([ones, ones.clone()]))
    expect(ValueError, ["10", "4"], lambda: dist.all_gather_into_tensor(torch.empty(5 * size), ones))
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    expect(ValueError, [f"all_reduce #1 on rank {rank}", "meta", "accepted: cpu"], lambda: backend.allreduce([ones.to("meta")], dist.AllreduceOptions()))
    expect(ValueError, [f"broadcast #1 on rank {rank}", f"root {size}"], lambda: dist.group.WORLD.broadcast(ones, size))
    expect(ValueError, [f"send on rank {rank}", f"to rank {rank}"], lambda: dist.group.WORLD.send([ones], rank, 0))
    expect(ValueError, ["rows"], lambda: dist.all_to_all_single(torch.empty(size + 1), torch.empty(size + 1)))
    expect(ValueError, ["splits", "add up"], lambda: dist.all_to_all_single(torch.empty(3), torch.empty(size), [1] * size, [1] * size))
    dist.all_reduce(ones)  # and all is well afterwards
    assert ones[0] == size


def test_arguments_without_sense_are_refused_and_the_group_stays_usable():
    run(2, wrong_arguments)


def mismatched(rank, size):
    tensor = torch.ones(4 + rank)
    expect(dist.DistBackendError, ["mismatch", "all_reduce", f"rank {1 - rank}"], lambda: dist.all_reduce(tensor))
    expect(dist.DistBackendError, ["mismatch"], lambda: dist.barrier())  # the group is over


def test_ranks_that_disagree_about_a_call_are_told_so():
    run(2, mismatched)


def other_tag(rank, size):
    message = torch.full((3,), float(rank))
    for tag in (5, 0, -1):
        if rank == 0:
            dist.send(message, 1, tag=tag)
        else:
            dist.recv(message, 0, tag=tag)
            assert message[0] == 0
    work = dist.isend(message, 1, tag=1) if rank == 0 else dist.irecv(message, 0, tag=2)

    def meet():
        work.wait()
        dist.barrier()  # small messages don't wait for their receivers

    expect(dist.DistBackendError, ["mismatch", "rank 0 called send_recv of 3 f32 with tag 1", "rank 1 called send_recv of 3 f32 with tag 2"], meet)


def test_a_message_that_is_received_with_another_tag_is_a_mismatch():
    run(2, other_tag)


def mismatched_later(rank, size):
    work = dist.all_reduce(torch.ones(4 + rank), async_op=True)
    future = work.get_future()
    expect(dist.DistBackendError, ["mismatch"], work.wait)
    expect(Exception, ["mismatch"], future.wait)
    assert work.is_completed() and not work.is_success()


def test_a_started_call_raises_where_it_is_waited_for():
    run(2, mismatched_later)


def late(rank, size):
    tensor = torch.ones(1 << 20)
    if rank == 1:
        time.sleep(1.5)
    sparse = torch.eye(3).to_sparse()
    of_sparse = dist.all_reduce(sparse, async_op=True)
    work = dist.all_reduce(tensor, async_op=True)
    if rank == 0:
        assert not work.is_completed() and not of_sparse.is_completed()
        expect(dist.DistBackendError, ["sparse_all_reduce #1 on rank 0", "not ended within a timeout of 100 ms"], lambda: of_sparse.wait(torch.distributed.distributed_c10d.timedelta(milliseconds=100)))
        expect(dist.DistBackendError, ["all_reduce #2 on rank 0", "not ended within a timeout of 200 ms"], lambda: work.wait(torch.distributed.distributed_c10d.timedelta(milliseconds=200)))
    work.wait()
    of_sparse.wait()
    assert tensor[0] == size and sparse.to_dense().equal(torch.eye(3) * size)


def test_a_wait_with_a_time_limit_ends_and_the_call_goes_on():
    run(2, late)


def never_comes(rank, size):
    if rank == 1:
        time.sleep(3)
        os._exit(0)
    options = dist.AllreduceOptions()
    options.timeout = dist.distributed_c10d.timedelta(milliseconds=400)
    options.asyncOp = False
    expect(dist.DistBackendError, ["deadline", "400 ms", "rank 1"], lambda: dist.group.WORLD.allreduce([torch.ones(3)], options))
    os._exit(0)


def test_a_rank_that_never_comes_is_named_when_the_call_s_own_time_is_up():
    run(2, never_comes)


def killed(rank, size):
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    expect(dist.DistBackendError, ["peer_failed", "rank 1"], lambda: [dist.all_reduce(torch.ones(100)) for _ in range(1000)])
    os._exit(0)


def test_survivors_of_a_killed_rank_name_it():
    with pytest.raises(AssertionError, match=r"ranks \[\] outlasted 120 s, ranks \[1\] failed\n$"):  # the killed one, and no other
        run(3, killed)


def dead_before_the_group(rank, size):
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.3)
    group = dist.new_group(list(range(size)))
    expect(dist.DistBackendError, ["rank 1"], lambda: dist.barrier(group=group))


def test_a_new_group_does_not_wait_for_a_rank_that_has_died():
    with pytest.raises(AssertionError, match=r"ranks \[\] outlasted 120 s, ranks \[1\] failed\n$"):
        run(3, dead_before_the_group)


@contextlib.contextmanager
def aborting(group):
    """The group is aborted while the body runs. Then the other rank is told, which waits in wait_for_abort()."""
    store = dist.distributed_c10d._get_default_store()
    aborter = threading.Timer(0.3, group._get_backend(torch.device("cpu")).abort)
    aborter.start()
    yield
    aborter.join()
    store.set("given up", "")
    store.wait(["heard"])  # the store is this rank's


def wait_for_abort():
    store = dist.distributed_c10d._get_default_store()
    store.wait(["given up"])
    store.set("heard", "")


def aborted_while_joining(rank, size):
    if rank == 1:  # comes to the new group when the other has given it up
        wait_for_abort()
        return
    group = dist.new_group(list(range(size)), use_local_synchronization=True)
    with aborting(group):
        expect(dist.DistBackendError, ["aborted before its ranks had found one another"], lambda: dist.all_reduce(torch.ones(3), group=group))


def test_an_abort_ends_the_wait_for_a_group_s_ranks():
    run(2, aborted_while_joining)


def aborted_while_running(rank, size):
    if rank == 1:  # comes when the other has given up
        wait_for_abort()
        expect(dist.DistBackendError, ["aborted"], lambda: dist.all_reduce(torch.ones(1 << 20)))
        return
    sparse = dist.all_reduce(torch.eye(3).to_sparse(), async_op=True)
    with aborting(dist.group.WORLD):
        expect(dist.DistBackendError, ["all_reduce #2 on rank 0", "aborted"], lambda: dist.all_reduce(torch.ones(1 << 20)))
        expect(dist.DistBackendError, ["sparse_all_reduce #1 on rank 0", "aborted|destroyed"], sparse.wait)


def test_an_abort_ends_what_is_running_on_all_ranks():
    run(2, aborted_while_running)


def with_another_timeout(rank, size):
    if rank == 1:
        time.sleep(3)
        os._exit(0)
    dist.group.WORLD._get_backend(torch.device("cpu")).set_timeout(dist.distributed_c10d.timedelta(milliseconds=400))
    expect(dist.DistBackendError, ["deadline", "400 ms", "rank 1"], lambda: dist.all_reduce(torch.ones(3)))
    os._exit(0)


def test_a_group_s_timeout_can_be_set_anew():
    run(2, with_another_timeout)


def in_detail(rank, size):
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    dist.init_process_group("rondo")
    tensor = torch.ones(4)
    dist.all_reduce(tensor)
    assert tensor[0] == size
    assert dist.group.WORLD._get_backend(torch.device("cpu"))._get_sequence_number_for_group() == 1
    expect(RuntimeError, ["Detected mismatch between collectives on ranks", "SequenceNumber=1"], lambda: dist.all_reduce(torch.ones(4 + rank)))


def test_torch_compares_calls_where_it_is_asked_to():
    """TORCH_DISTRIBUTED_DEBUG=DETAIL, for which torch makes a Gloo group of its own."""
    run(2, in_detail, backend=None)


def unlike_sparse(rank, size):
    side = 3 + 2 * rank
    tensor = torch.eye(side).to_sparse()
    said = [f"sparse_all_reduce #1 on rank {rank}", "sparse tensors that differ", f"rank {1 - rank} has", r"\[3, 3\] of Float", r"\[5, 5\]"]
    expect(dist.DistBackendError, said, lambda: dist.all_reduce(tensor))
    assert tensor.to_dense().equal(torch.eye(side))
    typed = torch.eye(3, dtype=torch.float64 if rank else torch.float32).to_sparse()
    expect(dist.DistBackendError, ["sparse tensors that differ", "Float", "Double"], lambda: dist.all_reduce(typed))
    alike = torch.eye(3).to_sparse()
    dist.all_reduce(alike)
    assert alike.to_dense().equal(torch.eye(3) * size)


def test_sparse_tensors_that_differ_between_ranks_are_refused_on_all():
    run(2, unlike_sparse)


UNFINISHED = """
import os, sys, time, torch, torch.distributed as dist
dist.init_process_group("rondo")
if dist.get_rank() == 0:
    work = dist.all_reduce(torch.ones(1000), async_op=True)
    work.get_future().then(lambda done: print("told"))
else:
    time.sleep(3)
"""


def test_a_program_may_end_with_work_in_flight(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(UNFINISHED)
    environment = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE="2")
    ranks = [subprocess.Popen([sys.executable, str(script)], env=dict(environment, RANK=str(rank)), stderr=subprocess.PIPE, text=True) for rank in range(2)]
    said = [rank.communicate(timeout=60)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said


def in_flight(rank, size, next_port):
    tensors = [torch.ones(1 << 20) for _ in range(5)]
    sparse = torch.eye(3).to_sparse()
    dist.all_reduce(sparse, async_op=True)
    for tensor in tensors:
        dist.all_reduce(tensor, async_op=True)
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    dist.destroy_process_group()
    for tensor in (torch.ones(3), torch.eye(3).to_sparse()):
        expect(dist.DistBackendError, ["all_reduce #7 on rank|all_reduce #8 on rank", "destroyed"], lambda: backend.allreduce([tensor], dist.AllreduceOptions()))
    assert sparse.to_dense().equal(torch.eye(3) * size)
    assert all(tensor[0] == size and tensor[-1] == size for tensor in tensors)
    os.environ["MASTER_PORT"] = str(next_port)  # at the old one rank 1 might still find the old store
    dist.init_process_group("rondo")
    dist.barrier()


def test_a_group_that_is_destroyed_ends_what_was_started_and_another_one_can_be_made():
    run(2, in_flight, free_port())


def two_threads(rank, size):
    groups = [dist.new_group(), dist.new_group()]
    wrong = []

    def many(group, count):
        for _ in range(300):
            tensor = torch.ones(count)
            dist.all_reduce(tensor, group=group)
            if tensor[-1] != size:
                wrong.append(tensor)

    threads = [threading.Thread(target=many, args=(group, count)) for group, count in zip(groups, (10, 5000))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_two_groups_are_used_by_two_threads():
    run(2, two_threads)


def waits_in_a_child(rank, size):
    if rank == 1:
        time.sleep(1.5)
    works = [dist.all_reduce(tensor, async_op=True) for tensor in (torch.ones(1 << 20), torch.eye(3).to_sparse())]
    if rank == 0:
        child = os.fork()
        if child == 0:
            for work in works:
                expect(dist.DistBackendError, ["on rank 0", "before this process was forked"], work.wait)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    for work in works:
        work.wait()


def test_what_was_started_before_a_fork_is_waited_for_by_the_parent_alone():
    run(2, waits_in_a_child)


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return float(index * index)


def with_workers(rank, size):
    for _ in range(2):
        total = sum(batch.sum() for batch in torch.utils.data.DataLoader(Squares(), batch_size=5, num_workers=2, multiprocessing_context="fork"))
        tensor = torch.tensor([float(total)])
        dist.all_reduce(tensor)
        assert tensor.item() == size * 2470


def test_workers_of_a_data_loader_are_forked_from_ranks():
    run(2, with_workers)


def futures(rank, size):
    """Started calls tell of their end; what is chained to them may start others."""
    first = torch.ones(10)
    second = torch.ones(20)
    chained = dist.all_reduce(first, async_op=True).get_future().then(lambda future: dist.all_reduce(second, async_op=True).get_future())
    inner = chained.wait()
    assert inner.wait()[0][0] == size and second[0] == size
    averaged = dist.all_reduce(torch.ones(5), async_op=True).get_future().then(lambda future: future.value()[0] / size).wait()
    assert torch.equal(averaged, torch.ones(5))


def test_futures_chain():
    run(2, futures)


def elsewhere(rank, size):
    """Another rank says through the store that it runs on another machine, as a second machine's would, and never comes."""
    store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), is_master=True)
    store.set("0//cpu//rondo/1/1", b"another kernel/another network/0\nfarhost\nanother space/1\n-")
    start = lambda: dist.init_process_group("rondo", store=store, rank=0, world_size=2, timeout=dist.distributed_c10d.timedelta(seconds=2))
    expect(dist.DistBackendError, ["could not find one another", "no sign of rank 1"], start)
    assert store.get("0//cpu//rondo/1/2").startswith(b"rondo1/")  # where rank 0 listened


def test_a_rank_on_another_machine_that_never_comes_is_named():
    run(1, elsewhere, backend=None)
