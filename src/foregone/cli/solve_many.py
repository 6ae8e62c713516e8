"""``foregone solve --answers``: find the strategy for many answers and keep it."""

from __future__ import annotations

from pathlib import Path

from foregone.cli.options import recorded_items
from foregone.cli.output import answers, make_console, number_of_voters, print_json, rate
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution, PluralitySolution, solve_plurality
from foregone.solving import Criterion

__all__ = ["solve_many"]

TOLD = (
    "criterion", "n_voters", "n_classes", "max_disagreement", "confidence", "expected_votes", "disagreement",
    "lower_bound", "gap",
)  # fmt: skip


def solve_many(
    limit: float,
    n_voters: int | None,
    n_classes: int | None,
    criterion: Criterion,
    vote_file: Path | None,
    confidence: float | None,
    output: Path | None,
    as_json: bool,
    max_memory: float | None,
) -> None:
    """Solve for recorded votes, or for every composition equally likely; write and print the solution."""
    if n_voters is None:
        raise InvalidInputError("say how many voters there are, with --voters N")
    given: CompositionDistribution | None = None
    if vote_file is not None:
        calibration = recorded_items(vote_file, n_voters, n_classes, max_memory)
        given = calibration.averaged if confidence is None else calibration.observed
    solution = solve_plurality(
        given, limit, n_voters=n_voters, n_classes=n_classes, confidence=confidence, criterion=criterion
    )
    if output is not None:
        solution.save(output)
    if as_json:
        print_json(
            {**{name: getattr(solution, name) for name in TOLD}, "strategy": solution.strategy.to_fields()}
        )
        return
    _print(solution, vote_file, output)


def _print(solution: PluralitySolution, vote_file: Path | None, output: Path | None) -> None:
    mean, worst = "on average over these votes", "at worst over all possible votes"
    risk = mean if solution.criterion == "minimean" else worst
    if solution.confidence is not None:
        risk = f"largest mean to reckon with at {100 * solution.confidence:g} % confidence"
    votes = "flat votes" if vote_file is None else f"the votes in {vote_file}"
    kept = "Nothing was written. Keep it with  -o strategy.json"
    if output is not None:
        kept = f"Written to {output}. Prove it with  foregone certify {output}"
    lines = [
        f"{solution.criterion} strategy for {number_of_voters(solution.n_voters)}, "
        f"{answers(solution.n_classes)}, disagreement at most {solution.max_disagreement:g}",
        f"Solved for {votes}\n",
        f"  expected votes   {solution.expected_votes:<12.6g} "
        f"{worst if solution.criterion == 'minimax' else mean}",
        f"  disagreement     {rate(solution.disagreement):<12} {risk}",
        f"  lower bound      {solution.lower_bound:<12.6g} no strategy does better (gap {solution.gap:.1e})",
        f"  chance decides   in {len(solution.strategy.states):,} of {solution.strategy.lattice.n_states:,} "
        "states\n",
        kept,
    ]
    make_console().print("\n".join(lines), markup=False)
