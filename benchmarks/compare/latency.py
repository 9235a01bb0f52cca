"""How long a small all-reduce between two hosts takes, set against the way there alone: the half round trip of ucx_perftest, and of Rondo's own links.

latency.py [--rounds 11] [--bytes 8] [--out FILE.json]

Hosts are two network name spaces of this machine with a cable between them, one rank on each, with a processor of its own. Every round runs ucx_perftest
(tag_lat, over TCP), and all_reduce by rondo-bench over TCP and over UCX, in turns; a time is the median of single calls, a ratio that of one round's times.
Exit 0: measured; 1: a failure; 2: wrong flag. Run by `tools/compare --latency`.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools" / "support"))

import hosts  # noqa: E402
import machine  # noqa: E402
import ratios  # noqa: E402

BENCH = ROOT / "build/release/bin/rondo-bench"


def on(host, processor, *command):
    """With a /sys of the host's own, where UCX looks for its interfaces."""
    return [*host.inside, "unshare", "--mount", "sh", "-c", 'mount -t sysfs sysfs /sys && exec taskset -c "$@"', "sh", str(processor), *command]


def half_round_trip_us(made, processors, size):
    """ucx_perftest's own median, over TCP: shared memory would be faster between what are two hosts in name alone."""
    environment = {**os.environ, "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": made[0].interfaces[0]}
    server = subprocess.Popen(on(made[1], processors[1], "ucx_perftest"), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.3)
    test = ["ucx_perftest", made[1].address, "-t", "tag_lat", "-s", str(size), "-n", "50000", "-f", "-v"]
    said = subprocess.run(on(made[0], processors[0], *test), env=environment, capture_output=True, text=True, timeout=60)
    server.wait(timeout=10)
    # With -v the last line has commas: iterations, median, average, overall, ...
    numbers = [line.split(",") for line in said.stdout.splitlines() if line[:1].isdigit()]
    if said.returncode != 0 or not numbers:
        raise SystemExit(f"latency: ucx_perftest failed: {said.stderr or said.stdout}")
    return float(numbers[-1][1])


def all_reduce_us(made, processors, size, transport, folder):
    """The median of single calls."""
    rows = pathlib.Path(folder) / "rows.json"
    flags = ["all_reduce", "-b", str(size), "-e", str(size), "--iters", "20000", "-w", "1000", "--percentiles", "--transport", transport, "--json", str(rows)]
    started = []
    for rank, host in enumerate(made):
        environment = {**os.environ, **hosts.job(rank, 2, 1, made[0].address), "RONDO_NET_INTERFACES": host.interfaces[0]}
        started.append(subprocess.Popen(on(host, processors[rank], str(BENCH), *flags), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    said = [process.communicate(timeout=60)[1] for process in started]
    if any(process.returncode != 0 for process in started):
        raise SystemExit(f"latency: rondo-bench over {transport} failed: {''.join(said)}")
    return next(row["percentiles_us"]["50"] for row in json.loads(rows.read_text()) if not row["in_place"])


def main():
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--rounds", type=int, default=11, help="5 or more")
    flags.add_argument("--bytes", type=int, default=8, help="of a message and of an all-reduce's buffer: a multiple of 4")
    flags.add_argument("--out", type=pathlib.Path, help="also as JSON, with the machine and all rounds")
    given = flags.parse_args()
    processors = sorted(os.sched_getaffinity(0))
    if given.rounds < 5 or given.bytes < 4 or given.bytes % 4 != 0:
        flags.error("--rounds: at least 5; --bytes: a multiple of 4, at least 4")
    if os.geteuid() != 0 or len(processors) < 2 or not shutil.which("ucx_perftest"):
        flags.error("--latency needs root, to make hosts, two processors, and ucx_perftest (ucx-utils)")
    rounds = []
    with tempfile.TemporaryDirectory() as folder, hosts.several_hosts(2) as made:
        time.sleep(1.5)  # a fresh interface counts as down for a while
        ways = {
            "ucx_perftest": lambda: half_round_trip_us(made, processors, given.bytes),
            "tcp": lambda: all_reduce_us(made, processors, given.bytes, "tcp", folder),
            "ucx": lambda: all_reduce_us(made, processors, given.bytes, "ucx", folder),
        }
        for turn in range(given.rounds):
            names = list(ways)[turn % 3 :] + list(ways)[: turn % 3]
            rounds.append({name: ways[name]() for name in names})
    medians = {name: statistics.median(times[name] for times in rounds) for name in ways}
    to_half = {name: ratios.paired(*({turn: times[key] for turn, times in enumerate(rounds)} for key in (name, "ucx_perftest"))) for name in ("tcp", "ucx")}
    print(f"ucx_perftest, half a round trip of {given.bytes} B over TCP: {medians['ucx_perftest']:.2f} µs")
    for name, ratio in to_half.items():
        print(f"all_reduce of {given.bytes} B over {name}: {medians[name]:.2f} µs, {ratio['ratio']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}] half round trips")
    if given.out:
        about = {"machine": machine.describe(ROOT), "bytes": given.bytes, "median_us": medians, "to_half_round_trip": to_half, "rounds": rounds}
        given.out.write_text(json.dumps(about, indent=1) + "\n")
        print(f"Results: {given.out}")


if __name__ == "__main__":
    main()
