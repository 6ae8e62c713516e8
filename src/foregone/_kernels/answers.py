"""The likelier full vote in every state, as one threshold a step."""

import numpy as np

from foregone._kernels.compiled import compiled
from foregone._kernels.induction import step_back


@compiled
def likeliest(no_weights, yes_weights, thresholds):
    """Move ``thresholds[i]``, from where on the answer is yes, to agree with the likelier full vote.

    ``no_weights`` and ``yes_weights`` are the parts of the distribution of n whose full vote is "no" and
    "yes". States that neither reaches leave a threshold where it is.
    """
    N = len(no_weights) - 1
    no, yes = no_weights.copy(), yes_weights.copy()
    numbers = np.arange(N + 1).astype(np.float64)
    for i in range(N - 1, -1, -1):
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
