"""Rondo as a backend of torch.distributed.

    torch.distributed.init_process_group("rondo")

With this package installed torch knows the name; where its plugins are switched off (TORCH_DEVICE_BACKEND_AUTOLOAD=0), `import rondo.torch` tells it.
"""

from rondo import _autoload

_autoload.register()
