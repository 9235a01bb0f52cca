#!/usr/bin/env python3
"""docs/faults.md names tests that there are: every "text" in its table is a TEST_CASE of tests/.

check_faults.py [ROOT]: exit 1, and the names, when one isn't."""

import re
import sys
from pathlib import Path


def missing(table, cases):
    """The names in the rows of the table that are no test's."""
    return [name for line in table.splitlines() if line.startswith("|") for name in re.findall(r'"([^"]+)"', line) if name not in cases]


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).parents[2]
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "tests").rglob("*.cpp")))
    wrong = missing((root / "docs/faults.md").read_text(encoding="utf-8"), set(re.findall(r'TEST_CASE\("([^"]+)"', sources)))
    for name in wrong:
        print(f'check_faults.py: docs/faults.md names a test that isn\'t there: "{name}"', file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
