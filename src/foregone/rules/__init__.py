"""Ready-made stopping rules to compare with the optimal strategies; each returns a StoppingStrategy.

One convention holds for all of them: besides its own condition, every rule stops as soon as the voters not
yet asked cannot change the answer. That saves votes and never changes an answer.

`foregone.rules.registry` has them by name, also those for many answers: `foregone compare` and `foregone
replay` choose from it. A rule of your own goes wherever a name does: see `foregone.rules.methods.Method.of`.
"""

from foregone.rules.adaptive_consistency import adaptive_consistency
from foregone.rules.curtailment import curtailment
from foregone.rules.e_process import e_process
from foregone.rules.esc import esc
from foregone.rules.ibep import ibep
from foregone.rules.lead import lead
from foregone.rules.schwing import schwing

__all__ = ["adaptive_consistency", "curtailment", "e_process", "esc", "ibep", "lead", "schwing"]
