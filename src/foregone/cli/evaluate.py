"""``foregone evaluate``: what a strategy costs and risks."""

from __future__ import annotations

import numpy as np

from foregone.cli.options import JsonFlag, StrategyFile, VoteFile, choose_votes, load_strategy
from foregone.cli.output import describe_votes, make_console, print_json, print_table, rate, say, votes
from foregone.evaluation import evaluate

__all__ = ["evaluate_command"]


def evaluate_command(
    strategy_file: StrategyFile, vote_file: VoteFile = None, as_json: JsonFlag = False
) -> None:
    """Compute exactly what a strategy costs and risks.

    The mean is over the votes given with --votes, or else those the strategy was
    solved for, or else flat ones; the worst is over every possible vote.

    \b
    Examples:
      foregone evaluate strategy.json
      foregone evaluate strategy.json --votes counts.csv
      foregone evaluate strategy.json --json
    """
    strategy, solution = load_strategy(strategy_file)
    if vote_file is None and solution is not None:
        distribution = solution.votes
    else:
        distribution = choose_votes(strategy.n_voters, vote_file)
    evaluation = evaluate(strategy)
    mean, worst = evaluation.mean(distribution), evaluation.worst()
    asked = evaluation.votes_asked(distribution)
    meant = describe_votes(distribution, vote_file)
    if as_json:
        print_json(
            {
                "n_voters": strategy.n_voters,
                "votes": meant,
                "mean": mean._asdict(),
                "worst": worst._asdict(),
                "expected_votes": evaluation.expected_votes.tolist(),
                "disagreement": evaluation.disagreement.tolist(),
                "votes_asked": asked.tolist(),
            }
        )
        return
    console = make_console()
    console.print(f"Strategy for {strategy.n_voters} voters\nMean over {meant}\n", markup=False)
    slowest = int(evaluation.expected_votes.argmax())
    riskiest = int(evaluation.disagreement.argmax())
    print_table(
        console,
        ["", "expected votes", "disagreement"],
        [
            ["mean", votes(mean.expected_votes), rate(mean.disagreement)],
            ["worst", votes(worst.expected_votes), rate(worst.disagreement)],
            ["  with this many yes votes in all", str(slowest), str(riskiest)],
        ],
    )
    within = np.minimum(np.cumsum(asked), 1.0)
    half, most = (int(np.searchsorted(within, share - 1e-12)) for share in (0.5, 0.9))
    last = int(np.flatnonzero(asked > 0).max())
    console.print()
    say(
        console,
        f"Half of the time it asks at most {half}, nine times out of ten at most {most}, "
        f"never more than {last}.",
    )
