"""From keys to ranks: how many of the keys that a column is compared with lie below a row's own, in bytes.

A node that compares with the cut number r of its column sends a row to the right when the row's rank is above
r. A column with more cuts than `CUTS_A_COLUMN` has several columns of ranks, each for as many of them: where
the rank belongs to an earlier one it is 0, to a later one `CUTS_A_COLUMN`.
"""

import numpy as np

from foregone._kernels.compiled import compiled

CUTS_A_COLUMN = 254
SOURCE, FIRST_CUT, END_OF_CUTS, FIRST_COLUMN, TABLE_WIDTH = 0, 1, 2, 3, 4
LANES = 64  # rows that are looked at side by side
MOST_ONE_BY_ONE = 48  # cuts that are compared one by one; of more, every STRIDE-th first
STRIDE = 16


@compiled
def fill_ranks(keys, stride, n_rows, cuts, table, n_columns, ranks):
    """Fill ``n_columns`` ranks for each row, given its ``stride`` keys.

    ``table`` has a line for each column of keys that has cuts: the number of this column, where its cuts
    begin and end in ``cuts``, and its first column of ranks; and a last line that says where all of it ends.
    Cuts rise strictly. More than `MOST_ONE_BY_ONE` are filled up to a multiple of `STRIDE` with a key that no
    other exceeds.
    """
    own, below = np.empty(LANES, keys.dtype), np.empty(LANES, np.uint16)
    for lane in range(LANES):
        own[lane] = 0
    for first in range(0, n_rows, LANES):
        n_lanes = min(LANES, n_rows - first)
        for line in range(len(table) - 1):
            start, end = table[line, FIRST_CUT], table[line, END_OF_CUTS]
            source = first * stride + table[line, SOURCE]
            for lane in range(n_lanes):
                own[lane] = keys[source + lane * stride]
            for lane in range(LANES):
                below[lane] = 0
            step = 1 if end - start <= MOST_ONE_BY_ONE else STRIDE
            for place in range(start + step - 1, end, step):
                cut = cuts[place]
                for lane in range(LANES):
                    below[lane] += np.uint16(own[lane] > cut)
            if step == STRIDE:
                for lane in range(n_lanes):
                    rank = STRIDE * np.int64(below[lane])
                    if start + rank < end:
                        key, more = own[lane], np.uint16(0)
                        for place in range(STRIDE):
                            more += np.uint16(key > cuts[start + rank + place])
                        rank += np.int64(more)
                    below[lane] = rank
            column, last_column = table[line, FIRST_COLUMN], table[line + 1, FIRST_COLUMN]
            if last_column == column + 1:
                for lane in range(n_lanes):
                    ranks[(first + lane) * n_columns + column] = np.uint8(below[lane])
                continue
            for number in range(last_column - column):
                earlier = number * CUTS_A_COLUMN
                for lane in range(n_lanes):
                    rank = min(max(np.int64(below[lane]) - earlier, 0), CUTS_A_COLUMN)
                    ranks[(first + lane) * n_columns + column + number] = np.uint8(rank)
