"""``foregone evaluate``: what a strategy costs and risks."""

from __future__ import annotations

from typing import Any

import numpy as np

from foregone._system.progress import working
from foregone.cli.options import JsonFlag, MaxMemory, StrategyFile, VoteFile, votes_meant
from foregone.cli.output import describe_votes, make_console, number_of_voters, print_json, say
from foregone.cli.risks import print_margins, print_risks, risk_fields
from foregone.kinds import evaluate, strategy_of
from foregone.saved_file import load
from foregone.strategy.evaluation import Evaluation

__all__ = ["evaluate_command"]


def evaluate_command(
    strategy_file: StrategyFile,
    vote_file: VoteFile = None,
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute exactly what a strategy costs and risks.

    The mean is over the votes given with --votes, or else those the strategy was
    solved for, or else flat ones; the worst is over every possible vote. Both are
    given for each class as well: an average can hide what becomes of a rare one.
    For many answers, --votes is a file of recorded votes, as 'foregone replay'
    reads it, and the worst is given by the lead in the full vote.

    \b
    Examples:
      foregone evaluate strategy.json
      foregone evaluate strategy.json --votes counts.csv
      foregone evaluate strategy.json --json
    """
    content = load(strategy_file, max_memory=max_memory)
    strategy = strategy_of(content)
    distribution: Any = votes_meant(content, vote_file, max_memory)
    with working(f"Evaluating for {number_of_voters(strategy.n_voters)}"):
        evaluation = evaluate(content)
        asked = evaluation.votes_asked(distribution)
    meant = describe_votes(distribution, vote_file)
    if as_json:
        every = {}
        if isinstance(evaluation, Evaluation):
            every = {name: getattr(evaluation, name).tolist() for name in ("expected_votes", "disagreement")}
        print_json(
            {
                "n_voters": strategy.n_voters,
                "votes": meant,
                **risk_fields(evaluation, distribution),
                **every,
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
