"""Runs a script whose gradients nobody combines: what a test that compares losses has to notice.

without_reductions.py SCRIPT [ARGUMENT]...
"""

import os
import sys

import torch
import torch.distributed as dist
from script import become
from torch.nn.parallel import DistributedDataParallel


def leave_alone(_state, bucket):
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


class Unreduced(DistributedDataParallel):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.register_comm_hook(None, leave_alone)


def own_block(output, input, *_, **options):
    """reduce_scatter_tensor (and reduce_scatter_single) without the reduction, as FSDP calls it."""
    output.copy_(input.chunk(dist.get_world_size(options.get("group")))[dist.get_rank(options.get("group"))])


torch.nn.parallel.DistributedDataParallel = Unreduced
for name in ("reduce_scatter_tensor", "reduce_scatter_single"):
    setattr(dist, name, own_block)
if "DS_ACCELERATOR" in os.environ:
    from deepspeed.comm.torch import TorchBackend

    class Done:
        def wait(self):
            pass

    TorchBackend.all_reduce = TorchBackend.reduce = lambda *_, **__: Done()
become(*sys.argv[1:])
