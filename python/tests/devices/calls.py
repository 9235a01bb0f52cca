"""What a group of two ranks must do with tensors of a device: functions of (rank, size, device)."""

import time

import torch
import torch.distributed as dist

HELD_UP_MS = 500  # a stream, by a kernel that does nothing
AT_ONCE_S = 0.4  # what no host waits for takes less
CYCLES_A_MS = 2_000_000  # of a GPU's clock, or a little less


def module_of(device):
    return torch.get_device_module(device)


def synchronize(device):
    module_of(device).synchronize()


def delay(device):
    """Holds the current stream up."""
    if device.type == "cuda":
        torch.cuda._sleep(HELD_UP_MS * CYCLES_A_MS)
    else:
        torch.madeup.delay(device, HELD_UP_MS)


def ranks_values(rank, count, device="cpu", dtype=torch.float32):
    return (torch.arange(count, device="cpu") % 7 + 10 * rank).to(dtype).to(device)


def same(got, expected, what):
    got = got.cpu()
    if got.dtype != expected.dtype or not torch.equal(got, expected):
        raise AssertionError(f"{what}: got {got}, expected {expected}")


def waited(work, asynchronous):
    if asynchronous:
        work.wait()


def all_reduces(rank, size, device):
    both = [ranks_values(r, 1000) for r in range(size)]
    expected = {
        dist.ReduceOp.SUM: both[0] + both[1],
        dist.ReduceOp.AVG: (both[0] + both[1]) / 2,
        dist.ReduceOp.MIN: torch.minimum(*both),
        dist.ReduceOp.MAX: torch.maximum(*both),
        dist.ReduceOp.PRODUCT: both[0] * both[1],
    }
    for asynchronous in (False, True):
        for op, right in expected.items():
            for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int32, torch.uint8):
                if op == dist.ReduceOp.AVG and not dtype.is_floating_point:
                    continue
                tensor = both[rank].to(dtype).to(device)
                waited(dist.all_reduce(tensor, op, async_op=asynchronous), asynchronous)
                same(tensor, right.to(dtype), f"{op} of {dtype}")
        for count in (0, 1, 200_000):
            tensor = ranks_values(rank, count, device)
            waited(dist.all_reduce(tensor, async_op=asynchronous), asynchronous)
            same(tensor, ranks_values(0, count) + ranks_values(1, count), f"{count} elements")
        premultiplied = both[rank].to(device)
        waited(dist.all_reduce(premultiplied, dist._make_nccl_premul_sum(0.5), async_op=asynchronous), asynchronous)
        same(premultiplied, (both[0] + both[1]) / 2, "premultiplied")
        truth = torch.tensor([rank == 0, rank == 1, False, True], device=device)
        waited(dist.all_reduce(truth, async_op=asynchronous), asynchronous)
        same(truth, torch.tensor([True, True, False, True]), "bool")
        for dtype in (torch.float32, torch.float16, torch.int64):  # lists, and a call for each
            several = [ranks_values(rank, n, device, dtype) for n in (3, 700, 1, 5000)]
            waited(dist.all_reduce_coalesced(several, async_op=asynchronous), asynchronous)
            for tensor in several:
                same(tensor, ranks_values(0, len(tensor), dtype=dtype) + ranks_values(1, len(tensor), dtype=dtype), f"coalesced, {dtype}")


def moves(rank, size, device):
    """Broadcast, gathers, scatters, all_to_all, reduce and reduce_scatter, each by the caller's stream and by the group's."""
    own = ranks_values(rank, 300)
    both = [ranks_values(r, 300) for r in range(size)]
    mine = own.to(device)

    def empty(count=300):
        return torch.full((count,), -1.0, device=device)

    for a in (False, True):
        tensor = mine.clone()
        waited(dist.broadcast(tensor, 1, async_op=a), a)
        same(tensor, both[1], "broadcast")
        tensor = mine.clone()
        waited(dist.reduce(tensor, 1, async_op=a), a)
        same(tensor, both[0] + both[1] if rank == 1 else own, "reduce")

        apart = [empty() for _ in range(size)]
        waited(dist.all_gather(apart, mine, async_op=a), a)
        same(torch.stack([t.cpu() for t in apart]), torch.stack(both), "all_gather")
        together = empty(600)
        waited(dist.all_gather(list(together.chunk(2)), mine, async_op=a), a)
        same(together, torch.cat(both), "all_gather into parts of one")
        together = empty(600)
        waited(dist.all_gather_into_tensor(together, mine, async_op=a), a)
        same(together, torch.cat(both), "all_gather_into_tensor")
        lists = [[empty(), empty(5)] for _ in range(size)]
        waited(dist.all_gather_coalesced(lists, [mine, mine[:5]], async_op=a), a)
        for r in range(size):
            same(lists[r][0], both[r], "all_gather_coalesced")
            same(lists[r][1], both[r][:5], "all_gather_coalesced")

        block = empty(150)
        waited(dist.reduce_scatter(block, [part.clone() for part in mine.chunk(2)], async_op=a), a)
        same(block, (both[0] + both[1]).chunk(2)[rank], "reduce_scatter")
        block = empty(150)
        waited(dist.reduce_scatter_tensor(block, mine, dist.ReduceOp.AVG, async_op=a), a)
        same(block, ((both[0] + both[1]) / 2).chunk(2)[rank], "reduce_scatter_tensor")

        outputs = [empty() for _ in range(size)] if rank == 0 else None
        waited(dist.gather(mine, outputs, 0, async_op=a), a)
        for r in range(size if rank == 0 else 0):
            same(outputs[r], both[r], "gather")
        output = empty()
        waited(dist.scatter(output, [mine, mine + 1] if rank == 0 else None, 0, async_op=a), a)
        same(output, both[0] + rank, "scatter")

        output = empty()
        waited(dist.all_to_all_single(output, mine, async_op=a), a)
        exchanged = torch.cat([b.chunk(2)[rank] for b in both])
        same(output, exchanged, "all_to_all_single")
        output = empty()
        waited(dist.all_to_all_single(output, mine, [150, 150], [150, 150], async_op=a), a)
        same(output, exchanged, "all_to_all_single with splits")
        # Rank 0 gives itself 100 and rank 1 200, which gives 250 and 50.
        splits = [[100, 200], [250, 50]]
        uneven = torch.cat([b.split(s)[rank] for b, s in zip(both, splits)])
        output = empty(len(uneven))
        waited(dist.all_to_all_single(output, mine, [s[rank] for s in splits], splits[rank], async_op=a), a)
        same(output, uneven, "all_to_all_single with uneven splits")
        outputs = [empty(s[rank]) for s in splits]
        waited(dist.all_to_all(outputs, list(mine.split(splits[rank])), async_op=a), a)
        same(torch.cat([t.cpu() for t in outputs]), uneven, "all_to_all of tensors of different lengths")
        outputs = [empty(150) for _ in range(size)]
        waited(dist.all_to_all(outputs, list(mine.chunk(2)), async_op=a), a)
        same(torch.cat([t.cpu() for t in outputs]), exchanged, "all_to_all")
    same(mine, own, "what was only read")


def coalesced(rank, size, device):
    """Those that functional collectives go by."""
    group = dist.group.WORLD
    mine, both = [ranks_values(rank, n, device) for n in (40, 6)], [[ranks_values(r, n) for n in (40, 6)] for r in range(size)]
    outputs = [torch.empty(80, device=device), torch.empty(12, device=device)]
    group.allgather_into_tensor_coalesced(outputs, mine).wait()
    for i, output in enumerate(outputs):
        same(output, torch.cat([both[0][i], both[1][i]]), "allgather_into_tensor_coalesced")
    outputs = [torch.empty(20, device=device), torch.empty(3, device=device)]
    group.reduce_scatter_tensor_coalesced(outputs, mine).wait()
    for i, output in enumerate(outputs):
        same(output, (both[0][i] + both[1][i]).chunk(2)[rank], "reduce_scatter_tensor_coalesced")


def strided(rank, size, device):
    """Tensors whose elements don't follow one another: by copies, on the stream that the call is on."""
    grid = [(ranks_values(r, 60) + 1).reshape(6, 10) for r in range(size)]
    given = grid[rank].to(device)
    for a in (False, True):
        tensor = torch.zeros(6, 10, device=device)
        delay(device)
        tensor.copy_(given)
        waited(dist.all_reduce(tensor.t(), async_op=a), a)
        same(tensor, grid[0] + grid[1], "all_reduce of a transposed one")
        tensor = grid[rank].to(device)
        waited(dist.all_reduce(tensor[:, 3], async_op=a), a)
        expected = grid[rank].clone()
        expected[:, 3] = grid[0][:, 3] + grid[1][:, 3]
        same(tensor, expected, "all_reduce of a column")
        output = torch.zeros(10, 12, device=device).t()
        waited(dist.all_gather_into_tensor(output, given.t().contiguous().t(), async_op=a), a)
        same(output, torch.cat(grid), "all_gather_into_tensor, column by column")
        columns = torch.zeros(12, 2, device=device)
        waited(dist.all_gather([columns[:6, 0], columns[6:, 1]], given[:, 4], async_op=a), a)
        same(torch.stack([columns[:6, 0].cpu(), columns[6:, 1].cpu()]), torch.stack([g[:, 4] for g in grid]), "all_gather into columns")


def order(rank, size, device):
    """What the caller's stream has before a call comes before it, what it gets after wait() behind it; and no host waits."""
    expected = ranks_values(0, 5000) + ranks_values(1, 5000)
    for asynchronous in (True, False):
        for _ in range(3):
            given, tensor, seen = ranks_values(rank, 5000, device), torch.zeros(5000, device=device), torch.zeros(5000, device=device)
            dist.all_reduce(tensor)  # streams and plans are there
            synchronize(device)
            began = time.monotonic()
            delay(device)
            tensor.copy_(given)
            work = dist.all_reduce(tensor, async_op=asynchronous)
            if asynchronous:
                assert not work.is_completed(), "it has ended before its input was there"
                work.wait()
            seen.copy_(tensor)
            took = time.monotonic() - began
            assert took < AT_ONCE_S, f"the host waited: {took} s"
            same(seen, expected, "what the stream saw behind the call")
            same(tensor, expected, "the sum")
            if asynchronous:
                assert work.is_completed() and work.is_success()


def order_of_streams(rank, size, device):
    """A call on the group's stream holds nothing up that doesn't wait for it; who waits on another stream than the caller's sees its result."""
    tensor, seen = ranks_values(rank, 5000, device), torch.zeros(5000, device=device)
    dist.all_reduce(torch.zeros(5000, device=device))
    side = torch.Stream(device)
    synchronize(device)
    began = time.monotonic()
    with side:
        delay(device)
        work = dist.all_reduce(tensor, async_op=True)
    module_of(device).current_stream().synchronize()
    assert time.monotonic() - began < AT_ONCE_S, "the default stream waits for a call that it has nothing to do with"
    work.wait()
    seen.copy_(tensor)
    same(seen, ranks_values(0, 5000) + ranks_values(1, 5000), "behind wait() on the default stream")


def overlap(rank, size, device):
    """What comes behind a started call on its caller's stream doesn't wait for it, nor for a rank that comes late."""
    tensor = ranks_values(rank, 5000, device)
    dist.all_reduce(torch.zeros(5000, device=device))
    synchronize(device)
    dist.barrier()
    if rank == 1:
        time.sleep(HELD_UP_MS / 1000)
    began = time.monotonic()
    work = dist.all_reduce(tensor, async_op=True)
    module_of(device).current_stream().synchronize()
    assert time.monotonic() - began < AT_ONCE_S, "the caller's stream waited for the call"
    work.wait()
    same(tensor, ranks_values(0, 5000) + ranks_values(1, 5000), "behind wait()")


def memory(rank, size, device):
    """Who forgets a call's tensors leaves them to it: what is taken next has other memory."""
    count = 5000
    dist.all_reduce(torch.zeros(count, device=device))
    values, nonsense = ranks_values(rank, count, device), torch.full((count,), -1.0, device=device)
    output, before, side = torch.zeros(2 * count, device=device), torch.zeros(1, device=device), torch.Stream(device)
    for _ in range(3):
        synchronize(device)
        with side:  # the group's stream is held up, this one isn't
            delay(device)
            dist.all_reduce(before, async_op=True)
        given = torch.empty(count, device=device)
        given.copy_(values)
        work = dist.all_gather_into_tensor(output, given, async_op=True)
        del given
        torch.empty(count, device=device).copy_(nonsense)
        work.wait()
        same(output, torch.cat([ranks_values(r, count) for r in range(size)]), "what was gathered from memory that nobody else has")


def mixed(rank, size, device):
    """A group's calls on the processor's memory and on the device's, side by side."""
    works, tensors = [], []
    for i in range(20):
        where = device if i % 2 else torch.device("cpu")
        tensors.append(ranks_values(rank, 100 + i, where))
        works.append(dist.all_reduce(tensors[-1], async_op=i % 3 != 0))
    for i, (work, tensor) in enumerate(zip(works, tensors)):
        if work is not None:
            work.wait()
        same(tensor, ranks_values(0, 100 + i) + ranks_values(1, 100 + i), f"call {i} on {tensor.device}")
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in range(size)]
    dist.barrier()


def groups(rank, size, device):
    """Groups made of the first have communicators of their own, or none where they have no use for one."""
    twin, alone = dist.new_group([0, 1]), [dist.new_group([r]) for r in range(size)][rank]
    for group, expected in ((twin, ranks_values(0, 50) + ranks_values(1, 50)), (alone, ranks_values(rank, 50))):
        for asynchronous in (False, True):
            tensor = ranks_values(rank, 50, device)
            waited(dist.all_reduce(tensor, group=group, async_op=asynchronous), asynchronous)
            same(tensor, expected, f"{group.size()} ranks")
    dist.destroy_process_group(twin)


def barriers(rank, size, device):
    """A barrier of the device waits for what its stream has, on all ranks, and its wait() for the host's part of it."""
    dist.barrier(device_ids=[device.index])
    synchronize(device)
    began = time.monotonic()  # before rank 0's stream is held up, however late this rank gets out of the barrier
    dist.barrier()
    if rank == 0:
        delay(device)
    dist.barrier(device_ids=[device.index])
    assert time.monotonic() - began > HELD_UP_MS / 1000 * 0.9, "a rank's stream was held up, and the barrier didn't wait"


def futures(rank, size, device):
    """A future is complete at once; what a callback does on its stream comes behind the call."""
    expected = ranks_values(0, 5000) + ranks_values(1, 5000)
    dist.all_reduce(torch.zeros(5000, device=device))
    for _ in range(3):
        tensor, seen, result = (torch.zeros(5000, device=device) for _ in range(3))
        given = ranks_values(rank, 5000, device)
        began = time.monotonic()
        delay(device)
        tensor.copy_(given)
        work = dist.all_reduce(tensor, async_op=True)
        chained = work.get_future().then(lambda future: seen.copy_(future.value()[0]))
        after = chained.wait()
        assert time.monotonic() - began < AT_ONCE_S, "the host waited"
        result.copy_(after)
        same(result, expected, "what a callback copied")
