"""The GPU: whether there is one, its properties, and the packages that use it."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from foregone.errors import InvalidInputError, MissingExtraError

__all__ = ["Gpu", "NoGpuError", "configured", "cuda_module", "find_gpu"]

PACKAGES = ("numba-cuda", "cuda-core", "cuda-bindings")  # installed by the extra
CUPY = ("cupy-cuda13x", "cupy-cuda12x", "cupy")  # which one depends on the CUDA version
BYTES_A_GIB = 1 << 30
LAST_OF_OLD_NUMPY = (0, 30, 4)  # of numba-cuda, which uses something that NumPy 2.5 has removed

_configuring = Lock()


class NoGpuError(InvalidInputError):
    """A GPU was asked for and cannot be used here."""


class Gpu(NamedTuple):
    """Properties of the GPU that is used: the first one.

    Attributes
    ----------
    name : str or None
        Name reported by the driver; None if there is no GPU.
    memory : float
        In GiB.
    compute_capability, driver : str
        Such as "9.0", and the newest CUDA version that the driver supports, such as "13.0".
    packages : dict of str to str
        Versions of the installed packages that use it.
    problem : str or None
        Why no GPU can be used; None if one can.
    """

    name: str | None
    memory: float
    compute_capability: str
    driver: str
    packages: dict[str, str]
    problem: str | None


def cuda_module() -> Any:
    """Return ``numba.cuda`` after checking that a GPU can be used.

    Raises
    ------
    MissingExtraError
        If the package is not installed.
    NoGpuError
        If there is no GPU, or no driver for it.
    """
    from numba import config

    try:
        from numba import cuda
    except ImportError:
        raise MissingExtraError("numba-cuda", "cuda", 'device="cuda"') from None
    if getattr(config, "ENABLE_CUDASIM", 0):
        return cuda
    found = _versions(PACKAGES[:1])
    if not found:
        raise MissingExtraError("numba-cuda", "cuda", 'device="cuda"')
    numbers = tuple(int(part) for part in re.findall(r"\d+", found["numba-cuda"])[:3])
    if numbers <= LAST_OF_OLD_NUMPY and not hasattr(np, "row_stack"):
        raise NoGpuError(
            f"numba-cuda {found['numba-cuda']} does not work with NumPy {np.__version__}: install a newer "
            "numba-cuda, or  pip install 'numpy<2.5'"
        )
    try:
        cuda.get_current_device()  # type: ignore[no-untyped-call]  # numba's
    except Exception as error:  # many causes: no library, no driver, no device, or one that is too old
        raise NoGpuError(
            f"no GPU can be used here ({_line(error)}): "
            'use device="cpu", the default, or a machine with an NVIDIA GPU and its driver. '
            "`foregone doctor` shows what was found"
        ) from None
    return cuda


def configured(kernel: Any, n_blocks: int, n_threads: int, stream: Any, shared_bytes: int = 0) -> Any:
    """Return a kernel with its launch configuration, without a warning that few blocks leave a GPU idle.

    Small batches are not a mistake. The warning is switched off only here, not for kernels of the user.
    """
    launch = n_blocks, n_threads, stream, shared_bytes
    config = getattr(sys.modules[type(kernel).__module__], "config", None)
    if config is None:  # the simulator has no such warning
        return kernel[launch]
    with _configuring:
        warns = config.CUDA_LOW_OCCUPANCY_WARNINGS
        config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
        try:
            return kernel[launch]
        finally:
            config.CUDA_LOW_OCCUPANCY_WARNINGS = warns


def find_gpu() -> Gpu:
    """Look for a GPU; any error is returned as ``problem``."""
    versions = {**_versions(PACKAGES), **_versions(CUPY)}
    try:
        cuda = cuda_module()
        device = cuda.get_current_device()
        name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
        total = cuda.current_context().get_memory_info().total / BYTES_A_GIB
        capability = ".".join(str(part) for part in device.compute_capability)
        driver = ".".join(str(part) for part in cuda.cudadrv.driver.driver.get_version())
        return Gpu(name, total, capability, driver, versions, None)
    except Exception as error:  # it is only looked for
        return Gpu(None, 0.0, "", "", versions, str(error))


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
