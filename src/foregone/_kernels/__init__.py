"""Compiled loops: typed arrays in, ``out`` filled. No decisions about input, no validation.

Symbols (only here, in ``solving`` and in ``docs/theory.md``): ``N`` voters, ``n`` of them would
say yes; state ``(i, j)``: i asked, j said yes; ``m = N // 2``, the largest n whose full vote is "no".
"""
