"""Asking for memory before it is needed."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

BYTE_POINTER, NUMBER = ir.IntType(8).as_pointer(), ir.IntType(32)
FOR_READING, INTO_EVERY_CACHE, DATA = NUMBER(0), NUMBER(3), NUMBER(1)


@intrinsic
def prefetch(_typing, array, index, distance):
    """Have the cache line ``distance`` bytes behind ``array[index]`` fetched, and wait for nothing.

    A load that misses the cache holds up all that comes after it, once the processor's window is full; a
    prefetch does not. It is a hint: any address will do, even one outside of the array.
    """

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        parts = make_array(kind)(context, builder, arguments[0])
        indices = [arguments[1]] + [ir.Constant(arguments[1].type, 0)] * (kind.ndim - 1)
        item = cgutils.get_item_pointer(context, builder, kind, parts, indices)
        address = builder.gep(builder.bitcast(item, BYTE_POINTER), [arguments[2]])
        hint = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [BYTE_POINTER],
            ir.FunctionType(ir.VoidType(), [BYTE_POINTER, NUMBER, NUMBER, NUMBER]),
        )
        builder.call(hint, [address, FOR_READING, INTO_EVERY_CACHE, DATA])
        return context.get_dummy_value()

    return types.void(array, types.uintp, types.uintp), generate
