"""What torch runs when it is imported. A name of its own: whatever a program's folder has by the name of rondo, `import torch` goes on."""


def register():
    """Registers the backend "rondo" with torch.distributed. Never an error, which would break `import torch`: one line is logged."""
    try:
        from rondo import _autoload

        _autoload.register()
    except Exception as reason:  # noqa: BLE001
        import logging

        logging.getLogger("rondo").warning("rondo is not, or not wholly, at torch.distributed's service: %s", reason)
