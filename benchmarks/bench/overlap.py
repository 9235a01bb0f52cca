#!/usr/bin/env python3
"""How much of what ranks do inside their hosts is done while bytes travel between hosts: read off a timeline of rondo-bench --trace.

overlap.py FILE.json. For each size that was traced, over its calls: which part of the time of steps in shared memory (those with slots among their operands) falls
into time in which a message between hosts is under way, from the end of the step that sends it to the begin of the one that takes it; and which part of the calls' time
messages are under way. Ranks must be on one clock, as hosts that are name spaces of one machine are. Exit 2: no such file, or nothing in it passes between hosts.
"""

import collections
import json
import re
import sys

LINK = re.compile(r"link\((\d+)(?:,(\d+))?\)")


def union(intervals):
    """Disjoint, ascending."""
    joined = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        elif end > begin:
            joined.append([begin, end])
    return joined


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def common(intervals, joined):
    """How much of intervals, each by itself, lies in the joined ones."""
    total, first = 0, 0
    for begin, end in sorted(intervals):
        while first < len(joined) and joined[first][1] <= begin:
            first += 1
        at = first
        while at < len(joined) and joined[at][0] < end:
            total += min(end, joined[at][1]) - max(begin, joined[at][0])
            at += 1
    return total


def sides(name):
    """The links that a step's text takes from, and those that it sends to, as (peer, channel)."""
    before, _, behind = name.partition(" -> ")
    return [[(int(peer), int(channel or 0)) for peer, channel in LINK.findall(side)] for side in (before, behind)]


def calls_of(events):
    """{(what is called, its number): its moves}, each (rank, begin, end, text)."""
    calls = collections.defaultdict(list)
    for event in events:
        if event.get("cat") in ("copy", "reduce") and not event["name"].startswith("stalled"):
            arguments = event["args"]
            calls[arguments["of"] + " by " + arguments["algorithm"], arguments["call"]].append((event["pid"], event["ts"], event["ts"] + event["dur"], event["name"]))
    return calls


def judge(moves):
    """Of one call: time of inner steps, that of it while messages travel, time in which any does, the call's."""
    sent, taken = collections.defaultdict(list), collections.defaultdict(list)
    for rank, begin, end, name in moves:
        sources, destinations = sides(name)
        for peer, channel in sources:
            taken[peer, rank, channel].append(begin)
        for peer, channel in destinations:
            sent[rank, peer, channel].append(end)
    under_way = union([pair for link in sent for pair in zip(sorted(sent[link]), sorted(taken[link]))])
    inner = [(begin, end) for _, begin, end, name in moves if "scratch" in name]
    span = max(end for _, _, end, _ in moves) - min(begin for _, begin, _, _ in moves)
    return length(inner), common(inner, under_way), length(under_way), span


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    try:
        events = json.load(open(arguments[0], encoding="utf-8"))["traceEvents"]
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        print(f"overlap.py: {arguments[0]}: {wrong}; expected a timeline of rondo-bench --trace", file=sys.stderr)
        return 2
    sums = collections.defaultdict(lambda: [0.0] * 4)
    for (what, _), moves in calls_of(events).items():
        sums[what] = [total + part for total, part in zip(sums[what], judge(moves))]
    shared = {what: total for what, total in sums.items() if total[0] > 0 and total[2] > 0}
    for what, (inner, both, network, span) in shared.items():
        print(f"{what}: {both / inner:.2f} of the time of steps in shared memory while messages travel between hosts, which they do {network / span:.2f} of the calls' time")
    if not shared:
        print(f"overlap.py: {arguments[0]}: no call in it has both steps in shared memory and messages between hosts", file=sys.stderr)
    return 0 if shared else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
