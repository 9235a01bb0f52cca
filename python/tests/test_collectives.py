"""Every collective of the backend, on every type it takes, in the forms that torch has for it, against sums that each rank works out for itself."""

import time

import pytest
import torch
import torch.distributed as dist
from ranks import run

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
WHOLE = [torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.int64]
COMPLEX = [torch.complex64, torch.complex128]
SMALL_FLOATS = [torch.float8_e4m3fn, torch.float8_e5m2]
EVERYTHING = FLOATS + WHOLE + COMPLEX + SMALL_FLOATS + [torch.bool]


def values(rank, count, dtype, seed=0):
    """A rank's elements: small whole numbers, which every type adds up exactly."""
    generator = torch.Generator().manual_seed(1000 * seed + rank)
    whole = torch.randint(0, 4, (count,), generator=generator)
    if dtype.is_complex:
        return torch.complex(whole.double(), whole.flip(0).double()).to(dtype)
    return whole.to(dtype)


def inputs_of_all(size, count, dtype, seed=0):
    return [values(rank, count, dtype, seed) for rank in range(size)]


def combined(tensors, op):
    if tensors[0].dtype.is_complex:  # pairs of real numbers: torch divides complex ones in a way of its own
        return torch.view_as_complex(combined([torch.view_as_real(tensor) for tensor in tensors], op))
    wide = [t.to(torch.float64 if t.dtype.is_floating_point else torch.int64) for t in tensors]
    stack = torch.stack(wide)
    whole = not stack.is_floating_point()
    result = {
        dist.ReduceOp.SUM: lambda: stack.sum(0),
        dist.ReduceOp.AVG: lambda: stack.sum(0) // len(tensors) if whole else stack.sum(0) / len(tensors),
        dist.ReduceOp.PRODUCT: lambda: stack.prod(0),
        dist.ReduceOp.MIN: lambda: stack.amin(0),
        dist.ReduceOp.MAX: lambda: stack.amax(0),
    }[op]()
    return (result != 0).to(torch.bool) if tensors[0].dtype == torch.bool else result.to(tensors[0].dtype)


def same(got, expected, what):
    # the sums of fp8 and of unsigned 16-bit numbers aren't comparable in torch: their bytes are
    if got.shape != expected.shape or not torch.equal(got.contiguous().view(torch.uint8), expected.contiguous().view(torch.uint8)):
        raise AssertionError(f"{what}: got {got}, expected {expected}")


def all_reduces(rank, size):
    ops = [dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX]
    for dtype in FLOATS + WHOLE + COMPLEX + [torch.bool]:
        for op in ops:
            if (dtype.is_complex and op not in (dist.ReduceOp.SUM, dist.ReduceOp.AVG)) or (dtype == torch.bool and op == dist.ReduceOp.AVG):
                continue
            for count in (0, 1, 7, 1000, 40_000):
                if count == 40_000 and dtype not in (torch.float32, torch.int16):
                    continue
                given = inputs_of_all(size, count, dtype)
                for asynchronous in (False, True):
                    tensor = given[rank].clone()
                    work = dist.all_reduce(tensor, op, async_op=asynchronous)
                    if asynchronous:
                        work.wait()
                    same(tensor, combined(given, op), f"{op} of {count} {dtype}")


def bits(rank, size):
    for dtype in WHOLE + [torch.bool]:
        given = inputs_of_all(size, 100, dtype)
        for op, combine in (
            (dist.ReduceOp.BAND, torch.Tensor.bitwise_and),
            (dist.ReduceOp.BOR, torch.Tensor.bitwise_or),
            (dist.ReduceOp.BXOR, torch.Tensor.bitwise_xor),
        ):
            expected = given[0].to(torch.bool if dtype == torch.bool else torch.int64)
            for other in given[1:]:
                expected = combine(expected, other.to(expected.dtype))
            tensor = given[rank].clone()
            dist.all_reduce(tensor, op)
            same(tensor, expected.to(dtype), f"{op} of {dtype}")


def premultiplied(rank, size):
    for factor in (2.0, torch.tensor([2.0])):
        tensor = torch.full((50,), float(rank + 1))
        dist.all_reduce(tensor, dist._make_nccl_premul_sum(factor))
        same(tensor, torch.full((50,), float(size * (size + 1))), "premul_sum")


def reduces(rank, size):
    for root in range(size):
        given = inputs_of_all(size, 300, torch.float32, seed=root)
        tensor = given[rank].clone()
        dist.reduce(tensor, root)
        if rank == root:
            same(tensor, combined(given, dist.ReduceOp.SUM), f"reduce to {root}")


def reduce_scatters(rank, size):
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        given = inputs_of_all(size, 12 * size, dtype)
        expected = combined(given, dist.ReduceOp.SUM).view(size, 12)[rank]
        output = torch.empty(12, dtype=dtype)
        dist.reduce_scatter_tensor(output, given[rank])
        same(output, expected, "reduce_scatter_tensor")
        blocks = list(given[rank].view(size, 12))
        apart = [block.clone() for block in blocks]
        for form in (blocks, apart):
            output = torch.empty(12, dtype=dtype)
            dist.reduce_scatter(output, form)
            same(output, expected, "reduce_scatter")
        average = torch.empty(12, dtype=dtype)
        dist.reduce_scatter_tensor(average, given[rank], dist.ReduceOp.AVG)
        same(average, combined(given, dist.ReduceOp.AVG).view(size, 12)[rank], "reduce_scatter_tensor by avg")


def broadcasts(rank, size):
    for dtype in EVERYTHING:
        for root in range(size):
            expected = values(root, 33, dtype, seed=5)
            tensor = values(rank, 33, dtype, seed=5)
            dist.broadcast(tensor, root)
            same(tensor, expected, f"broadcast of {dtype} from {root}")


def gathers(rank, size):
    for dtype in EVERYTHING:
        given = inputs_of_all(size, 21, dtype)
        output = torch.empty(21 * size, dtype=dtype)
        dist.all_gather_into_tensor(output, given[rank])
        same(output, torch.cat(given), f"all_gather_into_tensor of {dtype}")
        apart = [torch.empty(21, dtype=dtype) for _ in range(size)]
        together = list(torch.empty(21 * size, dtype=dtype).view(size, 21))
        for form in (apart, together):
            dist.all_gather(form, given[rank])
            for got, expected in zip(form, given):
                same(got, expected, f"all_gather of {dtype}")
        for root in range(size):
            lists = [torch.empty(21, dtype=dtype) for _ in range(size)] if rank == root else None
            dist.gather(given[rank], lists, dst=root)
            for got, expected in zip(lists or [], given):
                same(got, expected, f"gather of {dtype}")
            output = torch.empty(21, dtype=dtype)
            dist.scatter(output, given if rank == root else None, src=root)
            same(output, given[rank], f"scatter of {dtype}")


def with_strides(count):
    return torch.empty(2 * count)[::2]


def lists(rank, size):
    """Tensors of a list that lie apart, one behind the other, among the other argument, that have strides, or that are one tensor several times."""
    for count in (3, 1000, 300_000):
        given = inputs_of_all(size, count, torch.float32)
        blocks = inputs_of_all(size, count, torch.float32, seed=3)  # every root's, and all the same everywhere
        forms = {
            "apart": lambda: [torch.empty(count) for _ in range(size)],
            "together": lambda: list(torch.empty(size, count)),
            "reversed": lambda: list(torch.empty(size, count))[::-1],
            "with strides": lambda: [with_strides(count) for _ in range(size)],
            "some with strides": lambda: [with_strides(count) if r % 2 else torch.empty(count) for r in range(size)],
        }
        for name, form in forms.items():
            for asynchronous in (False, True):
                for own, place in (("apart", None), ("its own block", rank), ("another's block", (rank + 1) % size)):
                    outputs, inputs = form(), form()
                    for block, value in zip(inputs, blocks):
                        block.copy_(value)
                    mine = given[rank].clone() if place is None else outputs[place].copy_(given[rank])
                    part = torch.empty(count) if place is None else inputs[place]
                    what = f"of {count} in tensors {name}, {own}"
                    works = [dist.all_gather(outputs, mine, async_op=asynchronous)]
                    if asynchronous:
                        works[0].wait()
                    for got, expected in zip(outputs, given):
                        same(got, expected, f"all_gather {what}")
                    works.append(dist.scatter(part, inputs if rank == 1 else None, src=1, async_op=asynchronous))
                    if asynchronous:
                        works[1].wait()
                    same(part, blocks[rank], f"scatter {what}")
                    for block, value in zip(inputs, blocks):
                        block.copy_(value)
                    works.append(dist.reduce_scatter(part, inputs, async_op=asynchronous))
                    if asynchronous:
                        works[2].wait()
                    same(part, blocks[rank] * size, f"reduce_scatter {what}")
                    gathered = form() if rank == 0 else None
                    works.append(dist.gather(given[rank], gathered, async_op=asynchronous))
                    if asynchronous:
                        works[3].wait()
                    for got, expected in zip(gathered or [], given):
                        same(got, expected, f"gather {what}")
        repeated = [torch.empty(count)] * size
        dist.all_gather(repeated, given[rank])
        same(repeated[0], given[-1], f"all_gather of {count} into one tensor again and again")
        summed = torch.empty(count)
        dist.reduce_scatter(summed, [given[rank]] * size)
        same(summed, combined(given, dist.ReduceOp.SUM), f"reduce_scatter of {count} of one tensor again and again")


def all_to_alls(rank, size):
    for dtype in EVERYTHING:
        given = [values(sender, 5 * size, dtype) for sender in range(size)]
        output = torch.empty(5 * size, dtype=dtype)
        dist.all_to_all_single(output, given[rank])
        same(output, torch.cat([g[5 * rank : 5 * rank + 5] for g in given]), f"all_to_all_single of {dtype}")
        # rank r sends r + s + 1 rows of 3 to rank s
        rows = [[sender + receiver + 1 for receiver in range(size)] for sender in range(size)]
        sent = [values(sender, 3 * sum(rows[sender]), dtype).view(-1, 3) for sender in range(size)]
        parts = [sent[sender].split(rows[sender])[rank] for sender in range(size)]
        output = torch.empty(sum(part.shape[0] for part in parts), 3, dtype=dtype)
        dist.all_to_all_single(output, sent[rank], [part.shape[0] for part in parts], rows[rank])
        same(output, torch.cat(parts), f"all_to_all_single of {dtype} with splits")
        outputs = [torch.empty_like(part) for part in parts]
        dist.all_to_all(outputs, [part.clone() for part in sent[rank].split(rows[rank])])
        for got, expected in zip(outputs, parts):
            same(got, expected, f"all_to_all of {dtype}")


def strided(rank, size):
    given = inputs_of_all(size, 60, torch.float32)
    expected = combined(given, dist.ReduceOp.SUM).view(6, 10)
    for asynchronous in (False, True):
        tensor = given[rank].clone().view(6, 10).t().contiguous().t()  # the same elements, by columns
        work = dist.all_reduce(tensor, async_op=asynchronous)
        if asynchronous:
            work.get_future().wait()
        same(tensor, expected, "all_reduce by columns")
    wide = torch.zeros(6, 20)
    wide[:, ::2] = given[rank].view(6, 10)
    dist.all_reduce(wide[:, ::2])
    same(wide[:, ::2].contiguous(), expected, "all_reduce of every other column")
    assert not wide[:, 1::2].any(), "what lies between was written"
    every_other = torch.zeros(2 * 60 * size)[::2]
    dist.all_gather_into_tensor(every_other, given[rank].view(6, 10).t().contiguous().t().reshape(-1))
    same(every_other.contiguous(), torch.cat(given), "all_gather into every other element")


def sparse(rank, size):
    dense = [torch.zeros(8, 3) for _ in range(size)]
    for owner in range(size):
        dense[owner][owner] = owner + 1.0
        dense[owner][7] = 1.0
    tensor = dense[rank].to_sparse(1)
    dist.all_reduce(tensor)
    same(tensor.to_dense(), sum(dense), "all_reduce of sparse tensors")
    started = [dense[rank].mul(factor).to_sparse(1) for factor in (1, 2)]
    works = [dist.all_reduce(each, async_op=True) for each in started]
    between = torch.ones(5)
    dist.all_reduce(between)
    futures = [work.get_future() for work in works]
    works[1].wait()
    same(futures[0].wait()[0].to_dense(), sum(dense), "all_reduce of sparse tensors that was started")
    same(started[1].to_dense(), sum(dense) * 2, "the second one")
    same(between, torch.full((5,), float(size)), "all_reduce while sparse ones are under way")


def coalesced(rank, size):
    shapes = [(3,), (0,), (2, 5), (1000,)]
    given = [[values(r, torch.Size(shape).numel(), torch.float32, seed=i).view(shape) for i, shape in enumerate(shapes)] for r in range(size)]
    tensors = [tensor.clone() for tensor in given[rank]]
    work = dist.distributed_c10d._get_default_group().allreduce_coalesced(tensors, dist.AllreduceCoalescedOptions())
    work.wait()
    for i, tensor in enumerate(tensors):
        same(tensor, combined([g[i] for g in given], dist.ReduceOp.SUM), "all_reduce_coalesced")
    outputs = [torch.empty(size * 4), torch.empty(size * 6)]
    inputs = [torch.full((4,), float(rank)), torch.full((6,), float(rank))]
    with dist._coalescing_manager(async_ops=True) as manager:
        for output, given_here in zip(outputs, inputs):
            dist.all_gather_into_tensor(output, given_here)
    manager.wait()
    for output in outputs:
        same(output, torch.arange(float(size)).repeat_interleave(output.numel() // size), "all_gather, coalesced")


def objects(rank, size):
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank, "text": "x" * (100 * rank)})
    assert [item["rank"] for item in gathered] == list(range(size))
    broadcast = [rank, "from", rank]
    dist.broadcast_object_list(broadcast, src=size - 1)
    assert broadcast == [size - 1, "from", size - 1]
    scattered = [None]
    dist.scatter_object_list(scattered, [f"for {r}" for r in range(size)] if rank == 0 else None, src=0)
    assert scattered == [f"for {rank}"]


def messages(rank, size):
    following, before = (rank + 1) % size, (rank - 1) % size
    sent = torch.arange(100) + rank
    received = torch.empty(100, dtype=torch.int64)
    works = [dist.isend(sent, following), dist.irecv(received, before)]
    for work in works:
        work.wait()
    same(received, torch.arange(100) + before, "a message from the rank before")
    big = torch.full((1_000_000,), float(rank))
    other = torch.empty(1_000_000)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, big, following), dist.P2POp(dist.irecv, other, before)]):
        work.wait()
    same(other, torch.full((1_000_000,), float(before)), "a large message in a batch")
    if rank == 0:
        senders = set()
        for _ in range(size - 1):
            value = torch.empty(1)
            source = dist.recv(value)
            assert value.item() == source
            senders.add(source)
        assert senders == set(range(1, size))
    else:
        dist.send(torch.tensor([float(rank)]), 0)


def groups(rank, size):
    evens = dist.new_group(list(range(0, size, 2)))
    pairs = [dist.new_group([a, a + 1]) for a in range(size - 1)]
    for _ in range(3):
        if rank % 2 == 0:
            tensor = torch.ones(10)
            dist.all_reduce(tensor, group=evens)
            same(tensor, torch.full((10,), float((size + 1) // 2)), "all_reduce of the even ranks")
        for a, pair in enumerate(pairs):
            if rank in (a, a + 1):
                tensor = torch.tensor([float(rank)])
                dist.all_reduce(tensor, group=pair)
                assert tensor.item() == 2 * a + 1
    dist.destroy_process_group(evens)
    again = dist.new_group(list(range(0, size, 2)))
    # a message as a group's first operation, which the others have no part in: they leave at once, perhaps before a late one has joined
    if rank == 0:
        time.sleep(1)
    everybody = dist.new_group()
    if rank == 0:
        dist.send(torch.ones(1), size - 1, group=everybody)
    elif rank == size - 1:
        dist.recv(torch.empty(1), 0, group=everybody)
    if rank % 2 == 0:
        dist.barrier(group=again)


def profiled(rank, size):
    for asynchronous in (False, True):
        with torch.profiler.profile() as profile:
            work = dist.all_reduce(torch.ones(3, 5), async_op=asynchronous)
            if asynchronous:
                work.wait()
        seen = [event for event in profile.events() if event.name == "rondo:all_reduce"]
        assert len(seen) == 1, [event.name for event in profile.events()]


BODIES = [profiled, all_reduces, bits, premultiplied, reduces, reduce_scatters, broadcasts, gathers, lists, all_to_alls, strided, sparse, coalesced, objects, messages, groups]


def each(rank, size):
    for body in BODIES:
        try:
            body(rank, size)
        except Exception as wrong:
            raise AssertionError(f"in {body.__name__}") from wrong


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_collective_gives_what_each_rank_works_out_for_itself(size):
    if size == 1:
        run(1, alone)
    else:
        run(size, each)


def available_gib():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) / 2**20


def long_tensors(rank, size):
    count = 2**32 + 5
    places = [0, 2**31, 2**32 - 1, 2**32, count - 1]
    tensor = torch.full((count,), rank + 1, dtype=torch.uint8)
    dist.all_reduce(tensor)
    assert tensor[places].tolist() == [3] * len(places) and int(tensor.max()) == int(tensor.min()) == 3
    tensor.fill_(rank)
    work = dist.broadcast(tensor, 1, async_op=True)
    work.wait()
    assert int(tensor.max()) == int(tensor.min()) == 1


@pytest.mark.skipif(available_gib() < 12, reason="two ranks with 4 GiB each, and room beside them")
def test_tensors_of_more_than_4_gib():
    run(2, long_tensors)


def alone(rank, size):
    """A group of one."""
    for body in (all_reduces, reduces, reduce_scatters, broadcasts, gathers, all_to_alls, objects):
        body(rank, size)
