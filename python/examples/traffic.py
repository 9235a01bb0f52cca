"""Who gets how much from whom: a plan's traffic as a picture, and as a line of figures.

    traffic.py all_reduce 16 --algorithm bine --save traffic.svg
    traffic.py all_reduce 16 --algorithm rail --topology 'dgx-h100*2' --save traffic.svg
    traffic.py plan.xml --save traffic.svg

A plan is a dict: counting is all that a picture of it takes. matplotlib's imshow(matrix(plan)) does in a notebook what picture() does here without it.
"""

import argparse
import re
from pathlib import Path

import rondo

LINK = re.compile(r"link\((\d+),\d+\)(?:x(\d+))?")
PEER = re.compile(r"(?:input|output|scratch)@(\d+)\[\d+(?::(\d+))?\]")


def matrix(plan):
    """Chunks by sender and receiver, of one piece. What a rank reads from another, or writes there, passes between the two; of a link, what is received counts."""
    ranks = plan["ranks"]
    chunks = [[0] * ranks for _ in range(ranks)]
    for program in plan["programs"]:
        own = program["rank"]
        for step in (step for lane in program["lanes"] for step in lane):
            sources = step.get("reduce") or ([step["copy"]] if "copy" in step else [])
            for source in sources:
                found = LINK.match(source) or PEER.match(source)
                if found and int(found[1]) != own:
                    chunks[int(found[1])][own] += int(found[2] or 1)
            for target in step.get("to", []):
                found = PEER.match(target)
                if found and int(found[1]) != own:
                    chunks[own][int(found[1])] += int(found[2] or 1)
    return chunks


def picture(chunks, title):
    """The matrix in SVG: rows send, columns receive, and what is darkest is most."""
    side, most = 480 / len(chunks), max(1, *(count for row in chunks for count in row))
    cells = [
        f'<rect x="{40 + receiver * side:.2f}" y="{60 + sender * side:.2f}" width="{side:.2f}" height="{side:.2f}" fill="#08519c" '
        f'fill-opacity="{count / most:.3f}"><title>rank {sender} to rank {receiver}: {count} chunks</title></rect>'
        for sender, row in enumerate(chunks)
        for receiver, count in enumerate(row)
        if count
    ]
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" width="560" height="580" font-family="sans-serif" font-size="14">',
        f'<text x="40" y="24">{title}</text>',
        '<text x="40" y="50">receiver</text><text x="24" y="540" transform="rotate(-90 24 540)">sender</text>',
        '<rect x="40" y="60" width="480" height="480" fill="none" stroke="#888"/>',
        *cells,
        f'<text x="40" y="566">darkest: {most} chunks</text></svg>\n',
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collective", help="or a plan's file")
    parser.add_argument("ranks", type=int, nargs="?", default=0)
    parser.add_argument("--algorithm", default="")
    parser.add_argument("--topology", help="as rondo.plan() takes it; default: this machine")
    parser.add_argument("--save", type=Path, metavar="FILE", required=True)
    given = parser.parse_args()

    file = Path(given.collective)
    plan = rondo.read_plan(file) if file.suffix else rondo.plan(given.collective, given.ranks, algorithm=given.algorithm, topology=given.topology)
    chunks = matrix(plan)
    pairs = sum(count > 0 for row in chunks for count in row)
    title = f"{plan['algorithm']}: {plan['collective']} of {plan['ranks']} ranks"
    print(f"{title}: {sum(map(sum, chunks))} chunks pass between {pairs} pairs of ranks, {max(map(max, chunks))} between the busiest")
    given.save.write_text(picture(chunks, title))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
