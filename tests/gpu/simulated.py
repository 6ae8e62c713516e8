"""numba's simulator of a GPU, made able to run our kernels. Import this before anything of foregone.

The simulator runs the threads of a block as threads of Python, and knows no warps. Here a block is one group
of lanes, or several whole warps, and its threads are greenlets, which switch faster than threads. Functions
that are compiled for the CPU as parts of other ones are called as plain Python by simulated kernels.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy as np
from greenlet import getcurrent, greenlet
from numba import cuda, njit
from numba.core.dispatcher import Dispatcher
from numba.cuda.simulator import kernel as simulated_kernel
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray
from numba.cuda.simulator.kernelapi import Dim3, FakeCUDAModule

import foregone._kernels.compiled as compiled

WARP = 32


# Compiled functions ------------------------------------------------------------------------------


def _called_by_python(kind: type[Dispatcher]) -> type[Dispatcher]:
    return type("CalledByPython", (kind,), {"__call__": lambda self, *given: self.py_func(*given)})


_inner = njit(no_cfunc_wrapper=True, no_cpython_wrapper=True)


def inner(function: Any) -> Any:
    dispatcher = _inner(function)
    dispatcher.__class__ = _called_by_python(type(dispatcher))
    return dispatcher


compiled.inner = inner


# Numbers -----------------------------------------------------------------------------------------

if np.lib.NumpyVersion(np.__version__) < "2.0.0":
    # NumPy 1 adds a uint64 and an int to a float, even where it is an index. Compiled code does not.
    _get, _set = FakeCUDAArray.__getitem__, FakeCUDAArray.__setitem__

    def _index(at: Any) -> Any:
        return int(at) if isinstance(at, np.floating) else at

    FakeCUDAArray.__getitem__ = lambda self, at: _get(self, _index(at))
    FakeCUDAArray.__setitem__ = lambda self, at, value: _set(self, _index(at), value)


# Calls of device functions -----------------------------------------------------------------------

_run_kernel = simulated_kernel.FakeCUDAKernel.__call__


def _call(self: Any, *args: Any) -> Any:
    """Call a device function as it is: whoever started the kernel has swapped the module for all of them."""
    return self.fn(*args) if self._device else _run_kernel(self, *args)


@contextlib.contextmanager
def _swapped_everywhere(fn: Any, within_kernel: Any) -> Iterator[None]:
    """Let `cuda` be what kernels see of it, in every module that has kernels."""
    ours = [module for name, module in sys.modules.items() if name.startswith("foregone._kernels.gpu.")]
    swapped = [module for module in ours if getattr(module, "cuda", None) is cuda]
    for module in swapped:
        module.cuda = within_kernel
    try:
        yield
    finally:
        for module in swapped:
            module.cuda = cuda


simulated_kernel.FakeCUDAKernel.__call__ = _call
simulated_kernel.swapped_cuda_module = _swapped_everywhere


# Threads that wait for each other ----------------------------------------------------------------


class Lane(greenlet):
    """A thread of a block, which runs until it waits for others."""

    def __init__(self, block: Block, grid_point: Any, number: int, args: Any) -> None:
        super().__init__(lambda: block._f(*args))
        self.block, self.number = block, number
        self.blockIdx, self.threadIdx = Dim3(*grid_point), Dim3(number, 0, 0)


class Block(simulated_kernel.BlockManager):
    """Runs threads one at a time, each until it waits for the others: no polling, and the same every time."""

    def run(self, grid_point: Any, *args: Any) -> None:
        self.lanes = [Lane(self, grid_point, number, args) for number in range(self._block_dim[0])]
        self.said: list[Any] = [None] * len(self.lanes)
        self.arrived: set[int] = set()
        while not all(lane.dead for lane in self.lanes):
            for lane in self.lanes:
                if not lane.dead:
                    lane.switch()

    def wait(self) -> None:
        getcurrent().parent.switch()


simulated_kernel.BlockManager = Block


def _together(said: Any) -> list[Any]:
    """Tell the others something, and return what all lanes say."""
    lane = getcurrent()
    block, number = lane.block, lane.number
    block.said[number] = said
    block.wait()
    first = number - number % WARP
    heard = block.said[first : first + WARP]
    block.wait()
    return heard


def syncthreads(self: Any) -> None:
    """Wait until all threads of the block are here, or have ended."""
    lane = getcurrent()
    block, number = lane.block, lane.number
    block.arrived.add(number)
    while number in block.arrived:
        if len(block.arrived) + sum(other.dead for other in block.lanes) == len(block.lanes):
            block.arrived.clear()
        else:
            block.wait()


def ballot_sync(self: Any, mask: int, predicate: bool) -> int:
    return sum(1 << lane for lane, said in enumerate(_together(bool(predicate))) if said)


def shfl_sync(self: Any, mask: int, value: Any, source: int) -> Any:
    return _together(value)[int(source)]


def syncwarp(self: Any, mask: int) -> None:
    _together(None)


class Device:
    """What is asked of a device; numba's simulator tells only a part of it."""

    MULTIPROCESSOR_COUNT = 1


if not hasattr(cuda, "get_current_device"):
    cuda.get_current_device = Device

cuda.as_cuda_array = lambda array: array
FakeCUDAArray.__cuda_array_interface__ = property(lambda self: self._ary.__array_interface__)
FakeCUDAModule.threadIdx = property(lambda self: getcurrent().threadIdx)
FakeCUDAModule.blockIdx = property(lambda self: getcurrent().blockIdx)
FakeCUDAModule.ballot_sync = ballot_sync
FakeCUDAModule.shfl_sync = shfl_sync
FakeCUDAModule.syncwarp = syncwarp
FakeCUDAModule.syncthreads = syncthreads


# One group a block -------------------------------------------------------------------------------


def use_small_blocks(most_groups: int = 3) -> None:
    """Let every block be one group of lanes, and have few of them, so that each takes several rows."""
    from foregone.forest import gpu_forest

    def plan_launch(n_rows: int, lanes: int, n_processors: int) -> Any:
        return gpu_forest.Launch(min(n_rows, most_groups), lanes)

    plan_on_gpu = gpu_forest.plan_tiles

    def plan_tiles(n_rows: int, *given: int) -> Any:
        planned = plan_on_gpu(n_rows, *given)
        if planned is None:
            return None
        (_, n_threads), tile_bytes = planned
        return gpu_forest.Launch(min(n_rows, most_groups), n_threads), tile_bytes

    gpu_forest.plan_launch, gpu_forest.plan_tiles = plan_launch, plan_tiles
    gpu_forest.MOST_STREAMS = 1  # it runs one kernel at a time


assert cuda.is_available()
