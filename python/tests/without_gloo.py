"""Runs a script in which torch's Gloo can't be made: what runs, runs on something else.

without_gloo.py SCRIPT [ARGUMENT]...
"""

import runpy
import sys
from pathlib import Path

from torch._C._distributed_c10d import ProcessGroupGloo


def refuse(*_, **__):
    raise RuntimeError("a Gloo group was asked for")


ProcessGroupGloo.__init__ = refuse
sys.argv = sys.argv[1:]
sys.path.insert(0, str(Path(sys.argv[0]).parent))
runpy.run_path(sys.argv[0], run_name="__main__")
