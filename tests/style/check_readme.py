#!/usr/bin/env python3
"""The README's C++ program is examples/all_reduce.cpp, which the install test builds and runs.

check_readme.py [ROOT]: exit 1, and where they part, when README.md's only C++ block is not that file."""

import re
import sys
from itertools import zip_longest
from pathlib import Path

EXAMPLE = "examples/all_reduce.cpp"


def difference(readme, example):
    """"" when the only C++ block of `readme` is `example`, else what is wrong."""
    blocks = list(re.finditer(r"^```cpp\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL))
    if len(blocks) != 1:
        return f"README.md has {len(blocks)} C++ blocks; expected one, {EXAMPLE}"
    first = readme.count("\n", 0, blocks[0].start(1)) + 1
    pairs = zip_longest(blocks[0].group(1).split("\n"), example.split("\n"))
    for number, (shown, compiled) in enumerate(pairs):
        if shown != compiled:
            return f"README.md:{first + number}: {shown!r}; {EXAMPLE}:{number + 1} has {compiled!r}"
    return ""


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).parents[2]
    wrong = difference(*((root / file).read_text(encoding="utf-8") for file in ("README.md", EXAMPLE)))
    if wrong:
        print(f"check_readme.py: {wrong}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
