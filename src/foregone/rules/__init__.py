"""Ready-made stopping rules to compare with the optimal strategies; each returns a StoppingStrategy.

One convention holds for all of them: besides its own condition, every rule stops as soon as the voters not
yet asked cannot change the answer. That saves votes and never changes an answer.

`foregone.rules.registry` has them by name, also those for many answers: `foregone compare` and `foregone
replay` choose from it. A rule of your own goes wherever a name does: see `foregone.rules.methods.Method.of`.

A rule looks at one vote. Blend-ASC (arXiv 2511.12309) spends one budget over all questions, so where it stops
on one depends on the others: it is not a function of the counts, and not among these.
"""

from foregone.rules.adaptive_consistency import adaptive_consistency
from foregone.rules.cite import cite
from foregone.rules.curtailment import curtailment
from foregone.rules.e_process import e_process
from foregone.rules.esc import esc
from foregone.rules.ibep import ibep
from foregone.rules.lead import lead
from foregone.rules.learned_prior import learned_prior
from foregone.rules.quorum import quorum
from foregone.rules.schwing import schwing

__all__ = [
    "adaptive_consistency",
    "cite",
    "curtailment",
    "e_process",
    "esc",
    "ibep",
    "lead",
    "learned_prior",
    "quorum",
    "schwing",
]
