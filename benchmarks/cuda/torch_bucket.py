#!/usr/bin/env python3
"""A fused bucket against what a program has in torch: 200 tensors of two lists averaged in place. Prints one JSON object.

torch_bucket.py [LIBRARY]: librondo.so, by default that of build/gpu.
"""

import ctypes
import json
import random
import sys
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
TENSORS, ROUNDS, ROTATED_BYTES, PATIENCE_S = 200, 15, 512 << 20, 20
FLOATS = {torch.float16: 0, torch.bfloat16: 1, torch.float32: 2}


class Lists(ctypes.Structure):
    """rondo_cuda_lists."""

    _fields_ = [("size", ctypes.c_uint64), ("counts", ctypes.POINTER(ctypes.c_uint64)), ("sources", ctypes.POINTER(ctypes.c_void_p)),
                ("destinations", ctypes.POINTER(ctypes.c_void_p)), ("tensor_count", ctypes.c_uint64), ("source_count", ctypes.c_uint32),
                ("destination_count", ctypes.c_uint32), ("source_type", ctypes.c_int), ("destination_type", ctypes.c_int), ("scale", ctypes.c_float)]


def by_rondo(library):
    def average(mine, other):
        count = len(mine)
        pointers = (ctypes.c_void_p * (2 * count))(*(tensor.data_ptr() for tensor in (*mine, *other)))
        counts = (ctypes.c_uint64 * count)(*(tensor.numel() for tensor in mine))
        kind = FLOATS[mine[0].dtype]
        lists = Lists(ctypes.sizeof(Lists), counts, pointers, pointers, count, 2, 1, kind, kind, 0.5)
        status = library.rondo_cuda_combine_lists(ctypes.byref(lists), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if status != 0:
            raise RuntimeError(library.rondo_last_error().decode())
    return average


def by_cat(mine, other):
    flat = torch.cat([tensor.view(-1) for tensor in mine])
    flat.add_(torch.cat([tensor.view(-1) for tensor in other])).mul_(0.5)
    torch._foreach_copy_(mine, list(flat.split([tensor.numel() for tensor in mine])))


def by_foreach(mine, other):
    torch._foreach_add_(mine, other)
    torch._foreach_mul_(mine, 0.5)


def by_foreach_lerp(mine, other):
    torch._foreach_lerp_(mine, other, 0.5)


def by_compiled():
    @torch.compile(dynamic=False)
    def averages(mine, other):
        torch._foreach_copy_(mine, [(one + two) * 0.5 for one, two in zip(mine, other)])
    return averages


def tensor_sizes(elements):
    """Some large and many small."""
    draw = random.Random(3)
    weights = [draw.uniform(1, 64) if draw.random() < 0.25 else draw.uniform(0.02, 1) for _ in range(TENSORS)]
    return [max(1, int(elements * weight / sum(weights))) for weight in weights]


def make_sets(total_bytes, dtype):
    sizes = tensor_sizes(total_bytes // dtype.itemsize)
    sets = max(2, ROTATED_BYTES // (2 * total_bytes))
    return [tuple([torch.rand(size, device="cuda").to(dtype) for size in sizes] for _ in range(2)) for _ in range(sets)]


def wrong_elements(average, mine, other):
    expected = [(one.double() + two.double()) * 0.5 for one, two in zip(mine, other)]
    average(mine, other)
    tolerance = {torch.float32: 1e-6, torch.bfloat16: 1e-2, torch.float16: 2e-3}[mine[0].dtype]
    return sum(int((~torch.isclose(one.double(), right, rtol=tolerance)).sum()) for one, right in zip(mine, expected))


def median_us(times):
    return 1e3 * sorted(times)[len(times) // 2]


def measure(total_bytes, dtype, library, until):
    """One bucket. torch.compile takes long for so many tensors: after `until` it isn't begun any more."""
    ways = {"rondo": by_rondo(library), "cat": by_cat, "foreach": by_foreach, "foreach_lerp": by_foreach_lerp}
    sets = make_sets(total_bytes, dtype)
    wrong = {name: wrong_elements(way, *sets[0]) for name, way in ways.items()}
    if time.monotonic() < until:
        compiled = by_compiled()
        try:
            wrong["compiled"] = wrong_elements(compiled, *sets[0])
            ways["compiled"] = compiled
        except Exception as failed:  # what torch.compile raises differs between versions; the others are measured all the same
            print(f"torch.compile: {failed}", file=sys.stderr)
    for way in ways.values():  # warm, and compiled for these tensors
        for k in range(3):
            way(*sets[k % len(sets)])
    graphs, times = {}, {name: [] for name in ways}
    for name, way in ways.items():  # of the GPU's work alone: the host's share of a call isn't what is compared
        graphs[name] = []
        for mine, other in sets:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                way(mine, other)
            graphs[name].append(graph)
    order = list(ways)
    for k in range(ROUNDS * len(sets)):
        random.shuffle(order)
        for name in order:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graphs[name][k % len(sets)].replay()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end))
    us = {name: median_us(taken) for name, taken in times.items()}
    best = min((name for name in us if name != "rondo"), key=us.get)
    return {"megabytes": total_bytes / 1e6, "tensors": TENSORS, "type": str(dtype), "us": us, "wrong": wrong, "best_of_torch": best,
            "best_of_torch_to_rondo": us[best] / us["rondo"]}


def main():
    library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/gpu/librondo.so"))
    library.rondo_last_error.restype = ctypes.c_char_p
    until = time.monotonic() + PATIENCE_S
    rows = [measure(bytes_, dtype, library, until) for bytes_ in (25_000_000, 250_000_000) for dtype in (torch.float32, torch.bfloat16)]
    print(json.dumps({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "buckets": rows}))


if __name__ == "__main__":
    main()
