"""Kernels that run packed trees on a GPU, for numba's CUDA target; imported only when a GPU is asked for.

One kernel looks at all values, and makes the bits that stand for rows where chance plays a part. Then a
*group* of lanes, threads of one warp, works on one row at a time: every lane walks through a tree of its own,
and what the trees say is counted in the order asked. What lanes found beyond the stop is thrown away, so
outcomes are those of the CPU, row for row. Groups take the next row as soon as they are done; those of one
warp walk together.

Each file makes kernels of one kind. What is known when they are made, a `KernelShape` and so on, is constant
in them. Scalar code, such as draws and keys, is that of the CPU: numba compiles the same functions for both.
"""
