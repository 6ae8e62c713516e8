"""``foregone evaluate``: the exact cost and risk of a strategy."""

from __future__ import annotations

import numpy as np

from foregone._system.progress import working
from foregone.cli.commands import JsonFlag
from foregone.cli.options import MaxMemory, OtherVoteFile, StrategyFile, votes_meant
from foregone.cli.output import (
    describe_votes,
    make_console,
    number_of_voters,
    print_json,
    quota_in_words,
    say,
)
from foregone.cli.views import VoteView, counted_view
from foregone.kinds import strategy_of
from foregone.saved_file import load

__all__ = ["evaluate_command"]


def evaluate_command(
    strategy_file: StrategyFile,
    vote_file: OtherVoteFile = None,
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute the exact cost and risk of a strategy.

    Means are over the votes in --votes; without it, over the votes that the
    strategy was solved for, or over flat votes. Worst cases are over all possible
    votes. Both are also given by class, because a mean can hide a rare class.
    For many answers, --votes is a file of recorded votes, as for 'foregone
    replay', and the worst case is given for each lead in the full vote.

    \b
    Examples:
      foregone evaluate strategy.json
      foregone evaluate strategy.json --votes counts.csv
      foregone evaluate strategy.json --json
    """
    content = load(strategy_file, max_memory=max_memory)
    n_voters = strategy_of(content).n_voters
    distribution = votes_meant(content, vote_file, max_memory)
    with working(f"Evaluating for {number_of_voters(n_voters)}"):
        view = counted_view(content, distribution)
        asked = view.votes_asked()
    meant = describe_votes(distribution, vote_file)
    if as_json:
        quota = {"quota": view.strategy.quota} if isinstance(view, VoteView) else {}
        told = {
            "n_voters": n_voters,
            **quota,
            "votes": meant,
            **view.risk_fields(),
            **view.every_vote_fields(),
        }
        print_json({**told, "votes_asked": asked.tolist()})
        return
    console = make_console()
    whom = [number_of_voters(n_voters)]
    if isinstance(view, VoteView):
        whom += filter(None, [quota_in_words(view.strategy)])
    console.print(f"Strategy for {', '.join(whom)}\nMean over {meant}\n", markup=False)
    view.print_risks(console)
    console.print()
    view.print_margins(console)
    within = np.minimum(np.cumsum(asked), 1.0)
    half, most = (int(np.searchsorted(within, share - 1e-12)) for share in (0.5, 0.9))
    last = int(np.flatnonzero(asked > 0).max())
    console.print()
    say(
        console,
        f"It asks at most {half} votes in half of all polls, at most {most} in nine out of ten, and never "
        f"more than {last}.",
    )
