"""New arrays of the kind that the caller uses."""


def shape_of(array):
    """Its shape. TypeError where it is no array."""
    try:
        return tuple(array.shape if hasattr(array, "shape") else memoryview(array).shape)
    except TypeError:
        raise TypeError(f"array is a {type(array).__name__}; accepted: arrays of numpy, torch, or what else has __dlpack__ or the buffer protocol") from None


def check_arrays(*arrays):
    """TypeError where one is no array; ValueError where its memory doesn't hold what it stands for. None stands for none."""
    for array in arrays:
        if array is not None:
            shape_of(array)
        for lazy in ("is_conj", "is_neg"):  # of torch
            if hasattr(array, lazy) and getattr(array, lazy)():
                raise ValueError(f"array is a view that {lazy}() says is computed when it is read; accepted: what resolve_{lazy[3:]}() makes of it")


def empty_like(array, shape):
    """An array of the same library and element type. TypeError where there is no telling how to make one."""
    if hasattr(array, "new_empty"):  # torch
        return array.new_empty(shape)
    namespace = getattr(array, "__array_namespace__", None)
    if namespace is not None:
        return namespace().empty(shape, dtype=array.dtype)
    import numpy

    if isinstance(array, numpy.ndarray):  # before 2.0 it names no namespace
        return numpy.empty(shape, dtype=array.dtype)
    raise TypeError(f"a result for {type(array).__name__} can't be made here; accepted: out=, or arrays of numpy, torch and whatever has __array_namespace__")


def blocks_of(array, size):
    """The shape of one of `size` equal parts along the first dimension. ValueError unless there are such."""
    shape = shape_of(array)
    if not shape or shape[0] % size != 0:
        raise ValueError(f"array has the shape {shape}; accepted: a first dimension that {size} ranks can share evenly")
    return (shape[0] // size, *shape[1:])
