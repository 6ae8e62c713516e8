"""Solve, evaluate and certify votes of any kind: two answers, many answers, or scores.

This is the one module that distinguishes the kinds. Every function takes a strategy, a solution or a fitted
classifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, cast, overload

import numpy as np
import numpy.typing as npt

from foregone.certifying import Promise
from foregone.checks import check_max_disagreement
from foregone.errors import InvalidInputError
from foregone.plurality import (
    CompositionDistribution,
    Evidence,
    PluralityEvaluation,
    PluralitySolution,
    PluralityStrategy,
    certify_plurality,
    evaluate_plurality,
    solve_plurality,
)
from foregone.plurality.plurality_problem import PluralityProblem
from foregone.scores import ScoreRows, ScoreStrategy, solve_scores
from foregone.solving import Answer, Certificate, Criterion, Multipliers, Problem, Solution
from foregone.solving import solve as solve_votes
from foregone.solving.certificate import certify as certify_votes
from foregone.strategy import StoppingStrategy
from foregone.strategy.evaluation import Evaluation
from foregone.strategy.evaluation import evaluate as evaluate_votes
from foregone.strategy.limits import Limits, traits_of
from foregone.votes import VoteDistribution

__all__ = [
    "AnyDistribution",
    "AnyEvaluation",
    "AnySolution",
    "AnyStrategy",
    "CountingStrategy",
    "KindOfVote",
    "certify",
    "distribution_of",
    "evaluate",
    "kind_of",
    "promise_fields",
    "promise_in_words",
    "promise_of",
    "solution_of",
    "solve",
    "strategy_of",
]

CountingStrategy = StoppingStrategy | PluralityStrategy
AnyStrategy = CountingStrategy | ScoreStrategy
AnySolution = Solution | PluralitySolution
AnyEvaluation = Evaluation | PluralityEvaluation
AnyDistribution = VoteDistribution | CompositionDistribution

KindOfVote = Literal["votes", "answers", "scores"]
_KINDS: dict[type[Any], KindOfVote] = {
    StoppingStrategy: "votes",
    PluralityStrategy: "answers",
    ScoreStrategy: "scores",
}


def kind_of(thing: Any) -> KindOfVote:
    """Return the kind of vote that a strategy, solution or fitted classifier works on.

    One of votes between two answers, votes among many answers, and scores.

    Examples
    --------
    >>> from foregone import rules
    >>> kind_of(rules.lead(11, k=3))
    'votes'
    """
    return _KINDS[type(strategy_of(thing))]


def solution_of(thing: Any) -> AnySolution | None:
    """Return the solution itself, or that of a fitted classifier; None if there is no solution."""
    found = getattr(thing, "solution_", thing)
    return found if isinstance(found, Solution | PluralitySolution) else None


def strategy_of(thing: Any) -> AnyStrategy:
    """Return the strategy itself, or that of a solution or a fitted classifier.

    Raises
    ------
    InvalidInputError
        If ``thing`` has no strategy.
    """
    solution = solution_of(thing)
    found = getattr(thing, "strategy_", thing) if solution is None else solution.strategy
    if not isinstance(found, StoppingStrategy | PluralityStrategy | ScoreStrategy):
        raise InvalidInputError(
            f"Expected a strategy, a solution or a fitted classifier, got {type(thing).__name__}: make a "
            "strategy with solve, solve_plurality, solve_scores or foregone.rules; for a forest use "
            "early_stop"
        )
    return found


def distribution_of(thing: Any) -> AnyDistribution:
    """Return the distribution of full votes that a solution was solved for; for a strategy alone, a flat one.

    Raises
    ------
    InvalidInputError
        If ``thing`` has no strategy, or its strategy is for scores.
    """
    solution = solution_of(thing)
    if solution is not None:
        return solution.distribution
    strategy = _counting(strategy_of(thing))
    if isinstance(strategy, PluralityStrategy):
        return CompositionDistribution.flat(strategy.lattice)
    return VoteDistribution.flat(strategy.n_voters)


def _counting(strategy: AnyStrategy) -> CountingStrategy:
    if isinstance(strategy, ScoreStrategy):
        raise InvalidInputError(
            "A ScoreStrategy cannot be evaluated exactly, because its cost and risk depend on the scores of "
            "the rows. Call strategy.run(scores) on your own rows, or read strategy.certificate, which "
            "'foregone show' prints."
        )
    return strategy


# Solving -------------------------------------------------------------------------------------

SolverName = Literal["dual", "linear_program", "quadratic_program"]
_PLAIN = ("majority", "dual")  # the defaults of answer and method


@overload
def solve(
    criterion: Criterion,
    votes_or_n_voters: VoteDistribution | int,
    max_disagreement: float | Mapping[str, float],
    *,
    confidence: float | None = None,
    looks: int | Iterable[int] | None = None,
    answer: Answer = "majority",
    quota: int | None = None,
    values: npt.ArrayLike | None = None,
    method: SolverName = "dual",
) -> Solution: ...
@overload
def solve(
    criterion: Criterion,
    votes_or_n_voters: CompositionDistribution,
    max_disagreement: float,
    *,
    confidence: float | None = None,
) -> PluralitySolution: ...
@overload
def solve(
    criterion: Literal["minimean"],
    votes_or_n_voters: ScoreRows,
    max_disagreement: float | Mapping[str, float],
    *,
    confidence: float,
    looks: int | Iterable[int] | None = None,
) -> ScoreStrategy: ...
def solve(
    criterion: Criterion,
    votes_or_n_voters: VoteDistribution | int | CompositionDistribution | ScoreRows,
    max_disagreement: Any,
    *,
    confidence: float | None = None,
    looks: int | Iterable[int] | None = None,
    answer: Answer = "majority",
    quota: int | None = None,
    values: npt.ArrayLike | None = None,
    method: SolverName = "dual",
) -> AnySolution | ScoreStrategy:
    """Find the stopping strategy that asks the fewest voters within a limit on disagreement or loss.

    For votes between two answers it is optimal among the strategies that count votes in random order. With a
    confidence, it is optimal for the worst case over all distributions consistent with the observed votes.
    Strategies that know who the voters are may ask fewer; see docs/theory.md, "Setting" and "Certifying what
    is used".

    Parameters
    ----------
    criterion : {"minimax", "minimean", "minimixed"}
        ``"minimean"`` minimises the mean number of votes asked and bounds the mean disagreement;
        ``"minimixed"`` minimises the mean and bounds the disagreement of every single input;
        ``"minimax"`` minimises the worst expected number of votes over inputs and bounds the disagreement of
        every single input. Scores: ``"minimean"`` only.
    votes_or_n_voters : VoteDistribution, int, CompositionDistribution or ScoreRows
        What is known about the inputs. Its type selects the kind of vote. Votes between two answers: their
        distribution, or a number of voters for a flat distribution. Votes among many answers: how often each
        split of the votes occurred. Scores: the score of every voter on each row. Minimax uses the
        distribution only to break ties: among minimax-optimal strategies for two answers it takes the one
        with the least mean cost.
    max_disagreement : float or mapping
        Largest allowed probability that the answer differs from the full vote, from 0 to 1; values up to
        1e-290 count as 0. A mapping with keys ``"yes"`` and ``"no"`` sets a separate limit for inputs with
        each full vote, which protects a rare answer. Many answers take a single limit.
    confidence : float, optional
        With at least this probability over the sample of observed inputs, minimean keeps its limit under the
        true distribution of votes, whatever that is. It needs votes counted from observed inputs. By default
        the observed distribution is treated as the true one. The other criteria bound every single input and
        need no confidence. Scores always need one.
    looks : int or iterable of int, optional
        With an integer k, stop only after every k votes; with a list, only after these numbers of votes (and
        when all voters have been asked). Not for many answers.
    answer : {"majority", "likeliest"}
        At a stop, answer the majority so far, or the most likely full vote given the votes seen and their
        distribution. With one limit and no confidence, minimean with "likeliest" never asks more voters than
        with "majority". Votes between two answers only. With a quota, "majority" compares the share of yes
        votes so far with that of the quota.
    quota : int, optional
        The fewest yes votes with which the full vote is yes, from 0 to all: 1 for any, the number of voters
        for all, 14 of 20 for two thirds. By default a majority. Votes between two answers only.
    values : array-like of float, shape (n_voters + 1,), optional
        The loss of a disagreement when n voters say yes, from 0 to 1. The limit then applies to the loss,
        ``values[n]`` times the disagreement, instead of the disagreement. By default each disagreement loses
        1. For a limit on accuracy or costs, use the values of `foregone.LabelledVotes`. Votes between two
        answers only.
    method : {"dual", "linear_program", "quadratic_program"}
        ``"dual"`` is exact and takes milliseconds. The others are independent references: the paper's
        linear program on HiGHS, and its quadratic program on SCIP (extra ``reference``, up to about 6
        voters). Votes between two answers only.

    Returns
    -------
    Solution, PluralitySolution or ScoreStrategy
        The strategy, its cost and risk, and a lower bound for all strategies that count votes in random
        order; for scores, a strategy with the certificate of its limit.

    Raises
    ------
    InvalidInputError
        If an argument is invalid, or does not apply to this kind of vote.

    See Also
    --------
    foregone.solve_plurality, foregone.solve_scores : The same for one kind, with all its options.

    Examples
    --------
    >>> from foregone import solve
    >>> solution = solve("minimixed", 101, 1e-3)
    >>> round(solution.expected_votes, 2), solution.disagreement <= 1e-3, solution.gap < 1e-9
    (43.04, True, True)

    Stop only after every tenth vote, with a separate limit for each answer:

    >>> solution = solve("minimixed", 101, {"yes": 1e-4, "no": 1e-2}, looks=10)
    >>> round(solution.expected_votes, 2), {side: round(p, 6) for side, p in solution.disagreement.items()}
    (44.95, {'yes': 0.0001, 'no': 0.01})

    At least 3 of 20 must say yes:

    >>> round(solve("minimixed", 20, 0.01, quota=3).expected_votes, 2)
    7.28

    Votes among many answers, from those of past inputs:

    >>> from foregone.plurality import CompositionDistribution
    >>> past = CompositionDistribution.from_counts([[9]] * 150 + [[8, 1]] * 40 + [[5, 3, 1]] * 10)
    >>> solve("minimean", past, 0.05, confidence=0.95).expected_votes < 3
    True

    Scores that are added up:

    >>> from foregone.scores import ScoreRows
    >>> rng = np.random.default_rng(0)
    >>> rows = ScoreRows(rng.normal(rng.normal(size=(8000, 1)), 1, size=(8000, 50)))
    >>> solve("minimean", rows, 0.01, confidence=0.95).certificate.mean_asked < 25
    True
    """
    given = votes_or_n_voters
    if isinstance(given, CompositionDistribution):
        for_two = looks is not None or quota is not None or values is not None
        if isinstance(max_disagreement, Mapping) or for_two or (answer, method) != _PLAIN:
            raise InvalidInputError(
                "votes among many answers take a single limit, and no looks, answer, quota, values or "
                "method: leave these out (on the command line --looks, --answer, --quota, --values, --method)"
            )
        return solve_plurality(
            given,
            max_disagreement,
            n_voters=given.n_voters,
            n_classes=given.n_classes,
            confidence=confidence,
            criterion=criterion,
        )
    if isinstance(given, ScoreRows):
        plain = (answer, method) == _PLAIN and quota is None and values is None
        if not traits_of(criterion).bounds_the_mean or confidence is None or not plain:
            raise InvalidInputError(
                'a limit on scores bounds the mean over rows: use criterion="minimean" and a confidence such '
                "as 0.95, and leave out answer, quota, values and method. For a threshold other than 0, "
                "shift the start of the sum"
            )
        return solve_scores(
            given.scores, max_disagreement, confidence=confidence, looks=looks, **given.added_up
        )
    return solve_votes(
        criterion,
        given,
        max_disagreement,
        confidence=confidence,
        looks=looks,
        answer=answer,
        quota=quota,
        values=values,
        method=method,
    )


# Cost and risk -------------------------------------------------------------------------------


@overload
def evaluate(strategy: StoppingStrategy | Solution) -> Evaluation: ...
@overload
def evaluate(strategy: PluralityStrategy | PluralitySolution) -> PluralityEvaluation: ...
@overload
def evaluate(strategy: Any) -> AnyEvaluation: ...
def evaluate(strategy: Any) -> AnyEvaluation:
    """Return the exact cost and risk of a strategy for every possible full vote.

    For two answers it takes time proportional to ``n_voters`` squared, for all full votes together, and
    memory proportional to ``n_voters``; for many answers, one pass over the states. Only non-negative terms
    are added, so even a tiny disagreement is accurate to about ``n_voters`` rounding errors.

    Parameters
    ----------
    strategy : StoppingStrategy, PluralityStrategy, Solution, PluralitySolution or EarlyStoppingClassifier
        What to evaluate. For a solution, this returns its stored evaluation.

    Returns
    -------
    Evaluation or PluralityEvaluation
        The latter for many answers.

    Raises
    ------
    InvalidInputError
        If it is a ScoreStrategy: its cost and risk depend on the scores of the rows.

    Examples
    --------
    >>> from foregone import VoteDistribution, evaluate, rules, solve
    >>> solution = solve("minimean", 101, 1e-3)
    >>> round(evaluate(solution).mean(VoteDistribution.flat(101)).expected_votes, 3)
    34.494
    >>> evaluate(rules.lead(101, k=5))
    <Evaluation of <StoppingStrategy for 101 voters>: at most 27.66 expected votes and disagreement 0.449>

    Many answers:

    >>> from foregone.plurality import rules
    >>> evaluate(rules.lead(9, 2)).worst().expected_votes
    9.0
    """
    solution = solution_of(strategy)
    if solution is not None:
        return solution.evaluation
    alone = _counting(strategy_of(strategy))
    return evaluate_plurality(alone) if isinstance(alone, PluralityStrategy) else evaluate_votes(alone)


# Promises and proofs -------------------------------------------------------------------------


def promise_of(thing: Any) -> Promise | None:
    """Return the guarantee of a fitted classifier, a solution or a strategy; None if it has no guarantee."""
    if hasattr(thing, "promise_"):
        return cast(Promise, thing.promise_)
    solution = solution_of(thing)
    if solution is None:
        return getattr(getattr(thing, "certificate", None), "promise", None)
    return Promise.over_orders(
        solution.criterion,
        solution.max_disagreement,
        solution.confidence,
        solution.disagreement,
        solution.distribution.n_observations or 0,
        loss="disagreement" if getattr(solution, "values", None) is None else "values",
    )


def promise_in_words(thing: Any) -> str:
    """Return the guarantee in one sentence."""
    return str(promise_of(thing) or "Nothing is promised.")


def promise_fields(thing: Any) -> dict[str, Any]:
    """Return the guarantee as a sentence and as values for JSON; without values if there is no guarantee."""
    promise = promise_of(thing)
    values = None if promise is None else promise.to_fields()
    return {"promise": promise_in_words(thing), "promise_values": values}


def certify(
    solution: Any,
    *,
    max_disagreement: float | Mapping[str, float] | None = None,
    arithmetic: Literal["auto", "rational", "ball", "float"] = "auto",
    max_gap: float = 1e-9,
) -> Certificate:
    """Prove a solution's limit and optimality, or a limit of any strategy that counts votes.

    It shares no code with the solvers. Cost and risk are computed again, for every full vote. The lower
    bound of a solution is computed again from its multipliers, by weak duality: any non-negative multipliers
    prove a bound, good ones a tight bound.

    Parameters
    ----------
    solution : Solution, PluralitySolution, EarlyStoppingClassifier, StoppingStrategy or PluralityStrategy
        What to certify. For a solution without multipliers (``"quadratic_program"``) only the risk can be
        proven. A strategy alone states no limit: give ``max_disagreement``.
    max_disagreement : float or mapping, optional
        The limit to prove instead of the solution's own; optimality is then not claimed. For a strategy alone
        the limit is proven for every single input; for a solution, in the sense of its criterion.
    arithmetic : {"auto", "rational", "ball", "float"}
        Exact rationals need only Python and take about 2 seconds for 2,001 voters. Balls (extra ``exact``),
        for two answers, are faster above about 4,000 voters, where ``"auto"`` switches to them. Floats with a
        proven error bound are for many answers; ``"auto"`` switches to them above 20,000 states. Balls and
        floats cannot prove a risk that equals the limit exactly.
    max_gap : float
        The largest gap at which the certificate holds, relative to the expected votes or to one vote,
        whichever is larger.

    Returns
    -------
    Certificate
        Its ``holds`` is True if every claim is proven. Print it to see each claim.

    Raises
    ------
    InvalidInputError
        If there is no claim to prove, or the strategy is for scores; if a multiplier is negative, not finite,
        or for an impossible number of yes votes.
    MissingExtraError
        If balls are requested (or needed) and python-flint is not installed.

    Examples
    --------
    >>> from foregone import certify, rules, solve
    >>> certify(solve("minimixed", 101, 1e-3)).holds
    True
    >>> print(certify(solve("minimax", 2, 0)))  # doctest: +NORMALIZE_WHITESPACE
    In exact rational arithmetic:
      PROVEN  worst disagreement 0 <= 0
      PROVEN  no counting strategy within the limit asks fewer than 2 votes in the worst case; this one
    asks 2 (gap 0)

    A rule that was not solved for the limit:

    >>> print(certify(rules.lead(11, k=3), max_disagreement=0.3))
    In exact rational arithmetic:
      PROVEN  worst disagreement 0.119047619 <= 0.3
      PROVEN  it asks at most 8.04545454545 votes in the worst case; not claimed optimal
    """
    claimed = solution_of(solution)
    promise = promise_of(solution)
    if max_disagreement is None and promise is not None and promise.is_by_rows:
        raise InvalidInputError(
            "The limit of this classifier was certified on rows, with a confidence, so it has no exact "
            "proof: read promise_, or the certificate of a ScoreStrategy, which 'foregone show' prints. To "
            "prove a limit on average over random orders of the voters (counted votes only), give "
            "max_disagreement."
        )
    if max_disagreement is not None or claimed is None:
        claimed = _claim(solution, max_disagreement)
    options: dict[str, Any] = {"arithmetic": arithmetic, "max_gap": max_gap}
    if isinstance(claimed, PluralitySolution):
        certificate = certify_plurality(claimed, **options)
    else:
        certificate = certify_votes(claimed, **options)
    return certificate if max_disagreement is None else replace(certificate, optimality_is_claimed=False)


def _claim(thing: Any, limit: Any) -> AnySolution:
    """Return a solution that claims to keep a limit, with the known multipliers."""
    strategy, solution = strategy_of(thing), solution_of(thing)
    if isinstance(strategy, ScoreStrategy):
        raise InvalidInputError(
            "The limit of a ScoreStrategy cannot be proven exactly. It is certified with a confidence, on "
            "rows that the strategy was not learned from. Read strategy.certificate, which 'foregone show' "
            "prints, or learn another strategy with solve_scores."
        )
    if limit is None:
        raise InvalidInputError(
            "A strategy alone states no limit to prove. Give max_disagreement (--max-disagreement on the "
            "command line), or pass a Solution from solve or solve_plurality."
        )
    if isinstance(strategy, PluralityStrategy):
        limit, lattice = check_max_disagreement(limit), strategy.lattice
        if isinstance(solution, PluralitySolution):
            if solution.bet is not None and limit < solution.max_disagreement:
                raise InvalidInputError(
                    f"This solution is certified for limits from {solution.max_disagreement:g} up, got "
                    f"{limit:g}: its items chose the strategy for that limit. Solve again for {limit:g}."
                )
            return replace(solution, max_disagreement=limit)
        flat, none = CompositionDistribution.flat(lattice), np.zeros(lattice.n_compositions)
        problem = PluralityProblem.of(lattice, "minimax", flat, limit, None)
        return PluralitySolution.of(
            "minimax", flat, None, problem, (strategy, 0.0, Evidence(none, none, 0.0))
        )
    if isinstance(solution, Solution):
        return replace(solution, max_disagreement=Limits.of(limit).given)
    problem_of_two = Problem.check("minimax", strategy.n_voters, limit, quota=strategy.quota)
    return Solution.of(problem_of_two, strategy, 0.0, Multipliers(), "none")
