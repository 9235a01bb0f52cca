"""A device of torch's, "madeup" (a name that meshes take), whose memory and streams are those of the made-up GPU (tests/made_up_gpu), in the place of cuda where there is no GPU.

LIBRARY: the file that tests/made_up_torch is built to; its librondo must be the one that this process loads (LD_LIBRARY_PATH).
"""

import ctypes
import os
import sys
import types

import torch
from torch.distributed import Backend

LIBRARY = os.environ["MADE_UP_TORCH"]

# The made-up driver finds the runtime among what everybody sees.
ctypes.CDLL("librondo.so.0.1", mode=ctypes.RTLD_GLOBAL)
torch.ops.load_library(LIBRARY)
torch.utils.rename_privateuse1_backend("madeup")


def _module():
    """What torch.madeup is: as much of torch.cuda as torch's parallelisms ask for."""
    module = types.ModuleType("torch.madeup")
    accelerator = torch.accelerator
    module.is_available = lambda: True
    module.is_initialized = lambda: True
    module.is_bf16_supported = lambda: True
    module.device_count = torch.ops.made_up.device_count
    module.current_device = accelerator.current_device_index
    module.set_device = accelerator.set_device_index
    module.synchronize = accelerator.synchronize
    module.current_stream = lambda device=None: accelerator.current_stream(device)
    module.stream = lambda stream: stream
    module.Stream = lambda device=None, priority=0: torch.Stream(device=device or "madeup", priority=priority)
    module.Event = lambda **_options: torch.Event("madeup")
    module.delay = torch.ops.made_up.delay
    return module


torch._register_device_module("madeup", _module())
sys.modules["torch.madeup"] = torch.madeup
torch.utils.generate_methods_for_privateuse1_backend()

# As the package does it with cuda where torch has that.
Backend.backend_capability["rondo"] = ["cpu", "madeup"]
