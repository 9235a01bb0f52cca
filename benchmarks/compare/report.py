#!/usr/bin/env python3
"""Turns the coordinator's raw rows into results: states, medians, paired ratios, a table, a plot.

usage: report.py RAW OUT.json REPOSITORY    (writes OUT.json and OUT.svg; called by tools/compare)"""

import collections
import json
import pathlib
import sys

import machine
import plot
import ratios

SYMMETRIC = "symmetric"  # Rondo on buffers that peers map
NOISE = 0.03  # share of the cores that others may use before we warn


def read_raw(path):
    kinds = collections.defaultdict(list)
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        value = json.loads(line)
        kinds[value.pop("kind")].append(value)
    return kinds


def find_states(blocks):
    """{ranks: states}: each number of ranks has participants, and so a shared line for the floor, of its own; where that
    line lies alone makes a factor of two on some machines."""
    floors = collections.defaultdict(list)
    for block in blocks:
        floors[block["ranks"]] += [block["floor_before_ns"], block["floor_after_ns"]]
    return {ranks: ratios.find_states(of) for ranks, of in floors.items()}


def make_rows(blocks, states):
    """Rows with their state; and how many blocks were thrown away because it flipped or was disturbed."""
    rows = []
    for block in blocks:
        state = ratios.state_of(block, states[block["ranks"]])
        if state is None:
            continue
        speed = ratios.bus_bandwidth_gbps(block["collective"], block["ranks"], block["bytes"], block["time_us"])
        rows.append({**block, "state": state, "busbw_gbps": round(speed, 4)})
    return rows, len(blocks) - len(rows)


def short(time_us):
    return f"{time_us:.3f}" if time_us < 10 else f"{time_us:.1f}" if time_us < 1000 else f"{time_us:.0f}"


def show_table(summary, subject):
    libraries = [name for name in plot.COLOURS if any(name in e["libraries"] for e in summary)]
    groups = collections.defaultdict(list)
    for entry in summary:
        groups[(entry["collective"], entry["type"], entry["ranks"], entry["state"], entry["in_place"], entry["touch"])].append(entry)
    for (collective, element, ranks, state, in_place, touch), entries in groups.items():
        what = f"{collective} {element}" + (" sum" if collective in ratios.REDUCTIONS else "")
        print(f"\n{what}, {ranks} ranks, cores {state}, {ratios.mode_name(in_place, touch)}: µs")
        print(f"{'bytes':>8}" + "".join(f"{name:>10}" for name in libraries) +
              f"   {subject + ' / best peer':<36}{subject} / floor")
        for entry in sorted(entries, key=lambda e: e["bytes"]):
            cells = [short(entry["libraries"][n]["time_us"]) if n in entry["libraries"] else "-" for n in libraries]
            found = entry.get("to_best_peer")
            ratio = f"{found['ratio']:.2f} [{found['low']:.2f}, {found['high']:.2f}] {entry['best_peer']}" if found else "-"
            if found and (found["ratio"] > 1 or found["high"] > 1.05):
                ratio += " *"
            floor = (entry.get("ratios") or {}).get("floor")
            print(f"{plot.human(entry['bytes']):>8}" + "".join(f"{cell:>10}" for cell in cells) +
                  f"   {ratio:<36}" + (f"{floor['ratio']:.2f}" if floor else "-"))


def show_means(means, subject):
    if not means:
        return
    print(f"\n{subject}: geometric means over the sizes, of the medians of paired ratios to the best peer of each size")
    for m in means:
        print(f"  {m['collective']} {m['type']}, {m['ranks']} ranks, {m['state']:<5}{m['mode']:<23}{m['geometric_mean']:.2f}"
              f"   worst size {m['worst']:.2f}, worst upper bound {m['worst_upper']:.2f}")


def show_lacking(lacking):
    """Who has no such operation or no such type, one line a collective and type."""
    groups = collections.defaultdict(list)
    for entry in lacking:
        both = len(entry["placements"]) == 2
        groups[(entry["collective"], entry["type"])].append(entry["library"] + ("" if both else f" ({entry['placements'][0]})"))
    if groups:
        print("\nTook no part, as the library has no such operation or no such type")
    for (collective, element), libraries in groups.items():
        print(f"  {collective} {element}: {', '.join(libraries)}")


def warnings_of(kinds, thrown, total):
    lines = [note["text"] for note in kinds["note"]]
    noisy = [r for r in kinds["round"] if r["others"] > NOISE or r["stolen"] > NOISE]
    if noisy:
        worst = max(max(r["others"], r["stolen"]) for r in noisy)
        lines.append(f"other processes or the hypervisor used the cores in {len(noisy)} of {len(kinds['round'])} rounds "
                     f"(up to {100 * worst:.0f} %): quieten the machine and measure again")
    if thrown:
        lines.append(f"{thrown} of {total} blocks were thrown away: the cores moved or something else ran")
    for check in kinds["check"]:
        if check["wrong"]:
            lines.append(f"WRONG RESULT: {check['library']} ({check['setting']}), {check['collective']} {check['type']}, "
                         f"{check['ranks']} ranks, {check['bytes']} bytes: {check['wrong']} elements")
    return lines


def main():
    raw, out, repository = sys.argv[1:4]
    kinds = read_raw(raw)
    blocks = kinds["block"]
    if not blocks:
        sys.exit("compare: no block was measured; see the notes above")
    states = find_states(blocks)
    rows, thrown = make_rows(blocks, states)
    present = {row["library"] for row in rows}
    subject = "rondo" if "rondo" in present or "floor" not in present else "floor"
    summary = ratios.summarize(rows, subject)
    means = ratios.geometric_means(summary)
    own = ratios.summarize(rows, SYMMETRIC) if SYMMETRIC in present else []
    symmetric = {"summary": own, "geometric_means": ratios.geometric_means(own)}
    lacking = ratios.lacking(kinds["lacks"])
    warnings = warnings_of(kinds, thrown, len(blocks))
    result = {"machine": machine.describe(repository), "run": kinds["run"][0], "states": states,
              "participants": kinds["participant"], "lacking": lacking, "warnings": warnings, "geometric_means": means,
              "symmetric_geometric_means": symmetric["geometric_means"], "summary": summary, "checks": kinds["check"], "rounds": kinds["round"], "rows": rows}
    lists = {"participants", "lacking", "geometric_means", "symmetric_geometric_means", "summary", "checks", "rounds", "rows"}  # one line an entry: diffs stay small
    fields = [f'"{key}": ' + ("[\n" + ",\n".join(json.dumps(v) for v in value) + "\n]" if key in lists
                              else json.dumps(value)) for key, value in result.items()]
    pathlib.Path(out).write_text("{\n" + ",\n".join(fields) + "\n}\n", encoding="utf-8")
    title = f"{result['machine']['cpu']}, {result['machine']['cores']} cores, {result['machine']['date'][:10]}"
    picture = pathlib.Path(out).with_suffix(".svg")
    picture.write_text(plot.draw(summary, subject, title), encoding="utf-8")
    show_table(summary, subject)
    show_means(means, subject)
    if symmetric["summary"]:
        print("\nRondo on symmetric buffers (its own allocate()), the peers on ordinary ones")
        show_table(symmetric["summary"], SYMMETRIC)
        show_means(symmetric["geometric_means"], SYMMETRIC)
    show_lacking(lacking)
    run = result["run"]
    if run.get("barrier") or run.get("aligned"):
        print("\n" + ", ".join(["each call behind a barrier"] * bool(run.get("barrier")) + ["buffers begin with a cache line"] * bool(run.get("aligned"))))
    centres = "; ".join(f"{ranks} ranks " + ", ".join(f"{name} {ns:.0f} ns" for name, ns in of["centres"].items()) for ranks, of in states.items())
    print(f"\n8-byte floor: {centres}.  * : median over 1.00 or upper bound over 1.05")
    for line in warnings:
        print("WARNING: " + line)
    print(f"Results: {out}, {picture}")
    sys.exit(1 if any(c["wrong"] for c in kinds["check"]) else 0)


if __name__ == "__main__":
    main()
