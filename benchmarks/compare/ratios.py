"""States of the machine, medians, and paired ratios with a bootstrap interval. No input or output here."""

import collections
import math
import random
import statistics

PEERS = ("openmpi", "mpich", "intelmpi", "oneccl", "gloo")  # the headline is held against the best of these that took part
REDUCTIONS = ("all_reduce", "reduce", "reduce_scatter", "scan")
NEAR_BELOW_NS = 130  # names the state where only one is seen: 8 bytes take 50 to 60 ns near, 250 to 280 ns far
DISTURBED = 1.7  # a floor so far from its state's centre was not measured undisturbed
MODES = ((False, False), (False, True), (True, False), (True, True))  # (in place, touch)


def mode_name(in_place, touch):
    return ("in place" if in_place else "out of place") + (", touched" if touch else "")


def find_states(floors):
    """Splits the 8-byte floors (ns) by two means of their logarithms.

    Returns {"threshold_ns", "centres": {state: ns}}: two states where the centres are a factor of 2 apart and each
    has 2 % of the measurements, else one."""
    logs = sorted(math.log(f) for f in floors if f > 0)
    if not logs:
        raise ValueError("no block was measured")
    low, high = logs[len(logs) // 20], logs[-1 - len(logs) // 20]
    for _ in range(50):
        middle = (low + high) / 2
        lower = [x for x in logs if x <= middle]
        upper = [x for x in logs if x > middle]
        if not lower or not upper:
            break
        low, high = statistics.median(lower), statistics.median(upper)
    middle = (low + high) / 2
    share = sum(x > middle for x in logs) / len(logs)
    if high - low > math.log(2) and 0.02 < share < 0.98:
        return {"threshold_ns": math.exp(middle), "centres": {"near": math.exp(low), "far": math.exp(high)}}
    centre = math.exp(statistics.median(logs))
    name = "near" if centre < NEAR_BELOW_NS else "far"
    return {"threshold_ns": NEAR_BELOW_NS, "centres": {name: centre}}


def state_of(block, states):
    """The state during a block, or None: it flipped, or something else ran."""
    names = []
    for floor in (block["floor_before_ns"], block["floor_after_ns"]):
        name = min(states["centres"], key=lambda s: abs(math.log(max(floor, 1) / states["centres"][s])))
        off = abs(math.log(max(floor, 1) / states["centres"][name]))
        names.append(name if off < math.log(DISTURBED) else None)
    return names[0] if names[0] == names[1] else None


def bus_bandwidth_gbps(collective, ranks, size, time_us):
    """nccl-tests' formula, GB/s."""
    apart = (ranks - 1) / ranks  # what of the larger buffer other ranks have or want
    factor = {"all_reduce": 2 * apart, "broadcast": 1, "reduce": 1, "scan": 1, "send_recv": 1}.get(collective, apart)
    return size * factor / time_us / 1e3


def interval(values, seed=7, resamples=1000):
    """95 % bootstrap interval of the median."""
    rng = random.Random(seed)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(resamples))
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples) - 1]


def type_of(row):
    """Rows from before there was a choice name no type."""
    return row.get("type", "f32")


def group(rows):
    """{(collective, type, ranks, state, in_place, touch, bytes): {(library, setting): {round: µs}}}"""
    cells = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in rows:
        cell = (row["collective"], type_of(row), row["ranks"], row["state"], row["in_place"], row["touch"], row["bytes"])
        cells[cell][(row["library"], row["setting"])][row["round"]] = row["time_us"]
    return cells


def best_settings(cell):
    """{library: (setting, {round: µs})}: the setting with the smallest median, of those measured often enough."""
    most = collections.Counter()
    for (library, _), rounds in cell.items():
        most[library] = max(most[library], len(rounds))
    best = {}
    for (library, setting), rounds in sorted(cell.items()):
        if 2 * len(rounds) < most[library]:
            continue
        time = statistics.median(rounds.values())
        if library not in best or time < statistics.median(best[library][1].values()):
            best[library] = (setting, rounds)
    return best


def paired(subject, other):
    """Median and interval of the ratios of one round's times, or None with fewer than 5 common rounds."""
    ratios = [subject[r] / other[r] for r in subject if r in other]
    if len(ratios) < 5:
        return None
    low, high = interval(ratios)
    return {"ratio": statistics.median(ratios), "low": low, "high": high, "rounds": len(ratios)}


def judge(entry):
    """The fastest peer, or None: where that one shares too few rounds with the subject, a slower one must not stand for the best."""
    rounds = {p: entry["ratios"][p]["rounds"] for p in PEERS if entry["ratios"].get(p)}
    if not rounds:
        return None
    fastest = min((p for p in PEERS if p in entry["libraries"]), key=lambda p: entry["libraries"][p]["time_us"])
    return fastest if 2 * rounds.get(fastest, 0) >= max(rounds.values()) else None


def summarize(rows, subject):
    """One entry a cell: every library at its best setting, and the subject's ratios to the others."""
    summary = []
    for key, cell in sorted(group(rows).items()):
        best = best_settings(cell)
        entry = dict(zip(("collective", "type", "ranks", "state", "in_place", "touch", "bytes"), key))
        entry["libraries"] = {library: {"setting": setting, "time_us": statistics.median(rounds.values()),
                                        "rounds": len(rounds)} for library, (setting, rounds) in best.items()}
        if subject in best:
            ours = best[subject][1]
            entry["ratios"] = {name: paired(ours, best[name][1]) for name in best if name != subject}
            best_peer = judge(entry)
            if best_peer:
                entry["best_peer"] = best_peer
                entry["to_best_peer"] = entry["ratios"][best_peer]
        summary.append(entry)
    return summary


def geometric_means(summary):
    """Over the sizes, of the ratios to the best peer: one a (collective, type, ranks, state, mode), and one over all modes."""
    groups = collections.defaultdict(list)
    for entry in summary:
        found = entry.get("to_best_peer")
        if not found:
            continue
        for mode in (mode_name(entry["in_place"], entry["touch"]), "all"):
            groups[(entry["collective"], entry["type"], entry["ranks"], entry["state"], mode)].append(found)
    means = []
    for key, found in sorted(groups.items()):
        mean = math.exp(statistics.fmean(math.log(f["ratio"]) for f in found))
        means.append({**dict(zip(("collective", "type", "ranks", "state", "mode"), key)), "geometric_mean": mean,
                      "sizes": len(found), "worst": max(f["ratio"] for f in found),
                      "worst_upper": max(f["high"] for f in found)})
    return means


def lacking(lacks):
    """What libraries can't take part in, from the coordinator's rows: [{"collective", "type", "library", "placements"}]."""
    found = collections.defaultdict(set)
    for row in lacks:
        found[(row["collective"], row["type"], row["library"])].add("in place" if row["in_place"] else "out of place")
    return [{**dict(zip(("collective", "type", "library"), key)), "placements": sorted(placements)}
            for key, placements in sorted(found.items())]
