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

    def quarters(words, place):
        """Return the halves of two words, those of the pair at ``place``."""
        return (*halves(words, 2 * int(place)), *halves(words, 2 * int(place) + 1))

else:

    def _loader(n_halves: int) -> Any:
        """Return the code generator of a load of so many halves at once."""

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            from llvmlite import ir

            half = ir.IntType(32)
            array = context.make_array(signature.args[0])(context, builder, given[0])
            index = context.cast(builder, given[1], signature.args[1], types.uint64)
            index = builder.mul(index, ir.Constant(ir.IntType(64), n_halves // 2))
            vector = ir.VectorType(half, n_halves).as_pointer()
            all_halves = builder.load(
                builder.bitcast(builder.gep(array.data, [index]), vector), align=4 * n_halves
            )
            parts = [
                builder.extract_element(all_halves, ir.Constant(half, number)) for number in range(n_halves)
            ]
            return context.make_tuple(builder, signature.return_type, parts)

        return generate

    @intrinsic
    def halves(typing_context, words, place):
        """Return the lower and the higher half of a word, in one load."""
        return types.UniTuple(types.uint32, 2)(words, place), _loader(2)

    @intrinsic
    def quarters(typing_context, words, place):
        """Return the halves of two words, those of the pair at ``place``, in one load."""
        return types.UniTuple(types.uint32, 4)(words, place), _loader(4)
