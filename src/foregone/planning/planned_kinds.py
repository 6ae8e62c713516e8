"""Plans for each kind: votes between two answers, votes among many, and scores.

Each kind defines how a limit is solved and what its figures are; plans and reports use only that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from foregone.checks import check_choice, check_confidence, check_looks
from foregone.errors import InvalidInputError
from foregone.kinds import AnyDistribution
from foregone.labelled_votes import LabelledVotes
from foregone.planning.labelled_limits import LabelledLimits
from foregone.planning.plan_terms import Planned
from foregone.planning.solved_limit import ClassFigures, SolvedLimit
from foregone.plurality import ClassVotes, CompositionDistribution, evaluate_plurality, solve_plurality
from foregone.plurality.betting import foresee, makes_bets
from foregone.plurality.lattice import lattice_of
from foregone.plurality.ties import bound_with_ties, disagreement_with_ties, solve_with_ties
from foregone.scores import ClassScores, ScoreRows, estimate_scores
from foregone.solving import ANSWERS, Problem, Solution, solve
from foregone.strategy.evaluation import Figures, FullAnswer
from foregone.strategy.limits import Criterion, Limits, MaxDisagreement, traits_of
from foregone.strategy.thresholds import majority
from foregone.votes import VoteDistribution

__all__ = ["Votes", "planned"]

Votes = VoteDistribution | LabelledVotes | int | CompositionDistribution | ClassVotes | ScoreRows
OfClass = tuple[CompositionDistribution | None, ...]
NO_YES: tuple[FullAnswer, FullAnswer] = ("no", "yes")


def planned(
    votes: Any,
    *,
    criterion: Any = "minimean",
    confidence: Any = 0.95,
    looks: int | Iterable[int] | None = None,
    answer: Any = "majority",
    labels: Sequence[Any] | None = None,
    quota: Any = None,
) -> Planned:
    """Check the arguments of `foregone.plan`, and return the plan's terms for their kind."""
    if isinstance(votes, ClassVotes | CompositionDistribution):
        has_two = looks is not None or quota is not None
        if has_two or check_choice(answer, "answer", ANSWERS) != "majority":
            raise InvalidInputError(
                "looks, answer and quota are only for votes between two answers, got votes among many (where "
                "a strategy may stop after any vote and answers the leader): leave them out"
            )
        return _answers(votes, criterion, confidence, labels)
    n_classes = votes.n_classes if isinstance(votes, ScoreRows) else 2
    if labels is not None and len(labels) != n_classes:
        wanted = "two labels, for no and yes" if n_classes == 2 else f"{n_classes} labels, one for each class"
        raise InvalidInputError(f"labels must have {wanted}, got {len(labels)}")
    if not isinstance(votes, ScoreRows):
        labelled = votes if isinstance(votes, LabelledVotes) else None
        distribution = votes if labelled is None else labelled.votes
        problem = Problem.check(criterion, distribution, 0.0, None, looks, answer, quota)
        return _votes(problem, confidence, labelled)
    if quota is not None:
        raise InvalidInputError(
            "quota is only for counted votes, but a sum of scores is yes above 0: leave out quota, and "
            "change the start of the sum for another threshold"
        )
    if not traits_of(criterion).bounds_the_mean or confidence is None:
        raise InvalidInputError(
            "scores support only criterion minimean with a confidence, such as 0.95, because their limit is "
            "a certified mean over rows. For a forest, a bag or a committee, you can also use "
            'voting="hard", which counts votes and supports every criterion'
        )
    if check_choice(answer, "answer", ANSWERS) != "majority":
        raise InvalidInputError(
            f"answer={answer!r} is only for votes: a sum of scores answers by the threshold that it passed. "
            'Use the default, "majority"'
        )
    sure = check_confidence(confidence)
    return _scores(votes, criterion, sure, check_looks(looks, votes.n_steps), labels)


def _confidence(given: Any, criterion: Criterion, votes: AnyDistribution) -> dict[str, Any]:
    """Return the confidence to use, and a note if the given one does not apply."""
    checked = None if given is None else check_confidence(given)
    is_mean = traits_of(criterion).bounds_the_mean
    if checked is None or (is_mean and votes.n_observations is not None):
        return {"confidence": checked}
    note = (
        f"Confidence {checked:g} was ignored: these votes are assumed, fitted or weighted, not counted from "
        "observed inputs, so the figures hold only for exactly this distribution. Give observed votes to get "
        "a confidence."
        if is_mean
        else f"No confidence is needed: {criterion} keeps the limit for every single input."
    )
    return {"confidence": None, "notes": (note,)}


# Votes between two answers: every limit is solved exactly -----------------------------------------


ESTIMATED_ACCURACY = (
    "These figures are estimates, not certified: strategies are learned on a fifth of the labelled inputs "
    "and evaluated on the others, averaged over random orders of the voters. To certify the limit you "
    "choose, fit a classifier with it on labelled calibration rows."
)


QUOTA_AND_ACCURACY = (
    "A quota other than a majority usually means that one kind of error is worse, but accuracy counts both "
    "kinds equally: limit the loss of each class, or costs."
)


def _votes(problem: Problem, confidence: Any, labelled: LabelledVotes | None = None) -> Planned:
    sure = _confidence(confidence, problem.criterion, problem.votes)
    terms = {"looks": problem.looks, "answer": problem.answer, "quota": problem.quota}
    quota = None if problem.quota == majority(problem.n_voters) else problem.quota
    truth = None if labelled is None else LabelledLimits(labelled, terms)
    certain = {**terms, "confidence": sure["confidence"]}
    given_class = Problem.check(problem.criterion, problem.votes, Limits.for_each(1.0), **certain)
    in_disagreement = partial(_solve_votes, problem, certain, given_class, truth)
    planned = Planned(
        kind="votes",
        n_voters=problem.n_voters,
        n_steps=problem.n_voters,
        votes=problem.votes,
        classes=NO_YES,
        solve=in_disagreement,
        solver_call=f"solve({problem.criterion!r}, votes, {{limit}}{{options}})",
        criterion=problem.criterion,
        looks=problem.looks,
        answer=problem.answer,
        quota=quota,
        **sure,
    )
    if truth is None or not problem.bounds_the_mean:
        return planned
    how: dict[str, Any] = {"notes": () if quota is None else (QUOTA_AND_ACCURACY,)}
    if planned.confidence is not None:  # the certified loss jumps from limit to limit
        how = {"is_estimated": True, "notes": (*how["notes"], ESTIMATED_ACCURACY), "priced_by": "limit"}
    return replace(
        planned,
        loss="accuracy",
        solve=partial(_solve_accuracy, truth, planned.confidence, given_class),
        solve_disagreement=in_disagreement,
        solver_call="solve('minimean', labelled.votes, {limit}, values=labelled.values({quota}){options})",
        **how,
    )


def _solve_votes(
    problem: Problem,
    terms: dict[str, Any],
    given_class: Problem,
    truth: LabelledLimits | None,
    limits: Limits,
) -> SolvedLimit:
    """Solve for limits; ``given_class`` bounds the disagreement of each class under any limits."""
    solution = solve(problem.criterion, problem.votes, limits.given, **terms)
    return _figures(solution, solution.disagreement, given_class, truth, limits)


def _solve_accuracy(
    truth: LabelledLimits, confidence: float | None, given_class: Problem, limits: Limits
) -> SolvedLimit:
    if confidence is None:
        solution = truth.solve(limits)
        return _figures(solution, truth.guaranteed(solution, limits), given_class, truth, limits)
    found = truth.foresee(limits, confidence)
    return replace(_figures(found, limits.given, given_class, truth, limits), gap=None)


def _figures(
    solution: Solution,
    guaranteed: MaxDisagreement,
    given_class: Problem,
    truth: LabelledLimits | None,
    limits: Limits,
) -> SolvedLimit:
    evaluation, votes = solution.evaluation, given_class.votes
    mean, by_class, worst = evaluation.mean(votes), evaluation.by_class(votes), evaluation.worst_by_class()
    at_most: Any = given_class.risk(evaluation)
    lost = {} if truth is None else truth.losses(evaluation)
    return SolvedLimit(
        limits=limits,
        strategy=solution.strategy,
        expected_votes=mean.expected_votes,
        disagreement=mean.disagreement,
        guaranteed=guaranteed,
        by_class=tuple(
            ClassFigures(*_known(by_class[side]), at_most[side], worst[side].disagreement) for side in NO_YES
        ),
        worst=evaluation.worst().disagreement,
        by_yes=evaluation,
        gap=solution.gap,
        accuracy_loss=lost.get("all"),
        accuracy_loss_by_class=tuple(lost[side] for side in NO_YES) if lost else (),
        full_accuracy=None if truth is None else truth.labelled.accuracy(quota=truth.quota),
    )


def _known(means: Figures) -> tuple[float | None, float | None]:
    """Return means over the inputs of a class; None if there are none."""
    return (None, None) if math.isnan(means.disagreement) else (means.expected_votes, means.disagreement)


# Votes among many answers -------------------------------------------------------------------------


ESTIMATED_ANSWERS = (
    "These figures are estimates from the items that strategies are learned from, not certified. To certify "
    "the limit you choose on the other items, solve for it with all items and the same random_state."
)
FOR_ONE_LIMIT = (
    "The confidence holds for one limit fixed in advance. It does not cover choosing a limit by these "
    "figures and certifying it on the same rows."
)


def _answers(
    votes: ClassVotes | CompositionDistribution,
    criterion: Any,
    confidence: Any,
    labels: Sequence[Any] | None,
) -> Planned:
    classes: tuple[Any, ...] = ()
    of_class: OfClass = ()
    if isinstance(votes, ClassVotes):
        of_class, votes = votes.of_class, votes.distribution
        classes = tuple(range(len(of_class)) if labels is None else labels)
    if labels is not None and votes.n_classes is None:
        votes = replace(votes, n_classes=len(labels))
    if labels is not None and len(labels) != votes.n_classes:
        raise InvalidInputError(
            f"labels must have {votes.n_classes} labels, one for each class, got {len(labels)}"
        )
    sure = _confidence(confidence, criterion, votes)
    stated = {"n_voters": votes.n_voters, "n_classes": votes.n_classes, "criterion": criterion}
    if sure["confidence"] is None:
        stated["confidence"] = None  # any other one is among the options
    said = ", ".join(f"{name}={value!r}" for name, value in stated.items())
    # If classes have an order, only the first leader of a tied vote is right, as in a classifier.
    has_order = bool(classes) or labels is not None
    bets = sure["confidence"] is not None and makes_bets(lattice_of(votes.n_voters, votes.n_classes))
    if bets:
        sure["notes"] = (FOR_ONE_LIMIT if has_order else ESTIMATED_ANSWERS,)
    solve_one = _solve_ordered if has_order else _foresee_unordered if bets else _solve_unordered
    return Planned(
        kind="answers",
        n_voters=votes.n_voters,
        n_steps=votes.n_voters,
        votes=votes,
        classes=classes,
        solve=partial(solve_one, votes, of_class, {"criterion": criterion, "confidence": sure["confidence"]}),
        solver_call=f"solve_plurality(votes, {{limit}}, {said}{{options}})",
        criterion=criterion,
        has_class_limits=False,
        is_estimated=bets and not has_order,
        **sure,
    )


def _solve_ordered(
    votes: CompositionDistribution, of_class: OfClass, terms: dict[str, Any], limits: Limits
) -> SolvedLimit:
    strategy, solution = solve_with_ties(votes, limits.loosest, n_voters=votes.n_voters, **terms)
    cost, risk = evaluate_plurality(strategy).expected_votes, disagreement_with_ties(strategy)

    def figures(some: CompositionDistribution) -> tuple[float, float]:
        weights = some.weights_on(strategy.lattice)
        return float(weights @ cost), float(weights @ risk)

    return SolvedLimit(
        limits,
        strategy,
        *figures(votes),
        bound_with_ties(strategy, solution),
        tuple(ClassFigures() if some is None else ClassFigures(*figures(some)) for some in of_class),
        worst=evaluate_plurality(strategy).worst().disagreement,
        gap=None if solution.bet is not None else solution.gap,
    )


def _solve_unordered(
    votes: CompositionDistribution, of_class: OfClass, terms: dict[str, Any], limits: Limits
) -> SolvedLimit:
    solution = solve_plurality(
        votes, limits.loosest, n_voters=votes.n_voters, n_classes=votes.n_classes, **terms
    )
    return SolvedLimit(
        limits,
        solution.strategy,
        *solution.evaluation.mean(votes),
        solution.disagreement,
        worst=solution.evaluation.worst().disagreement,
        gap=solution.gap,
    )


def _foresee_unordered(
    votes: CompositionDistribution, of_class: OfClass, terms: dict[str, Any], limits: Limits
) -> SolvedLimit:
    lattice = lattice_of(votes.n_voters, votes.n_classes)
    strategy, weights = foresee(lattice, votes.counts_on(lattice), limits.loosest, terms["confidence"])
    evaluation = evaluate_plurality(strategy)
    return SolvedLimit(
        limits,
        strategy,
        *evaluation.averaged(weights),
        limits.loosest,
        worst=evaluation.worst().disagreement,
    )


# Scores: the costs of every limit are estimated on the rows that thresholds are learned from -----------

ESTIMATED_LOSS = (
    "These figures are estimates from a fifth of the rows, not certified. To certify the limit you choose on "
    "the others, call fit or solve_scores with the same rows, labels and random_state."
)
ESTIMATED = (
    "These figures are estimates from the learning half of the rows, not certified. To certify the limit you "
    "choose on the other half, call fit or solve_scores with the same rows and random_state."
)


def _scores(
    rows: ScoreRows,
    criterion: Criterion,
    confidence: float,
    looks: tuple[int, ...] | None,
    labels: Sequence[Any] | None,
) -> Planned:
    order = repr(rows.order) if isinstance(rows.order, str) else "order"
    start = rows.start if isinstance(rows.start, float) else rows.start.tolist()
    added = [f"order={order}", f"start={start!r}"]
    if rows.losses.kind == "cost":
        raise InvalidInputError(
            "plan supports limits on disagreement or accuracy, not on costs: leave out costs, or solve for a "
            "limit on them"
        )
    in_accuracy = rows.losses.kind == "accuracy"
    others = ("answers", "bounds", "groups", "clusters", "labels")
    added += [f"{name}={name}" for name in others if getattr(rows, name) is not None]
    added += ["drops_classes=True"] if rows.drops_classes else []
    said = ", ".join([*added, f"random_state={rows.random_state}"])
    # If each class has a sum, thresholds are on the lead, with one limit whichever class leads.
    numbers = None if isinstance(rows.start, float) else range(rows.n_classes)
    return Planned(
        kind="scores",
        n_voters=rows.n_voters,
        n_steps=rows.n_steps,
        votes=None,
        classes=NO_YES if numbers is None else tuple(numbers if labels is None else labels),
        solve=partial(_estimate_scores, rows, confidence, looks),
        solver_call=f"solve_scores(scores, {{limit}}{{options}}, {said})",
        criterion=criterion,
        confidence=confidence,
        looks=looks,
        has_class_limits=numbers is None,
        priced_by="limit",  # the measured disagreement jumps from limit to limit
        notes=(ESTIMATED_LOSS if in_accuracy else ESTIMATED,),
        is_estimated=True,
        full="the full vote" if _are_votes(rows) else "the full sum",
        loss="accuracy" if in_accuracy else "disagreement",
        solve_disagreement=partial(_estimate_scores, rows.losing("disagreement"), confidence, looks)
        if in_accuracy
        else None,
    )


def _are_votes(rows: ScoreRows) -> bool:
    """Whether every score is a vote: 1 for one of many classes, 0 for the others."""
    scores = rows.scores
    if not isinstance(scores, ClassScores) or scores.lines is None:
        return False
    each = np.sort(scores.table, axis=1)
    return bool((each[:, :-1] == 0).all() and (each[:, -1] == 1).all())


def _estimate_scores(
    rows: ScoreRows, confidence: float, looks: tuple[int, ...] | None, limits: Limits
) -> SolvedLimit:
    found = estimate_scores(rows, limits, confidence, looks)
    wrong, asked = found.outcome.wrong, found.outcome.asked
    numbers = (False, True) if isinstance(rows.start, float) else range(rows.n_classes)
    of_class = [found.final == number for number in numbers]
    lost, truth = found.accuracy_losses, found.losses.truth
    return SolvedLimit(
        limits=limits,
        strategy=found.strategy,
        expected_votes=_mean(asked) or 0.0,
        disagreement=_mean(wrong) or 0.0,
        guaranteed=limits.given,
        by_class=tuple(ClassFigures(_mean(asked[of_it]), _mean(wrong[of_it])) for of_it in of_class),
        reason=found.strategy.reason,
        accuracy_loss=None if lost is None else _mean(lost),
        accuracy_loss_by_class=()
        if lost is None
        else tuple(_mean(lost[truth == number]) for number in range(rows.n_classes)),
        full_accuracy=None if truth is None else _mean(found.final == truth),
    )


def _mean(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None
