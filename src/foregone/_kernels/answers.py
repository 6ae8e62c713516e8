"""The likelier full vote in every state, as one threshold a step."""

import numpy as np

from foregone._kernels.compiled import compiled
from foregone._kernels.induction import step_back


@compiled(nogil=True)
def likeliest(from_row, to_row, no, yes, thresholds):
    """Move ``thresholds[i]``, from where on the answer is yes, to agree with the likelier full vote.

    ``no`` and ``yes`` are the weights of the states of row ``to_row`` whose full vote is "no" and "yes", in
    the end those of ``from_row``. States that neither reaches leave a threshold where it is.
    """
    numbers = np.arange(len(no)).astype(np.float64)
    for i in range(to_row - 1, from_row - 1, -1):
        step_back(no, numbers, i, i + 1)
        step_back(yes, numbers, i, i + 1)
        least, most = 0, i + 1
        for j in range(i + 1):
            if yes[j] > no[j]:
                most = j
                break
            if no[j] > 0.0:
                least = j + 1
        thresholds[i] = min(max(thresholds[i], least), most)
