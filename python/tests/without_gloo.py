"""Runs a script in which torch's Gloo can't be made: what runs, runs on something else.

without_gloo.py SCRIPT [ARGUMENT]...
"""

import sys

from script import become
from torch._C._distributed_c10d import ProcessGroupGloo


def refuse(*_, **__):
    raise RuntimeError("a Gloo group was asked for")


ProcessGroupGloo.__init__ = refuse
become(*sys.argv[1:])
