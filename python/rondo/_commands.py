"""The commands `rondo` and `rondo-bench`, which lie in the package beside the library."""

import os
import sys
from pathlib import Path


def _run(name):
    program = Path(__file__).with_name("bin") / name
    os.execv(program, [name, *sys.argv[1:]])


def rondo():
    _run("rondo")


def rondo_bench():
    _run("rondo-bench")
