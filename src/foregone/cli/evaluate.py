"""``foregone evaluate``: what a strategy costs and risks."""

from __future__ import annotations

import numpy as np

from foregone.cli.options import JsonFlag, StrategyFile, VoteFile, load_strategy, votes_meant
from foregone.cli.output import describe_votes, make_console, number_of_voters, print_json, say
from foregone.cli.risks import class_fields, print_margins, print_risks
from foregone.evaluation import evaluate
from foregone.progress import working

__all__ = ["evaluate_command"]


def evaluate_command(
    strategy_file: StrategyFile, vote_file: VoteFile = None, as_json: JsonFlag = False
) -> None:
    """Compute exactly what a strategy costs and risks.

    The mean is over the votes given with --votes, or else those the strategy was
    solved for, or else flat ones; the worst is over every possible vote. Both are
    given for each class as well: an average can hide what becomes of a rare one.

    \b
    Examples:
      foregone evaluate strategy.json
      foregone evaluate strategy.json --votes counts.csv
      foregone evaluate strategy.json --json
    """
    strategy, solution = load_strategy(strategy_file)
    distribution = votes_meant(strategy, solution, vote_file)
    with working(f"Evaluating for {number_of_voters(strategy.n_voters)}"):
        evaluation = evaluate(strategy)
    asked = evaluation.votes_asked(distribution)
    meant = describe_votes(distribution, vote_file)
    if as_json:
        print_json(
            {
                "n_voters": strategy.n_voters,
                "votes": meant,
                "mean": evaluation.mean(distribution)._asdict(),
                "worst": evaluation.worst()._asdict(),
                **class_fields(evaluation, distribution),
                "expected_votes": evaluation.expected_votes.tolist(),
                "disagreement": evaluation.disagreement.tolist(),
                "votes_asked": asked.tolist(),
            }
        )
        return
    console = make_console()
    console.print(f"Strategy for {number_of_voters(strategy.n_voters)}\nMean over {meant}\n", markup=False)
    print_risks(console, evaluation, distribution)
    console.print()
    print_margins(console, evaluation)
    within = np.minimum(np.cumsum(asked), 1.0)
    half, most = (int(np.searchsorted(within, share - 1e-12)) for share in (0.5, 0.9))
    last = int(np.flatnonzero(asked > 0).max())
    console.print()
    say(
        console,
        f"Half of the time it asks at most {half}, nine times out of ten at most {most}, "
        f"never more than {last}.",
    )
