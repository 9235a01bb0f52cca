"""Runs a script whose DistributedDataParallel reduces nothing: what a test that compares losses has to notice.

without_reductions.py SCRIPT [ARGUMENT]...
"""

import runpy
import sys

import torch
from torch.nn.parallel import DistributedDataParallel


def leave_alone(_state, bucket):
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


class Unreduced(DistributedDataParallel):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.register_comm_hook(None, leave_alone)


torch.nn.parallel.DistributedDataParallel = Unreduced
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
