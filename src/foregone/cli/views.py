"""Views of strategies in the terminal: one class for each kind, chosen from one table.

Because an average can hide a risk, risk is also shown by the answer of the full vote and by how close it is.
Votes among many answers have no yes and no; their risk is shown by the lead in the full vote.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from rich.console import Console

from foregone.checks import FloatArray, IntArray
from foregone.cli.output import describe_votes, print_picture, print_table, rate, say, votes
from foregone.display import EnvelopeShape, envelope_shape, score_shape
from foregone.display.risk import SHARES, majorities, spread, votes_to_turn
from foregone.kinds import AnyDistribution, KindOfVote, distribution_of, evaluate, kind_of, strategy_of
from foregone.plurality import PluralityEvaluation
from foregone.strategy.evaluation import Evaluation, Figures, FullAnswer
from foregone.strategy.thresholds import majority

__all__ = [
    "AnswerView",
    "CountedView",
    "ScoreView",
    "VoteView",
    "compared_votes",
    "counted_view",
    "print_class_comparison",
    "view_of",
]

MOST_CHANCE_LINES = 5
MOST_CLASSES = 3  # columns of thresholds
MOST_LOOKS = 6  # at either end
SHARES_COMPARED = (0.1, 0.3)
Thing = TypeVar("Thing")


def few(things: Sequence[Thing], most: int = 7) -> list[Thing]:
    """Return some of many, evenly spread, including the first and the last."""
    places = np.linspace(0, len(things) - 1, min(most, len(things))).round().astype(int)
    return [things[place] for place in places]


class _CountedView(ABC):
    """Cost and risk of a strategy that counts votes."""

    evaluation: Any

    def __init__(self, content: Any, distribution: Any = None) -> None:
        self.distribution: Any = distribution_of(content) if distribution is None else distribution
        self.evaluation = evaluate(content)
        self.strategy: Any = self.evaluation.strategy

    @cached_property
    def figures(self) -> dict[str, Figures]:
        """Cost and risk, mean and worst."""
        return {"mean": self.evaluation.mean(self.distribution), "worst": self.evaluation.worst()}

    def risk_fields(self) -> dict[str, Any]:
        """Return mean and worst figures."""
        return {name: figures._asdict() for name, figures in self.figures.items()}

    def votes_asked(self) -> FloatArray:
        """Return the probability of each number of votes asked."""
        return np.asarray(self.evaluation.votes_asked(self.distribution))

    def every_vote_fields(self) -> dict[str, Any]:
        """Return the figures for every full vote, if there are few enough to list."""
        return {}

    def print_risks(self, console: Console) -> None:
        """Print cost and risk, mean and worst."""
        print_table(console, ["", "expected votes", "disagreement"], self._risk_rows())

    def _risk_rows(self) -> list[list[str]]:
        return [_figure_row(name, figures) for name, figures in self.figures.items()]

    @abstractmethod
    def print_margins(self, console: Console) -> None:
        """Print the disagreement from the closest full votes to the unanimous ones."""

    def _show_risks(self, console: Console) -> None:
        console.print(f"\nMean over {describe_votes(self.distribution)}\n", markup=False)
        self.print_risks(console)
        console.print()
        self.print_margins(console)


def _figure_row(name: str, figures: Figures) -> list[str]:
    cost = "none" if math.isnan(figures.expected_votes) else votes(figures.expected_votes)
    return [name, cost, _rate_or_none(figures.disagreement)]


def _rate_or_none(risk: float) -> str:
    """Format a disagreement, which is NaN if the class never occurs."""
    return "none" if math.isnan(risk) else rate(risk)


# Votes between two answers ---------------------------------------------------------------------


class VoteView(_CountedView):
    """Votes between two answers; states are [asked, yes] and [asked, yes, probability]."""

    evaluation: Evaluation

    @cached_property
    def shape(self) -> EnvelopeShape:
        """The shape of the envelope."""
        return envelope_shape(self.strategy)

    @property
    def has_majority(self) -> bool:
        """Whether a majority decides, not another quota."""
        return bool(self.strategy.quota == majority(self.strategy.n_voters))

    @property
    def chance(self) -> str:
        """The number of states in which chance decides, in words."""
        number = len(self.strategy.randomised)
        return f"in {number} state{'' if number == 1 else 's'}"

    def fields(self) -> dict[str, Any]:
        """Return the thresholds, cost and risk."""

        def states(stops: IntArray) -> list[list[int]]:
            return [[asked, (asked + lead) // 2] for asked, lead in stops.tolist()]

        return {
            "quota": self.strategy.quota,
            "most_votes_asked": self.shape.last_asked,
            "answers_yes_from": states(self.shape.stop_yes),
            "answers_no_from": states(self.shape.stop_no),
            "chance_decides": [
                [asked, (asked + lead) // 2, probability]
                for asked, lead, probability in self.shape.randomised
            ],
            "votes": describe_votes(self.distribution),
            **self.risk_fields(),
        }

    def show(self, console: Console) -> None:
        """Draw the envelope; print thresholds, chance, cost and risk."""
        if self.shape.last_asked == 0:
            answer = "yes" if self.strategy.answer(0, 0) else "no"
            console.print(f"It asks no voters and always answers {answer}.")
        else:
            print_picture(console, self.strategy)
            console.print()
            self._print_steps(console)
            self._print_chance(console)
            self._print_peculiarities(console)
        self._show_risks(console)

    def _print_steps(self, console: Console) -> None:
        """Print the thresholds for a few steps."""
        yes, no = dict(self.shape.stop_yes.tolist()), dict(self.shape.stop_no.tolist())
        print_table(
            console,
            ["votes asked", "answers yes at (yes : no)", "answers no at (yes : no)"],
            [
                [str(asked), _split(asked, yes.get(asked)), _split(asked, no.get(asked))]
                for asked in few(sorted({*yes, *no}))
            ],
        )

    def _print_chance(self, console: Console) -> None:
        chance = self.shape.randomised
        if not chance:
            return
        console.print()
        mark = "?" if console.options.ascii_only else "◆"
        for asked, lead, probability in chance[:MOST_CHANCE_LINES]:
            console.print(
                f"{mark} Chance decides after {asked} votes at {_split(asked, lead)}: "
                f"stops with probability {probability:.4g}"
            )
        if len(chance) > MOST_CHANCE_LINES:
            console.print(f"{mark} ... and in {len(chance) - MOST_CHANCE_LINES} more states")

    def _print_peculiarities(self, console: Console) -> None:
        if self.shape.has_looks:
            steps = [str(step) for step in self.shape.stop_steps]
            if len(steps) > 2 * MOST_LOOKS:
                steps = [*steps[:MOST_LOOKS], "...", *steps[-MOST_LOOKS:]]
            console.print()
            say(console, f"It can stop only after {', '.join(steps)} votes.")
        if not self.strategy.answers_majority:
            console.print()
            usual = "the majority of the votes so far" if self.has_majority else "by the share of yes so far"
            say(console, f"It does not always answer {usual}: the table shows where it answers yes and no.")

    @cached_property
    def by_class(self) -> dict[str, dict[FullAnswer, Figures]]:
        """Mean and worst figures by the answer of the full vote; NaN for a mean over no inputs."""
        return {
            "mean": dict(self.evaluation.by_class(self.distribution)),
            "worst": dict(self.evaluation.worst_by_class()),
        }

    def risk_fields(self) -> dict[str, Any]:
        """Return mean and worst figures, overall and by class; null for a mean over no inputs."""

        def plain(by_class: Mapping[FullAnswer, Figures]) -> dict[str, dict[str, float | None]]:
            return {
                answer: {
                    name: None if math.isnan(value) else value for name, value in figures._asdict().items()
                }
                for answer, figures in by_class.items()
            }

        by_class = {f"{name}_by_class": plain(figures) for name, figures in self.by_class.items()}
        return {**super().risk_fields(), **by_class}

    def every_vote_fields(self) -> dict[str, Any]:
        """Return cost and risk for every number of yes votes."""
        return {name: getattr(self.evaluation, name).tolist() for name in ("expected_votes", "disagreement")}

    def _risk_rows(self) -> list[list[str]]:
        rows = []
        for name, figures in self.figures.items():
            rows.append(_figure_row(name, figures))
            for answer, of_it in self.by_class[name].items():
                rows.append(_figure_row(f"  when the full vote is {answer}", of_it))
        slowest = int(self.evaluation.expected_votes.argmax())
        riskiest = int(self.evaluation.disagreement.argmax())
        return [*rows, ["  at this number of yes votes", str(slowest), str(riskiest)]]

    def print_margins(self, console: Console) -> None:
        """Print the disagreement by size of the majority, or by distance of the full vote from the quota."""
        n_voters, risk = self.strategy.n_voters, self.evaluation.disagreement
        if not self.has_majority:
            self._print_distances(console)
            return
        first_yes = n_voters // 2 + 1
        worst = n_voters - int(risk[:first_yes].argmax()), first_yes + int(risk[first_yes:].argmax())
        print_table(
            console,
            ["the majority is", "disagreement\nwhen it is no", "disagreement\nwhen it is yes"],
            [
                [
                    f"{size} of {n_voters}",
                    rate(risk[n_voters - size]),
                    rate(risk[size]) if size >= first_yes else "",
                ]
                for size in majorities(n_voters, SHARES, worst)
            ],
        )

    def _print_distances(self, console: Console) -> None:
        quota, n_voters, risk = self.strategy.quota, self.strategy.n_voters, self.evaluation.disagreement
        distances = votes_to_turn(n_voters, quota)
        worst = [
            int(distances[side][risk[side].argmax()])
            for side in (slice(quota), slice(quota, None))
            if len(risk[side])
        ]
        print_table(
            console,
            [
                "votes that would turn\nthe full vote",
                "disagreement\nwhen it is no",
                "disagreement\nwhen it is yes",
            ],
            [
                [str(distance), *(_at(risk, n_yes) for n_yes in (quota - distance, quota + distance - 1))]
                for distance in spread(1, int(distances.max()), also=worst)
            ],
        )


def _at(risk: FloatArray, n_yes: int) -> str:
    return rate(risk[n_yes]) if 0 <= n_yes < len(risk) else ""


def _split(asked: int, lead: int | None) -> str:
    return "" if lead is None else f"{(asked + lead) // 2} : {(asked - lead) // 2}"


def print_class_comparison(console: Console, views: Mapping[str, VoteView], *, emphasised: int) -> None:
    """Print the disagreement of several strategies by class, and for a few margins of the full vote."""
    close_votes = compared_votes(next(iter(views.values())))
    columns = ["", "mean\nwhen no", "mean\nwhen yes", "worst\nwhen no", "worst\nwhen yes"]
    rows = []
    for name, view in views.items():
        risks = [
            figures[answer].disagreement for figures in view.by_class.values() for answer in ("no", "yes")
        ]
        close = [max(view.evaluation.disagreement[n_yes]) for n_yes in close_votes.values()]
        rows.append([name, *map(_rate_or_none, risks), *map(rate, close)])
    columns += close_votes
    print_table(console, columns, rows, emphasised=emphasised)


def compared_votes(view: VoteView) -> dict[str, list[int]]:
    """Return the numbers of yes votes at which strategies are compared, on both sides, by column title."""
    n_voters, quota = view.strategy.n_voters, view.strategy.quota
    if view.has_majority:
        sizes = [size for size in majorities(n_voters, SHARES_COMPARED) if 2 * size > n_voters]
        return {f"{size} of\n{n_voters}": [size, n_voters - size] for size in sizes}
    distances = votes_to_turn(n_voters, quota)
    return {
        f"{distance} to\nturn": np.flatnonzero(distances == distance).tolist()
        for distance in spread(1, int(distances.max()), SHARES_COMPARED)
    }


# Votes among many answers ----------------------------------------------------------------------


class AnswerView(_CountedView):
    """Votes among many answers; risk is by the lead of the first answer over the second."""

    evaluation: PluralityEvaluation

    @property
    def chance(self) -> str:
        """The number of states in which chance decides, in words."""
        return f"in {len(self.strategy.states):,} of {self.strategy.lattice.n_states:,} states"

    def fields(self) -> dict[str, Any]:
        """Return where it stops after each number of votes, cost and risk."""
        return {
            "n_states": self.strategy.lattice.n_states,
            "n_chance_decides": len(self.strategy.states),
            "stops": [after._asdict() for after in self.evaluation.stops(self.distribution)],
            "votes": describe_votes(self.distribution),
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
            for after in few(self.evaluation.stops(self.distribution))
        ]
        columns = ["votes asked", "can stop at\na lead of", "always stops\nat a lead of", "stops here"]
        print_table(console, columns, rows)
        console.print(f"\nChance decides {self.chance}.")
        self._show_risks(console)

    def risk_fields(self) -> dict[str, Any]:
        """Return mean and worst figures, and the worst by lead."""
        by_lead = self.evaluation.worst_by_lead()
        leads = [{"lead": lead, **figures._asdict()} for lead, figures in by_lead.items()]
        return {**super().risk_fields(), "worst_by_lead": leads}

    def print_margins(self, console: Console) -> None:
        """Print cost and risk by the lead in the full vote."""
        print_table(
            console,
            ["lead in the full vote", "expected votes\nat worst", "disagreement\nat worst"],
            [
                _figure_row(str(lead), figures)
                for lead, figures in few(list(self.evaluation.worst_by_lead().items()))
            ],
        )


# Scores ----------------------------------------------------------------------------------------


class ScoreView:
    """Scores: thresholds on the running score or the lead, and the certificate."""

    def __init__(self, content: Any) -> None:
        self.strategy: Any = strategy_of(content)
        self.classes: Any = getattr(content, "classes_", None)
        ensemble: Any = getattr(content, "ensemble_", None)
        self.adds_votes: bool = hasattr(ensemble, "adds_votes") and bool(ensemble.adds_votes)

    def fields(self) -> dict[str, Any]:
        """Return the thresholds that can be reached, as [asked, score] or, for many classes, [asked, lead].

        If each class has its own voters, there is one list for every class.
        """
        shape = score_shape(self.strategy)

        def states(stops: FloatArray) -> list[list[float]]:
            return [[int(asked), score] for asked, score in stops.tolist()]

        if shape.of_leads:
            return {
                "n_classes": self.strategy.n_classes,
                "drops_classes": self.strategy.drops_classes,
                "looks": self.strategy.looks.tolist(),
                **(
                    {"drops_a_class_from": [states(of_class) for of_class in shape.trailing]}
                    if shape.trailing
                    else {"stops_from_a_lead_of": states(shape.stop_yes)}
                ),
            }
        return {
            "looks": self.strategy.looks.tolist(),
            "answers_yes_from": states(shape.stop_yes),
            "answers_no_from": states(shape.stop_no),
        }

    def show(self, console: Console) -> None:
        """Print some thresholds, and the result on the rows that certified it."""
        self._print_thresholds(console)
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
                f"On rows not used for learning, {sides} differ from the full vote, and "
                f"{votes(certificate.mean_asked)} of {self.strategy.n_voters:,} voters were asked on "
                "average.",
            )
        elif self.strategy.reason is not None:
            done = self.strategy.stops_in_words
            say(console, f"{done[0].upper()}{done[1:]}: {self.strategy.reason}")

    def _print_thresholds(self, console: Console) -> None:
        strategy = self.strategy
        columns = {"answers yes at or above": strategy.upper, "answers no at or below": strategy.lower}
        if strategy.drops_classes:
            columns = self._distances()
        elif strategy.adds_by_class:
            columns = {"stops at a lead of": strategy.upper}
        rows = [
            [
                str(step),
                *(
                    f"{values[step] + 0.0:.6g}" if np.isfinite(values[step]) else ""
                    for values in columns.values()
                ),
            ]
            for step in few(strategy.looks.tolist())
        ]
        steps = "rounds asked" if strategy.drops_classes else "voters asked"
        print_table(console, [steps, *columns], rows)
        if strategy.drops_classes:
            console.print()
            say(
                console,
                f"Each of the {strategy.n_classes} classes has its own voters and its own sum of scores. A "
                "round asks one voter of each class. A class that trails the leader by at least the number "
                "in the table drops out, and its voters are no longer asked. The last class left is the "
                "answer.",
            )
        elif strategy.adds_by_class:
            console.print()
            what = "number of votes" if self.adds_votes else "sum of scores"
            say(
                console,
                f"Each of the {strategy.n_classes} classes has a {what}. The lead is the largest minus the "
                "second largest. At a stop, the answer is the class with the largest, on a tie the first "
                "one.",
            )

    def _distances(self) -> dict[str, FloatArray]:
        """Return how far behind the leader each class drops out; for many classes, the first and the last."""
        upper: FloatArray = self.strategy.upper
        if self.strategy.n_classes > MOST_CLASSES:
            return {
                "first class drops out at": upper.min(axis=1),
                "last class drops out at": upper.max(axis=1),
            }
        names = range(self.strategy.n_classes) if self.classes is None else self.classes
        return {f"class {name} drops out at": of_class for name, of_class in zip(names, upper.T, strict=True)}


CountedView = VoteView | AnswerView
VIEWS: dict[KindOfVote, type[Any]] = {"votes": VoteView, "answers": AnswerView, "scores": ScoreView}


def view_of(content: Any) -> CountedView | ScoreView:
    """Return the view of anything that has a strategy."""
    view: CountedView | ScoreView = VIEWS[kind_of(content)](content)
    return view


def counted_view(content: Any, distribution: AnyDistribution | None = None) -> CountedView:
    """Return the view of anything that has a strategy that counts votes.

    Parameters
    ----------
    content : strategy, solution or classifier
        Raises InvalidInputError if it adds up scores.
    distribution : VoteDistribution or CompositionDistribution, optional
        The votes that means are over; by default those it was solved for, or flat votes.
    """
    own = distribution_of(content)
    view: CountedView = VIEWS[kind_of(content)](content, own if distribution is None else distribution)
    return view
