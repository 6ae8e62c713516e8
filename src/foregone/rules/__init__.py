"""Ready-made stopping rules to compare with the optimal strategies; each returns a StoppingStrategy.

In addition to its own condition, every rule stops as soon as the remaining voters cannot change the answer.
That saves votes and never changes an answer.

`foregone.rules.registry` lists them by name, including rules for many answers; `foregone compare` and
`foregone replay` choose from it. Custom rules can be used wherever a name can: see
`foregone.rules.methods.Method.of`.

A rule depends only on the counts of one poll. Blend-ASC (arXiv 2511.12309) is not included, because it spends
one budget over all questions, so where it stops on one depends on the others.
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
