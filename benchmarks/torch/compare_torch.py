"""Backends of torch.distributed side by side: Rondo, Gloo, and torch's own fake, which does nothing and so shows what torch itself costs.

compare_torch.py [--ranks 2] [--ops all_reduce,...] [--sizes 4,1K,...] [--backends rondo,gloo,fake,bf16,deepspeed,mapped,openmpi,operator,pass,ring,turns]
                 [--rounds 11] [--out FILE.json]
                 [--network [--hosts 2] [--interfaces 1] [--rate 1gbit]]

Every round measures each backend in turn on the same tensors (f32, in place for all_reduce, as DistributedDataParallel has them): calls that are waited for, one
after another. A time is the slowest rank's per call. Ratios are medians of those within a round, with a 95 % bootstrap interval. The operations that end in
_step are training steps of a 25 MB model (steps.py); what communication adds to one is what it takes beyond the same step on `fake`. Exit 0: measured; 1: a
failure or a wrong result; 2: wrong flag. Run by `tools/compare --torch`.

With --network equal parts of the ranks are on two hosts, or --hosts of them, which are network name spaces of this machine (root makes them) with a cable between them, or cables to a
switch, of --rate where that is given, for each of their --interfaces; all backends may use all of these. The processors are dealt out to the hosts, so that ranks of one host share no processor with those of the other. iperf3 sends both ways at once before and after, and all_reduce's bytes each way are set against it,
as many times as there are interfaces.
"""

import argparse
import contextlib
import json
import os
import pathlib
import pickle
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "compare"), str(HERE.parents[1] / "tools" / "support")]

import hosts  # noqa: E402
import machine  # noqa: E402
import peers  # noqa: E402
import ratios  # noqa: E402
import steps  # noqa: E402

BACKENDS = ("rondo", "gloo", "fake")
REDUCING = ("rondo", "gloo", "deepspeed", "openmpi", "ring")  # the others do less, and show what that takes
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
BLOCK_SECONDS = 0.03  # of one backend in one round, as far as three calls allow
MOST_CALLS = 2000
JOB = "RONDO_COMPARE_JOB"  # a file with what a rank that mpirun starts has to do


def bytes_of(text):
    number, unit = (text[:-1], UNITS[text[-1].upper()]) if text[-1:].upper() in UNITS else (text, 1)
    if not number.isdigit() or int(number) * unit < 4:
        raise argparse.ArgumentTypeError(f"size '{text}'; accepted: 4 or more bytes, with K, M or G behind the number")
    return int(number) * unit


def all_reduce(dist, tensor, group):
    """By a group, or by a peer that is a call of its own."""
    return group(tensor) if callable(group) else dist.all_reduce(tensor, group=group)


def calls(dist, torch, size, total_bytes):
    """{operation: a call of it, with a group}; `total_bytes` is its larger buffer."""
    count = max(1, total_bytes // 4)
    block = max(1, count // size)
    whole, part, other, given = torch.zeros(count), torch.zeros(block), torch.zeros(block * size), torch.zeros(block * size)
    parts, others = [[torch.zeros(block) for _ in range(size)] for _ in range(2)]  # memory of its own for each, as programs have it
    return {
        "all_reduce": lambda group: all_reduce(dist, whole, group),
        "broadcast": lambda group: dist.broadcast(whole, 0, group=group),
        "reduce": lambda group: dist.reduce(whole, 0, group=group),
        "all_gather": lambda group: dist.all_gather_into_tensor(other, part, group=group),
        "reduce_scatter": lambda group: dist.reduce_scatter_tensor(part, other, group=group),
        "all_to_all": lambda group: dist.all_to_all_single(other, given, group=group),
        "all_gather_list": lambda group: dist.all_gather(parts, part, group=group),
        "reduce_scatter_list": lambda group: dist.reduce_scatter(part, parts, group=group),
        "all_to_all_list": lambda group: dist.all_to_all(others, parts, group=group),
        "gather": lambda group: dist.gather(part, parts if dist.get_rank() == 0 else None, 0, group=group),
        "scatter": lambda group: dist.scatter(part, parts if dist.get_rank() == 0 else None, 0, group=group),
        "barrier": lambda group: dist.barrier(group=group),
        **steps.calls(torch),
    }


def has_sizes(operation):
    return operation != "barrier" and not operation.endswith("_step")


def check(dist, torch, group, size, rank):
    """A right sum, once, before anything is measured."""
    tensor = torch.arange(1000.0) + rank
    all_reduce(dist, tensor, group)
    if not torch.equal(tensor, torch.arange(1000.0) * size + size * (size - 1) / 2):
        raise SystemExit("a wrong sum")


def measure(dist, call, group, number):
    """µs per call on this rank, of so many calls."""
    dist.barrier()  # Gloo's, as the default group is
    begin = time.perf_counter()
    for _ in range(number):
        call(group)
    return (time.perf_counter() - begin) / number * 1e6


def iperf_bytes_per_second(made):
    """Each way, while both send."""
    server = subprocess.Popen([*made[1].inside, "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    client = [*made[0].inside, "iperf3", "-c", made[1].address, "-t", "3", "--bidir", "-J"]
    said = json.loads(subprocess.run(client, capture_output=True, text=True, check=True).stdout)["end"]
    server.wait()
    return min(said["sum_received"]["bits_per_second"], said["sum_received_bidir_reverse"]["bits_per_second"]) / 8


@contextlib.contextmanager
def network(given):
    """The hosts, or none where none are asked for."""
    if not given.network:
        yield []
        return
    with hosts.several_hosts(given.hosts, given.interfaces) as made:
        for host in made if given.rate else []:
            for interface in host.interfaces:
                shape = ["tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate", given.rate, "burst", "128k", "latency", "20ms"]
                subprocess.run([*host.inside, *shape], check=True)
        yield made


def processors_of(rank, given, made):
    """One for each rank as far as they go; of hosts each has its part."""
    processors = sorted(os.sched_getaffinity(0))
    if made:
        host = rank * len(made) // given.ranks
        part = len(processors) // len(made)
        processors = processors[host * part : (host + 1) * part] if part else [processors[host % len(processors)]]
    return {processors[rank % len(processors)]}


def rank_main(rank, given, port, results, made):
    host = made[rank * len(made) // given.ranks] if made else None
    if host:
        host.enter()
        os.environ["GLOO_SOCKET_IFNAME"] = os.environ["RONDO_NET_INTERFACES"] = ",".join(host.interfaces)
    import torch
    import torch.distributed as dist
    import torch.testing._internal.distributed.fake_pg  # noqa: F401, makes "fake" known

    os.environ.update(MASTER_ADDR=made[0].address if made else "127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    os.sched_setaffinity(0, processors_of(rank, given, made))
    dist.init_process_group("gloo", rank=rank, world_size=given.ranks)
    groups = {backend: peers.make(backend, dist, given.ranks, rank) if backend in peers.PEERS else dist.new_group(list(range(given.ranks)), backend=backend)
              for backend in given.backends}
    for backend, group in groups.items():
        if backend in REDUCING:
            check(dist, torch, group, given.ranks, rank)
    rows = []
    for operation in given.ops:
        for size in given.sizes if has_sizes(operation) else [4]:
            call = calls(dist, torch, given.ranks, size)[operation]
            number = {}
            for backend, group in groups.items():  # how often, agreed on
                trial = torch.tensor([min(measure(dist, call, group, 3) for _ in range(2))])
                dist.all_reduce(trial, dist.ReduceOp.MAX)
                number[backend] = min(MOST_CALLS, max(3, int(BLOCK_SECONDS * 1e6 / trial.item())))
            for turn in range(given.rounds):
                for backend in given.backends[turn % len(given.backends) :] + given.backends[: turn % len(given.backends)]:
                    slowest = torch.tensor([measure(dist, call, groups[backend], number[backend])], dtype=torch.float64)
                    dist.all_reduce(slowest, dist.ReduceOp.MAX)
                    rows.append({"operation": operation, "bytes": size, "backend": backend, "round": turn, "time_us": slowest.item()})
    if rank == 0:
        pathlib.Path(results).write_text(json.dumps(rows))
    dist.destroy_process_group()


def start_ranks(given, port, results, made, folder):
    """All of them, to their end; by mpirun where Open MPI is among what is compared, since only its ranks can be its."""
    if "openmpi" not in given.backends:
        import torch.multiprocessing as multiprocessing

        multiprocessing.spawn(rank_main, (given, port, results, made), nprocs=given.ranks)
        return
    job = pathlib.Path(folder) / "job"
    job.write_bytes(pickle.dumps((given, port, results, made)))
    command = [*peers.mpirun(folder, given.ranks, made), sys.executable, __file__]
    if subprocess.run(command, env={**os.environ, JOB: str(job)}).returncode != 0:
        raise SystemExit("mpirun failed")


def rank_of_mpirun():
    """One of the above: mpirun's own variables are for MPI alone."""
    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    rank_main(rank, *pickle.loads(pathlib.Path(os.environ.pop(JOB)).read_bytes()))


def summarize(rows, backends):
    """One entry an operation and size: medians, and Rondo's ratios to the others."""
    cells = {}
    for row in rows:
        cells.setdefault((row["operation"], row["bytes"]), {}).setdefault(row["backend"], {})[row["round"]] = row["time_us"]
    summary = []
    for (operation, size), cell in cells.items():
        entry = {"operation": operation, "bytes": size, "time_us": {backend: statistics.median(cell[backend].values()) for backend in cell}}
        if operation.endswith("_step") and {"rondo", "gloo", "fake"} <= set(cell):
            added = {backend: {turn: cell[backend][turn] - cell["fake"][turn] for turn in cell[backend]} for backend in ("rondo", "gloo")}
            entry["added_us"] = {backend: statistics.median(times.values()) for backend, times in added.items()}
            entry["added_to_gloos"] = ratios.paired(added["rondo"], added["gloo"])
        entry["rondo_to"] = {backend: ratios.paired(cell["rondo"], cell[backend]) for backend in backends if backend != "rondo" and "rondo" in cell}
        summary.append(entry)
    return summary


def table(summary, backends):
    others = [backend for backend in backends if backend != "rondo"]
    heading = f"{'operation':>16} {'bytes':>10}" + "".join(f"{backend + ' µs':>12}" for backend in backends)
    lines = [heading + "".join(f"{'rondo/' + other:>24}" for other in others)]
    for entry in summary:
        line = f"{entry['operation']:>16} {entry['bytes']:>10}" + "".join(f"{entry['time_us'][backend]:>12.2f}" for backend in backends)
        for other in others:
            ratio = entry["rondo_to"].get(other)
            line += f"{ratio['ratio']:>9.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]".rjust(24) if ratio else f"{'-':>24}"
        lines.append(line)
        if entry.get("added_to_gloos"):
            added, ratio = entry["added_us"], entry["added_to_gloos"]
            lines.append(f"{'':>16} communication adds {added['rondo']:.0f} µs on Rondo and {added['gloo']:.0f} on Gloo: {ratio['ratio']:.3f} "
                         f"[{ratio['low']:.3f}, {ratio['high']:.3f}]")
    return "\n".join(lines)


def against_iperf(summary, floor, count):
    """What of iperf3's bytes each way an all_reduce of large tensors reaches: each of h hosts has to send 2 (h - 1) / h of them."""
    lines = [f"iperf3, both ways at once, over all interfaces: {floor / 1e9:.3f} GB/s each way"]
    for entry in summary:
        if entry["operation"] == "all_reduce" and entry["bytes"] >= 1 << 20:
            reached = {backend: 2 * (count - 1) / count * entry["bytes"] / time_us * 1e6 / floor for backend, time_us in entry["time_us"].items() if backend in ("rondo", "gloo", "openmpi", "ring", "bf16")}
            lines.append(f"all_reduce of {entry['bytes']} bytes: " + ", ".join(f"{backend} {part:.2f} of it" for backend, part in reached.items()))
    return "\n".join(lines)


def main():
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--ranks", type=int, default=2)
    flags.add_argument("--ops", type=lambda text: text.split(","), default=["all_reduce"])
    flags.add_argument("--sizes", type=lambda text: [bytes_of(size) for size in text.split(",")], default="4,64,1K,4K,16K,256K,4M,64M")
    flags.add_argument("--backends", type=lambda text: text.split(","), default=list(BACKENDS))
    flags.add_argument("--rounds", type=int, default=11)
    flags.add_argument("--network", action="store_true", help="between hosts")
    flags.add_argument("--hosts", type=int, default=2, help="how many: 2 to 16")
    flags.add_argument("--interfaces", type=int, default=1, help="of each host: 1 to 8")
    flags.add_argument("--rate", help="of the cable between them, as tc takes it: 100mbit, 1gbit")
    flags.add_argument("--out", type=pathlib.Path, help="also as JSON, with the machine and all rounds")
    given = flags.parse_args()
    unknown = [name for name in given.backends if name not in BACKENDS + peers.PEERS]
    if unknown:
        flags.error(f"--backends: unknown '{unknown[0]}'; accepted: {', '.join(BACKENDS + peers.PEERS)}")
    alone = [name for name in given.backends if name in peers.PEERS]
    if alone and given.ops != ["all_reduce"]:
        flags.error(f"--backends: '{alone[0]}' has all_reduce alone, and --ops names others")
    if (given.rate or given.interfaces != 1) and not given.network:
        flags.error("--rate, --interfaces: they are of a network, and there is no --network")
    if not 1 <= given.interfaces <= 8:
        flags.error(f"--interfaces: {given.interfaces}; accepted: 1 to 8")
    if given.network and (os.geteuid() != 0 or not shutil.which("iperf3")):
        flags.error("--network: needs root, to make hosts, and iperf3")
    if not 2 <= given.hosts <= 16 or (given.network and given.ranks % given.hosts != 0):
        flags.error(f"--hosts: {given.hosts}; accepted: 2 to 16, of which --ranks ({given.ranks}) is a multiple")
    if given.ranks < 2 or given.rounds < 5:
        flags.error("--ranks: at least 2; --rounds: at least 5")

    import torch

    known = calls(torch.distributed, torch, given.ranks, 4)
    unknown = [name for name in given.ops if name not in known]
    if unknown:
        flags.error(f"--ops: unknown '{unknown[0]}'; accepted: {', '.join(known)}")
    port = peers.free_port()
    with tempfile.TemporaryDirectory() as folder, network(given) as made:
        results = pathlib.Path(folder) / "rows.json"
        floors = [iperf_bytes_per_second(made)] if made else []
        start_ranks(given, port, results, made, folder)
        floors += [iperf_bytes_per_second(made)] if made else []
        rows = json.loads(results.read_text())
    summary = summarize(rows, given.backends)
    print(table(summary, given.backends))
    if floors:
        print(against_iperf(summary, given.interfaces * sum(floors) / 2, given.hosts))
    if given.out:
        about = {"machine": machine.describe(HERE.parents[1]), "torch": torch.__version__, "ranks": given.ranks, "rounds": given.rounds}
        if floors:
            about |= {"hosts": given.hosts, "interfaces": given.interfaces, "rate": given.rate, "iperf3_both_ways_bytes_per_s": floors}
        given.out.write_text(json.dumps({**about, "summary": summary, "rows": rows}, indent=1) + "\n")
        print(f"Results: {given.out}")


if __name__ == "__main__":
    rank_of_mpirun() if JOB in os.environ else main()
