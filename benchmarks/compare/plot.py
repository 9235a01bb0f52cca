"""The picture of a comparison as SVG, written by hand: bus bandwidth by size, and the paired ratio under it."""

import math

import ratios

COLOURS = {"rondo": "#c2185b", "symmetric": "#7b1fa2", "openmpi": "#1976d2", "mpich": "#00897b", "intelmpi": "#212121", "oneccl": "#8d6e63",
           "gloo": "#f9a825", "floor": "#9e9e9e", "plan": "#5e35b1"}
MODE_DASHES = {"out of place": "", "out of place, touched": "6 3", "in place": "2 2", "in place, touched": "8 3 2 3"}
HEAD = 68  # title and legends
WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP, RATIO_HEIGHT = 460, 260, 56, 14, 46, 18, 150


def human(size):
    for unit, step in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size >= step:
            return f"{size // step}{unit}"
    return str(size)


class Axis:
    """Maps a logarithmic range onto pixels."""

    def __init__(self, values, start, end):
        self.low, self.high = math.log2(min(values)), math.log2(max(values))
        if self.high == self.low:
            self.low, self.high = self.low - 1, self.high + 1
        self.start, self.end = start, end

    def __call__(self, value):
        return self.start + (math.log2(value) - self.low) / (self.high - self.low) * (self.end - self.start)


def text(x, y, words, anchor="middle", size=11, colour="#333", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}" '
            f'font-weight="{weight}">{words}</text>')


def line(x1, y1, x2, y2, colour="#ddd", width=1, dash=""):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}" stroke-dasharray="{dash}"/>')


def path(points, colour, dash="", width=2):
    where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{where}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash}"/>'


def bandwidth_panel(entries, x_axis, origin_y, collective, ranks):
    """Out of place, untouched: one line a library."""
    series = {}
    for entry in entries:
        if entry["in_place"] or entry["touch"]:
            continue
        for library, best in entry["libraries"].items():
            speed = ratios.bus_bandwidth_gbps(collective, ranks, entry["bytes"], best["time_us"])
            series.setdefault(library, []).append((entry["bytes"], speed))
    speeds = [speed for points in series.values() for _, speed in points]
    if not speeds:
        return []
    y_axis = Axis([min(speeds), max(speeds)], origin_y + HEIGHT, origin_y)
    parts = []
    for power in range(math.ceil(math.log10(min(speeds))), math.floor(math.log10(max(speeds))) + 1):
        y = y_axis(10.0 ** power)
        parts += [line(x_axis.start, y, x_axis.end, y), text(x_axis.start - 6, y + 4, f"{10.0 ** power:g}", "end")]
    parts.append(text(x_axis.start, origin_y - 6, "bus bandwidth, GB/s (out of place, untouched)", "start", 10, "#777"))
    for library, points in series.items():
        parts.append(path([(x_axis(b), y_axis(s)) for b, s in sorted(points)], COLOURS[library]))
    return parts


def ratio_panel(entries, x_axis, origin_y, subject):
    """The paired ratio to the best peer, one line a mode, the interval as bars."""
    found = [e for e in entries if e.get("to_best_peer")]
    if not found:
        return []
    bounds = [0.25, 1.25] + [e["to_best_peer"][k] for e in found for k in ("low", "high")]
    y_axis = Axis([min(bounds), max(bounds)], origin_y + RATIO_HEIGHT, origin_y)
    parts = [text(x_axis.start, origin_y - 5, f"time of {subject} / best peer, paired, 95 % interval", "start", 10, "#777")]
    for mark in (0.1, 0.25, 0.5, 1, 2, 4):
        if min(bounds) <= mark <= max(bounds):
            y = y_axis(mark)
            parts += [line(x_axis.start, y, x_axis.end, y, "#888" if mark == 1 else "#ddd"),
                      text(x_axis.start - 6, y + 4, f"{mark:g}", "end")]
    for mode in ratios.MODES:
        points = [e for e in found if (e["in_place"], e["touch"]) == mode]
        points.sort(key=lambda e: e["bytes"])
        dash = MODE_DASHES[ratios.mode_name(*mode)]
        parts.append(path([(x_axis(e["bytes"]), y_axis(e["to_best_peer"]["ratio"])) for e in points],
                          COLOURS[subject], dash, 1.5))
        for e in points:
            x, ratio = x_axis(e["bytes"]), e["to_best_peer"]
            parts.append(line(x, y_axis(ratio["low"]), x, y_axis(ratio["high"]), COLOURS[subject], 1))
    return parts


def legend(x, y, libraries):
    parts = []
    for library in (name for name in COLOURS if name in libraries):
        parts += [line(x, y - 4, x + 18, y - 4, COLOURS[library], 3), text(x + 22, y, library, "start")]
        x += 90
    return parts


def mode_legend(x, y):
    parts = []
    for mode, dash in MODE_DASHES.items():
        parts += [line(x, y - 4, x + 26, y - 4, "#333", 1.5, dash), text(x + 30, y, mode, "start")]
        x += 165
    return parts


def draw(summary, subject, title):
    """SVG text: a row for each (collective, type, ranks), a column for each state. What has no size, a barrier, has no curve."""
    summary = [entry for entry in summary if entry["bytes"] > 0]
    panels = sorted({(e["collective"], e["type"], e["ranks"]) for e in summary})
    states = [s for s in ("near", "far") if any(e["state"] == s for e in summary)]
    sizes = [e["bytes"] for e in summary]
    cell_width, cell_height = LEFT + WIDTH + RIGHT, TOP + HEIGHT + GAP + RATIO_HEIGHT + 34
    parts = [text(12, 22, title, "start", 13, "#000", "bold")]
    parts += legend(12, 42, {lib for e in summary for lib in e["libraries"]}) + mode_legend(12, 60)
    for row, panel in enumerate(panels):
        collective, element, ranks = panel
        for column, state in enumerate(states):
            entries = [e for e in summary if (e["collective"], e["type"], e["ranks"]) == panel and e["state"] == state]
            if not entries:
                continue
            x, y = column * cell_width + LEFT, HEAD + row * cell_height + TOP
            x_axis = Axis(sizes, x, x + WIDTH)
            parts.append(text(x + WIDTH / 2, y - 24, f"{collective} {element}, {ranks} ranks, cores {state}", weight="bold"))
            parts += bandwidth_panel(entries, x_axis, y, collective, ranks)
            parts += ratio_panel(entries, x_axis, y + HEIGHT + GAP, subject)
            for size in sorted(set(sizes)):
                parts.append(text(x_axis(size), y + HEIGHT + GAP + RATIO_HEIGHT + 16, human(size), size=9))
    width, height = max(1100, len(states) * cell_width), HEAD + 10 + len(panels) * cell_height
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")
