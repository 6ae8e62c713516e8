"""What a GPU is good at: words of 32 bits instead of 64, and kernels that leave room for many threads."""

from typing import Any

import numpy as np
from numba import config, cuda, types
from numba.extending import intrinsic

REGISTERS = 32  # of a thread, with which a multiprocessor holds as many threads as it can
IS_SIMULATED = bool(getattr(config, "ENABLE_CUDASIM", 0))


def in_few_registers(kernel: Any, registers: int = REGISTERS) -> Any:
    """Compile a kernel for as many threads at a time as possible: they wait for memory most of the time."""
    options: dict[str, Any] = {} if IS_SIMULATED else {"max_registers": registers}
    return cuda.jit(**options)(kernel)


if IS_SIMULATED:

    def halves(words, place):
        """Return the lower and the higher half of a word."""
        word = int(words[place])
        return np.uint32(word & 0xFFFFFFFF), np.uint32(word >> 32)

else:

    @intrinsic
    def halves(typing_context, words, place):
        """Return the lower and the higher half of a word, in one load."""

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            from llvmlite import ir

            half = ir.IntType(32)
            array = context.make_array(signature.args[0])(context, builder, given[0])
            index = context.cast(builder, given[1], signature.args[1], types.uint64)
            at = builder.bitcast(builder.gep(array.data, [index]), ir.VectorType(half, 2).as_pointer())
            both = builder.load(at, align=8)
            parts = [builder.extract_element(both, ir.Constant(half, number)) for number in (0, 1)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(types.uint32, 2)(words, place), generate
