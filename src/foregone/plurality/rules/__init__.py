"""The usual rules for votes among any number of answers; each returns a PluralityStrategy.

As in `foregone.rules`, besides its own condition every rule stops as soon as the voters not yet asked cannot
change the answer; and at least one voter is always asked.
"""

from foregone.plurality.rules.adaptive_consistency import adaptive_consistency
from foregone.plurality.rules.curtailment import curtailment
from foregone.plurality.rules.esc import esc
from foregone.plurality.rules.lead import lead

__all__ = ["adaptive_consistency", "curtailment", "esc", "lead"]
