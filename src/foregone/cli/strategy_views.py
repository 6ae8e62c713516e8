"""What `foregone show` says and draws of a strategy, one view for each kind."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from rich.console import Console

from foregone.checks import FloatArray, IntArray
from foregone.cli.output import describe_votes, print_picture, print_table, say, votes
from foregone.cli.risks import few, print_margins, print_risks, risk_fields
from foregone.display import EnvelopeShape, envelope_shape, score_shape
from foregone.kinds import distribution_of, evaluate, strategy_of
from foregone.plurality import PluralityStrategy
from foregone.scores import ScoreStrategy

__all__ = ["view_of"]

MOST_CHANCE_LINES = 5
MOST_LOOKS = 6  # at either end


class View(Protocol):
    """A strategy, for programs and for readers."""

    def fields(self) -> dict[str, Any]:
        """Return where it stops and what it costs and risks, for JSON."""

    def show(self, console: Console) -> None:
        """Print the same."""


def view_of(content: Any) -> View:
    """Return the view of whatever has a strategy."""
    strategy = strategy_of(content)
    if isinstance(strategy, ScoreStrategy):
        return ScoreView(strategy)
    return AnswerView(content) if isinstance(strategy, PluralityStrategy) else VoteView(content)


class _Counted:
    """Of strategies that count votes: cost and risk."""

    def __init__(self, content: Any) -> None:
        self.distribution: Any = distribution_of(content)
        self.evaluation: Any = evaluate(content)
        self.strategy: Any = self.evaluation.strategy

    def risk_fields(self) -> dict[str, Any]:
        meant = describe_votes(self.distribution)
        return {"votes": meant, **risk_fields(self.evaluation, self.distribution)}

    def show_risks(self, console: Console) -> None:
        console.print(f"\nMean over {describe_votes(self.distribution)}\n", markup=False)
        print_risks(console, self.evaluation, self.distribution)
        console.print()
        print_margins(console, self.evaluation)


class VoteView(_Counted):
    """Votes between two answers; states are [asked, yes] and [asked, yes, probability]."""

    def __init__(self, content: Any) -> None:
        super().__init__(content)
        self.shape = envelope_shape(self.strategy)

    def fields(self) -> dict[str, Any]:
        """Return what is drawn and said."""

        def states(stops: IntArray) -> list[list[int]]:
            return [[asked, (asked + lead) // 2] for asked, lead in stops.tolist()]

        return {
            "most_votes_asked": self.shape.last_asked,
            "answers_yes_from": states(self.shape.stop_yes),
            "answers_no_from": states(self.shape.stop_no),
            "chance_decides": [
                [asked, (asked + lead) // 2, probability]
                for asked, lead, probability in self.shape.randomised
            ],
            **self.risk_fields(),
        }

    def show(self, console: Console) -> None:
        """Draw the envelope; print thresholds, chance and risks."""
        if self.shape.last_asked == 0:
            answer = "yes" if self.strategy.answer(0, 0) else "no"
            console.print(f"It asks nobody: it answers {answer} at once.")
        else:
            print_picture(console, self.strategy)
            console.print()
            _print_steps(console, self.shape)
            _print_chance(console, self.shape)
            self._print_peculiarities(console)
        self.show_risks(console)

    def _print_peculiarities(self, console: Console) -> None:
        if self.shape.has_looks:
            steps = [str(step) for step in self.shape.stop_steps]
            if len(steps) > 2 * MOST_LOOKS:
                steps = [*steps[:MOST_LOOKS], "...", *steps[-MOST_LOOKS:]]
            console.print()
            say(console, f"It looks only now and then: it can stop after {', '.join(steps)} votes.")
        if not self.strategy.answers_majority:
            console.print()
            say(
                console,
                "At a stop it does not always answer the majority so far: see where it answers yes and no.",
            )


def _print_steps(console: Console, shape: EnvelopeShape) -> None:
    """Print the thresholds in words for a few steps."""
    yes, no = dict(shape.stop_yes.tolist()), dict(shape.stop_no.tolist())

    def score(asked: int, lead: int | None) -> str:
        return "" if lead is None else f"{(asked + lead) // 2} : {(asked - lead) // 2}"

    print_table(
        console,
        ["votes asked", "answers yes from (yes : no)", "answers no from (yes : no)"],
        [
            [str(asked), score(asked, yes.get(asked)), score(asked, no.get(asked))]
            for asked in few(sorted({*yes, *no}))
        ],
    )


def _print_chance(console: Console, shape: EnvelopeShape) -> None:
    chance = shape.randomised
    if not chance:
        return
    console.print()
    mark = "?" if console.options.ascii_only else "◆"
    for asked, lead, probability in chance[:MOST_CHANCE_LINES]:
        console.print(
            f"{mark} Chance decides after {asked} votes at {(asked + lead) // 2} : {(asked - lead) // 2}: "
            f"stops with probability {probability:.4g}"
        )
    if len(chance) > MOST_CHANCE_LINES:
        console.print(f"{mark} ... and in {len(chance) - MOST_CHANCE_LINES} more states")


class AnswerView(_Counted):
    """Votes among many answers: by the lead of the first answer over the second."""

    def __init__(self, content: Any) -> None:
        super().__init__(content)
        self.stops = self.evaluation.stops(self.distribution)

    def fields(self) -> dict[str, Any]:
        """Return where it stops after each number of votes, and cost and risk."""
        return {
            "n_states": self.strategy.lattice.n_states,
            "n_chance_decides": len(self.strategy.states),
            "stops": [after._asdict() for after in self.stops],
            **self.risk_fields(),
        }

    def show(self, console: Console) -> None:
        """Print where it stops after some numbers of votes, and cost and risk."""
        rows = [
            [
                str(after.asked),
                str(after.may_stop_from),
                "" if after.stops_from is None else str(after.stops_from),
                f"{after.probability:.1%}",
            ]
            for after in few(self.stops)
        ]
        columns = ["votes asked", "may stop from\na lead of", "always stops\nfrom a lead of", "stops here"]
        print_table(console, columns, rows)
        chance, n_states = len(self.strategy.states), self.strategy.lattice.n_states
        console.print(f"\nChance decides in {chance:,} of {n_states:,} states.")
        self.show_risks(console)


class ScoreView:
    """Scores that are added up: thresholds on the running score, and the certificate."""

    def __init__(self, strategy: ScoreStrategy) -> None:
        self.strategy = strategy
        self.shape = score_shape(strategy)

    def fields(self) -> dict[str, Any]:
        """Return the thresholds that can be reached, as [asked, score]."""

        def states(stops: FloatArray) -> list[list[float]]:
            return [[int(asked), score] for asked, score in stops.tolist()]

        return {
            "looks": self.strategy.looks.tolist(),
            "answers_yes_from": states(self.shape.stop_yes),
            "answers_no_from": states(self.shape.stop_no),
        }

    def show(self, console: Console) -> None:
        """Print some thresholds, and what is known from the rows that certified it."""
        lower, upper = self.strategy.lower, self.strategy.upper
        rows = [
            [
                str(step),
                *(f"{value + 0.0:.6g}" if np.isfinite(value) else "" for value in (upper[step], lower[step])),
            ]
            for step in few(self.strategy.looks.tolist())
        ]
        print_table(console, ["voters asked", "answers yes from", "answers no up to"], rows)
        console.print()
        certificate = self.strategy.certificate
        if certificate is not None:
            wrong, tried = certificate.n_wrong, certificate.n_certified
            sides = (
                ", ".join(f"{wrong[side]} of {tried[side]:,} ({side})" for side in wrong)
                if isinstance(wrong, dict) and isinstance(tried, dict)
                else f"{wrong} of {tried:,}"
            )
            say(
                console,
                f"Tried on rows it was not learned from: answered differently on {sides}; asked "
                f"{votes(certificate.mean_asked)} of {self.strategy.n_voters:,} voters on average.",
            )
        elif self.strategy.reason is not None:
            say(console, f"It asks everyone: {self.strategy.reason}")
