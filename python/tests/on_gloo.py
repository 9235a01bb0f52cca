"""Runs a script whose groups are torch's Gloo, which ours is compared with, so that it ends.

A Gloo group's destructor joins its threads. One of them may be waiting for the GIL, to free a tensor that Python has seen, and where DDP's reducer held the
last reference to the group, since the program had destroyed it before its model went, the destructor has the GIL: neither goes on (seen with torch 2.13).
So a reference to each model's group is kept here for good.

on_gloo.py SCRIPT [ARGUMENT]...
"""

import ctypes
import sys

from script import become
from torch.nn.parallel import DistributedDataParallel

make_model = DistributedDataParallel.__init__


def make_model_and_keep_group(self, *arguments, **options):
    make_model(self, *arguments, **options)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.process_group))


DistributedDataParallel.__init__ = make_model_and_keep_group
become(*sys.argv[1:])
