"""What torch runs when it is imported: makes the backend's name known. Cheap, and never an error: an exception here would break `import torch`."""


def _create(options, _backend_options):
    from rondo.torch import _backend

    return _backend.create(options)


def register():
    """Registers the backend "rondo" with torch.distributed. Called again it does nothing."""
    try:
        from torch.distributed import Backend, is_available

        if is_available() and "RONDO" not in Backend._plugins:
            Backend.register_backend("rondo", _create, extended_api=True, devices=["cpu"])
            from rondo import _takeover

            if _takeover.wanted():
                _takeover.install()
    except Exception as reason:  # noqa: BLE001
        import warnings

        warnings.warn(f"rondo is not, or not wholly, at torch.distributed's service: {reason}", stacklevel=2)
