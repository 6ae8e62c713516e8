"""``foregone compare --answers``: optimal strategies and the usual rules for many answers, side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foregone.cli.output import make_console, number_of_voters, print_comparison_table, print_json, say
from foregone.errors import InvalidInputError
from foregone.plurality import (
    CompositionDistribution,
    PluralityStrategy,
    evaluate_plurality,
    lattice_of,
    rules,
    solve_plurality,
)
from foregone.replaying import PluralityItems, read_votes
from foregone.solving import Criterion

__all__ = ["compare_many"]

OPTIMAL: tuple[Criterion, ...] = ("minimean", "minimixed", "minimax")
MOST_STATES_FOR_THE_WORST = 3_000  # beyond, minimixed and minimax take minutes
THRESHOLD = 0.95  # of Adaptive-Consistency, its authors' choice


def compare_many(
    limit: float,
    n_voters: int | None,
    n_classes: int | None,
    vote_file: Path | None,
    lead: int,
    window: int,
    as_json: bool,
    max_memory: float | None,
) -> None:
    """Print the comparison, for recorded votes or every composition equally likely."""
    if n_voters is None:
        raise InvalidInputError("say how many voters there are, with --voters N")
    lattice = lattice_of(n_voters, n_classes)
    if vote_file is None:
        distribution = CompositionDistribution.flat(lattice)
        meant = "flat votes: every way to split the votes equally likely"
    else:
        items = PluralityItems.of(read_votes(vote_file, max_memory=max_memory), n_voters, n_classes=n_classes)
        distribution = items.calibrate(np.arange(items.n_items)).averaged
        meant = f"the votes in {vote_file}"
    shown = OPTIMAL if lattice.n_states <= MOST_STATES_FOR_THE_WORST else OPTIMAL[:1]
    strategies: dict[str, PluralityStrategy] = {
        criterion: solve_plurality(
            distribution, limit, n_voters=n_voters, n_classes=n_classes, confidence=None, criterion=criterion
        ).strategy
        for criterion in shown
    }
    strategies |= {
        "curtailment": rules.curtailment(n_voters, n_classes),
        f"Adaptive-C. {THRESHOLD:g}": rules.adaptive_consistency(n_voters, THRESHOLD, n_classes=n_classes),
        f"Dirichlet {THRESHOLD:g}": rules.adaptive_consistency(
            n_voters, THRESHOLD, kind="dirichlet", n_classes=n_classes
        ),
        f"lead of {lead}": rules.lead(n_voters, lead, n_classes=n_classes),
        f"ESC of {window}": rules.esc(n_voters, window, n_classes=n_classes),
    }
    evaluations = {name: evaluate_plurality(strategy) for name, strategy in strategies.items()}
    figures = {
        name: (evaluation.mean(distribution), evaluation.worst()) for name, evaluation in evaluations.items()
    }
    if as_json:
        rows = {
            name: {"optimal": name in shown, "mean": mean._asdict(), "worst": worst._asdict()}
            for name, (mean, worst) in figures.items()
        }
        size = {"n_voters": n_voters, "n_classes": n_classes, "max_disagreement": limit, "votes": meant}
        print_json({**size, "strategies": rows})
        return
    console = make_console()
    answers = "any answers" if n_classes is None else f"at most {n_classes} different answers"
    console.print(
        f"{number_of_voters(n_voters)}, {answers}, disagreement at most {limit:g}\nMeans over {meant}\n",
        markup=False,
    )
    print_comparison_table(console, figures, limit, emphasised=len(shown))
    console.print()
    words = "The first three are optimal, each for its own criterion."
    if len(shown) == 1:
        words = "The first is optimal; the other criteria would take minutes."
    say(
        console,
        f"{words} Within the limit: for every input (always), only on average over these votes, or not at "
        "all. An answer agrees if it is among the leaders of the full vote.",
    )
