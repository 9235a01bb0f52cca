"""Makes the backend's name known to torch.distributed. Cheap, since every `import torch` does it (rondo_ccl)."""


def _create(options, _backend_options):
    from rondo.torch import _backend

    return _backend.create(options)


def _devices():
    """Whose tensors the backend takes: CUDA's where torch has them, whether this package was built with CUDA or not, which a call then says."""
    from torch.version import cuda

    return ["cpu", "cuda"] if cuda else ["cpu"]


def register():
    """Registers the backend "rondo" with torch.distributed. Called again it does nothing."""
    from torch.distributed import Backend, is_available

    if is_available() and "RONDO" not in Backend._plugins:
        Backend.register_backend("rondo", _create, extended_api=True, devices=_devices())
        from rondo import _takeover

        if _takeover.wanted():
            _takeover.install()
