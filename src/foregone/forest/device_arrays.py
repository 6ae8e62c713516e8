"""Arrays in GPU memory, from any library: CuPy, PyTorch, JAX, cuDF, numba.

They are used without a copy, through ``__cuda_array_interface__`` or DLPack. Results are arrays of the same
library for CuPy and PyTorch; for other libraries CuPy arrays if it is installed, else numba arrays.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from foregone._system.gpu import cuda_module
from foregone.checks import check_choice
from foregone.errors import InvalidInputError

__all__ = [
    "DEVICES",
    "Device",
    "DeviceArray",
    "beside",
    "check_device",
    "is_on_device",
    "new_device_array",
    "of_same_library",
    "taken_beside",
    "to_device_array",
    "to_host",
]

DeviceArray: TypeAlias = Any  # of numba
Device = Literal["cpu", "cuda"]
DEVICES: tuple[Device, ...] = get_args(Device)
THREADS, MOST_BLOCKS = 256, 1_024
ON_CUDA = (2, 13)  # device types of DLPack: memory of a GPU, and managed memory


def check_device(device: Any) -> Device:
    """Return `device`. Raises InvalidInputError unless it is "cpu" or "cuda"."""
    return check_choice(device, "device", DEVICES)


def is_on_device(X: Any) -> bool:
    """Whether X is an array or frame in GPU memory."""
    if type(X) is np.ndarray:
        return False
    if hasattr(X, "__cuda_array_interface__"):
        return True
    if hasattr(X, "to_cupy") and hasattr(X, "columns"):  # a frame of cuDF
        return True
    try:
        return hasattr(X, "__dlpack_device__") and X.__dlpack_device__()[0] in ON_CUDA
    except (BufferError, TypeError, ValueError):  # of a library that cannot tell
        return False


def to_device_array(X: Any) -> DeviceArray:
    """Return an array in GPU memory as a numba array, without a copy; numba waits for pending writes.

    Raises
    ------
    InvalidInputError
        If that would need a copy.
    """
    cuda = cuda_module()
    if hasattr(X, "to_cupy") and hasattr(X, "columns"):
        X = X.to_cupy()
    if getattr(X, "requires_grad", None):
        X = X.detach()
    if not hasattr(X, "__cuda_array_interface__"):
        X = _from_dlpack(X)
    return cuda.as_cuda_array(X)


def _from_dlpack(X: Any) -> Any:
    if importlib.util.find_spec("cupy") is None:
        if "torch" in sys.modules:
            return sys.modules["torch"].from_dlpack(X)
        raise InvalidInputError(
            f"reading a GPU array of type {type(X).__name__} needs CuPy: install it, for example with  "
            "pip install cupy-cuda13x"
        )
    import cupy

    return cupy.from_dlpack(X)


def new_device_array(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Any:
    """Return an uninitialised array on the GPU: from CuPy, which has a memory pool, or else from numba."""
    if importlib.util.find_spec("cupy") is None:
        return cuda_module().device_array(shape, dtype)
    import cupy

    return cupy.empty(shape, dtype)


def of_same_library(X: Any, made: Any) -> Any:
    """Return a numba or CuPy array as an array of X's library, without a copy."""
    library = type(X).__module__.partition(".")[0]
    if getattr(made, "_ary", None) is not None:  # a simulated one
        return made
    if library.startswith("numba"):
        return to_device_array(made)
    if library == "torch":
        return sys.modules["torch"].as_tensor(made, device=X.device)
    if importlib.util.find_spec("cupy") is None:
        return made
    import cupy

    return cupy.asarray(made)


def to_host(array: Any) -> npt.NDArray[Any]:
    """Return an array as a NumPy array; a copy if it is on a GPU."""
    return np.asarray(to_device_array(array).copy_to_host() if is_on_device(array) else array)


def taken_beside(table: npt.NDArray[Any], numbers: Any) -> Any:
    """Return ``table[numbers]`` in the memory of ``numbers``: on the GPU, unless the table holds texts."""
    if table.dtype.kind not in "biuf":
        return table.take(to_host(numbers))
    from foregone._kernels.gpu.gpu_leaves import take

    cuda = cuda_module()
    given = to_device_array(numbers)
    made = new_device_array(given.shape, table.dtype)
    take[min(-(-given.size // THREADS), MOST_BLOCKS), THREADS](cuda.to_device(table), given, made)
    return of_same_library(numbers, made)


def beside(X: Any, array: Any) -> Any:
    """Return an array in X's memory: numbers are copied to the GPU if X is there; texts stay on the host."""
    if not is_on_device(X) or is_on_device(array) or array.dtype.kind not in "biuf":
        return array
    return of_same_library(X, cuda_module().to_device(np.ascontiguousarray(array)))
