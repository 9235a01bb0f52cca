"""Rondo: collective communication between the ranks of a machine.

For PyTorch: torch.distributed.init_process_group("rondo"); nothing has to be imported (see rondo.torch).
"""

__version__ = "0.1.0"
