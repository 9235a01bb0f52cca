"""How long a job takes to start while strangers connect to its port 10,000 times a second, against the same job left alone.

start_under_flood.py [--ranks 8] [--rate 10000] [--rounds 7]

Ranks are on two hosts and the strangers on a third, which are network name spaces of this machine (root makes them; so the flood takes its part of the same
processors). Half of the strangers say nothing, half say nonsense; each stays until 500 more have come. Turn by turn alone and flooded; a time is rank 0's
Communicator.from_environment(). Needs the package in build/venv (tools/python). Exit 0: measured; 1: a job failed.
"""

import argparse
import collections
import os
import pathlib
import socket
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "support"))

import hosts  # noqa: E402

RANK = "import time, rondo; begin = time.perf_counter(); made = rondo.Communicator.from_environment(); print(time.perf_counter() - begin)"
STAY = 500  # strangers at once


def flood(address, port, rate):
    """Until it is killed. Says each second how many came."""
    begin, count, open_ones = time.monotonic(), 0, collections.deque()
    while True:
        while count < (time.monotonic() - begin) * rate:
            stranger = socket.socket()
            stranger.setblocking(False)
            stranger.connect_ex((address, port))
            if count % 2:
                try:
                    stranger.send(b"GET / HTTP/1.0\r\n\r\n")
                except OSError:
                    pass  # not connected yet
            open_ones.append(stranger)
            if len(open_ones) > STAY:
                leaves = open_ones.popleft()
                leaves.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # without a word, so that ports don't run out
                leaves.close()
            count += 1
            if count % rate == 0:
                print(f"{count / (time.monotonic() - begin):.0f}", flush=True)
        time.sleep(0.0002)


def start(made, ranks, port):
    """Seconds."""
    started = []
    for rank in range(ranks):
        job = hosts.job(rank, ranks, ranks // 2, made[0].address, port)
        started.append(subprocess.Popen([*made[rank * 2 // ranks].inside, sys.executable, "-c", RANK], text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env={**os.environ, **job}))
    said = [process.communicate()[0] for process in started]
    if any(process.returncode != 0 for process in started):
        raise SystemExit("a job failed")
    return float(said[0])


def main():
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--ranks", type=int, default=8, help="an even number")
    flags.add_argument("--rate", type=int, default=10_000, help="connections a second")
    flags.add_argument("--rounds", type=int, default=7)
    flags.add_argument("--flood", nargs=2, metavar=("ADDRESS", "PORT"), help=argparse.SUPPRESS)
    given = flags.parse_args()
    if given.flood:
        return flood(given.flood[0], int(given.flood[1]), given.rate)
    if given.ranks < 2 or given.ranks % 2 or given.rounds < 3:
        flags.error(f"--ranks: {given.ranks}; accepted: even numbers from 2; --rounds: at least 3")
    times, rates = {False: [], True: []}, []
    with hosts.several_hosts(3) as made:
        for turn in range(2 * given.rounds):
            flooded, port = turn % 2 == 1, 29500 + turn
            strangers = None
            if flooded:
                command = [*made[2].inside, sys.executable, __file__, "--rate", str(given.rate), "--flood", made[0].address, str(port)]
                strangers = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
                rates.append(int(strangers.stdout.readline()))  # after a second of it
            times[flooded].append(start(made, given.ranks, port))
            if flooded:
                strangers.kill()
                strangers.communicate()
    alone, among = statistics.median(times[False]), statistics.median(times[True])
    print(f"{given.ranks} ranks start in {alone * 1e3:.0f} ms alone and in {among * 1e3:.0f} ms among {min(rates)} strangers a second: {among / alone:.2f}")


if __name__ == "__main__":
    main()
