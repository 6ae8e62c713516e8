"""CountedVotes: count votes, and stop by a strategy that is optimal for their distribution."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from foregone.certifying import Promise
from foregone.checks import FloatArray, IntArray
from foregone.classifier.calibration_warnings import (
    measure_hard_soft_disagreement,
    warn_if_too_few,
    warn_of_losing_classes,
)
from foregone.classifier.certified_votes import (
    ENOUGH,
    Decided,
    Run,
    VotedRows,
    certify_votes,
    over_orders,
    rows_to_certify,
    ways_in_order,
    why_nothing_is_learned,
    why_too_few,
)
from foregone.classifier.deciding import (
    Arrays,
    Asked,
    CalibrationRows,
    Labels,
    OrderName,
    Scheme,
    Settings,
    Terms,
    limit_of,
    read_stops,
    solver_terms,
    stops_of,
    terms_to_fields,
)
from foregone.classifier.transformed import Transformed
from foregone.classifier.two_or_many import ManyClassVotes, Solved, TwoClassVotes, two_or_many
from foregone.errors import InvalidInputError, SolverError
from foregone.forest import Forest
from foregone.forest.device_arrays import to_host
from foregone.forest.schedule import FixedOrder, Order, random_order, read_order
from foregone.labelled_votes import LabelledVotes
from foregone.monitoring import Stops
from foregone.planning import Plan, plan
from foregone.plurality import ClassVotes
from foregone.scores import CannotCertifyWarning
from foregone.strategy.json_file import Fields
from foregone.strategy.limits import Limits, by_label, traits_of

__all__ = ["CountedVotes"]


@dataclass(frozen=True, eq=False)
class CountedVotes:
    """Voters with one vote each, and when to stop asking them; see `Decider`.

    The differences between two classes and more are in `foregone.classifier.two_or_many`.

    Attributes
    ----------
    scheme : {"hard", "plurality"}
        For two classes, or for any number of them.
    solved : Solved
        The strategy, its solution, and the mean number of voters asked. Files of more than two classes have
        no solution: running a strategy needs a hundredth of the memory of solving for one.
    promise : Promise
        The guarantee, with limits by "yes" and "no".
    order : str
        The order that the user requested.
    runs_in : "shared", "dealt", "per_row" or FixedOrder
        The order in which voters are asked.
    by_class : dict
        Bounds on the disagreement of "yes" and "no"; empty for many classes.
    votes : VoteDistribution, ClassVotes or None
        The distribution of votes on the calibration rows.
    stops : Stops or None
        The stops of the certification rows; of all calibration rows if there are no certification rows.
    """

    scheme: Scheme
    ensemble: Any
    terms: Terms
    solved: Solved
    promise: Promise
    seed: int
    order: OrderName
    runs_in: Order
    by_class: dict[str, float]
    votes: Any
    hard_soft_disagreement: float
    calibration_disagreement: float
    calibration_accuracy_loss: float | None = None  # None without labels
    stops: Stops | None = None  # None without calibration rows

    voting: ClassVar[Literal["hard"]] = "hard"

    # Making one ------------------------------------------------------------------------------

    @staticmethod
    def check(settings: Settings, scheme: Scheme, classes: Labels, n_voters: int) -> Terms:
        """Return the terms to solve for. Raises InvalidInputError for settings that do not apply here."""
        terms = two_or_many(scheme).terms(settings, classes, n_voters)
        certifies = terms["confidence"] is not None and settings.order in ("auto", "optimized")
        if terms["loss"] != "disagreement" and scheme == "plurality" and not certifies:
            raise InvalidInputError(
                "max_accuracy_loss for more than two classes needs a confidence and one certified order: use "
                'a confidence such as 0.95, and order="auto" or "optimized"'
            )
        if settings.order == "optimized" and not _can_be_certified(terms):
            raise InvalidInputError(
                'order="optimized" is certified on calibration rows, which needs criterion="minimean" and a '
                'confidence such as 0.95: set both, or use order="auto", "shared", "dealt" or "per_row"'
            )
        return terms

    @classmethod
    def calibrate(
        cls, asked: Asked, calibration: CalibrationRows, *, seed: int, n_threads: int
    ) -> CountedVotes:
        """Find when to stop, and certify it in the order in use if there are enough rows."""
        ensemble, scheme, settings, terms = asked
        _check_labels_have_a_meaning(settings, terms, calibration)
        counting, classes, n_voters = two_or_many(scheme), ensemble.classes, ensemble.n_voters
        inside, rows = ensemble, calibration.rows
        if isinstance(ensemble, Transformed):
            inside, rows = ensemble.ensemble, ensemble.transform(rows)
        said = None if isinstance(inside, Forest) else inside.vote_matrix(rows)
        if said is None:
            counts = inside.votes(rows, n_threads=n_threads)
        else:
            counts = counting.counts(said, len(classes))
        full = counting.full_answers(counts, n_voters, terms)
        full_labels = classes.take(full)
        warn_if_too_few(terms, full_labels, classes)
        own = calibration.own
        differing = 0.0 if own is None else measure_hard_soft_disagreement(terms, full_labels, own, classes)

        def run(some: VotedRows, strategy: Any, order: Order) -> tuple[IntArray, IntArray]:
            options = {"n_threads": n_threads} if some.said is None else {"said": some.said}
            answers, asked, _ = inside.run(some.rows, strategy, seed=seed, order=order, **options)
            return answers, asked

        seen = VotedRows(rows, counts, full, calibration.labels, said, calibration.losses)
        decider = cls.curtail(asked, seed=seed)
        if not _is_certain(terms):
            try:
                decided = _decide(counting, inside, settings, terms, seen, run, seed)
                decider = replace(decider, **decided._asdict())
            except SolverError as error:
                if settings.on_failure == "raise":
                    raise
                warnings.warn(
                    f"{error}. For now, voters are asked until the rest cannot change the answer.",
                    CannotCertifyWarning,
                    stacklevel=4,
                )
        answers, n_asked = run(seen, decider.solved.strategy, decider.runs_in)
        warn_of_losing_classes(terms, full_labels, classes.take(answers), classes, calibration.losses)
        solved = decider.solved
        if decider.promise.confidence == 1:
            solved = solved._replace(expected_votes=float(n_asked.mean()))
        by_rows = decider.promise.is_by_rows and decider.promise.confidence != 1
        judged = seen.halves(seed)[1] if by_rows else None
        return replace(
            decider,
            solved=solved,
            votes=counting.votes(counts, n_voters),
            hard_soft_disagreement=differing,
            calibration_disagreement=float(np.mean(answers != full)),
            calibration_accuracy_loss=calibration.losses.mean(answers, full),
            stops=stops_of(ensemble, judged, calibration.labels, n_asked, answers, full),
        )

    @classmethod
    def curtail(cls, asked: Asked, *, seed: int) -> CountedVotes:
        """Stop only where the rest cannot change the answer, which needs no calibration rows."""
        ensemble, scheme, settings, terms = asked
        solved = two_or_many(scheme).curtailed(ensemble.n_voters, len(ensemble.classes), terms)
        return cls(
            scheme,
            ensemble,
            terms,
            solved,
            promise=Promise.certain(terms["max_disagreement"]),
            seed=seed,
            order=settings.order,
            runs_in="shared",
            by_class={} if scheme == "plurality" else {"yes": 0.0, "no": 0.0},
            votes=None,
            hard_soft_disagreement=0.0,
            calibration_disagreement=0.0,
        )

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that are specific to counted votes."""
        votes = self.votes.distribution if isinstance(self.votes, ClassVotes) else self.votes
        known = {
            "solution_": self.solved.solution,
            "votes_": votes,
            "calibration_accuracy_loss_": self.calibration_accuracy_loss,
            "stops_": self.stops,
        }
        if self.by_class:
            known["disagreement_by_class_"] = by_label(self.by_class, self.ensemble.classes.tolist())
        return {
            "strategy_": self.solved.strategy,
            **{name: value for name, value in known.items() if value is not None},
            "expected_votes_": self.solved.expected_votes,
            "hard_soft_disagreement_": self.hard_soft_disagreement,
            "calibration_disagreement_": self.calibration_disagreement,
            "order_": self._order(),
            "seed_": self.seed,
        }

    def _order(self) -> IntArray | str:
        """Return the voters in the order asked, or the name of the method that orders them for each row."""
        if isinstance(self.runs_in, FixedOrder):
            return self.runs_in.voters
        return random_order(self.ensemble.n_voters, self.seed) if self.runs_in == "shared" else self.runs_in

    # Asking ----------------------------------------------------------------------------------

    @property
    def how(self) -> dict[str, Any]:
        """Arguments of the ensemble's ``run`` besides the strategy: the seed and the order."""
        return {"seed": self.seed, "order": self.runs_in}

    def run(self, rows: Any, n_threads: int, *, early: bool, **where: Any) -> Any:
        """Return class numbers, votes asked, and votes for yes (or for the answer, if many classes)."""
        counting = two_or_many(self.scheme)
        strategy = self.solved.strategy if early else counting.ask_all(self.ensemble.n_voters, self.terms)
        return self.ensemble.run(rows, strategy, n_threads=n_threads, **self.how, **where)

    def run_one(self, x: npt.NDArray[Any]) -> Any:
        """Return what `run` returns for one row of a forest, stopped early, as plain values."""
        return self.ensemble.run_one(x, self.solved.strategy, seed=self.seed, order=self.runs_in)

    def full_votes(self, rows: Any, n_threads: int, **where: Any) -> npt.NDArray[np.int32]:
        """Return the number of yes votes among all voters, or the votes for each of many classes."""
        counts: npt.NDArray[np.int32] = self.ensemble.votes(rows, n_threads=n_threads, **where)
        return counts

    def probability(self, rows: Any, n_threads: int, **where: Any) -> FloatArray:
        """Return the share of all votes for each class."""
        counts = to_host(self.full_votes(rows, n_threads, **where))
        return two_or_many(self.scheme).shares(counts, self.ensemble.n_voters)

    @property
    def tells_probability(self) -> bool:
        """Whether probabilities exist even if the estimator has no ``predict_proba``: for trees they do."""
        return isinstance(self.ensemble, Forest)

    def plan(self, limits: Any, rows: Any, truth: IntArray | None, options: dict[str, Any]) -> Plan:
        """Return the cost of each limit, for the calibration votes, or for votes on other rows."""
        votes: Any = self.votes
        if rows is not None:
            counts = self.ensemble.votes(rows)
            votes = two_or_many(self.scheme).votes(counts, self.ensemble.n_voters)
            if truth is not None and self.scheme != "hard":
                raise InvalidInputError(
                    "a plan for counted votes of more than two classes cannot limit the loss of accuracy: "
                    "leave out y"
                )
            if truth is not None:
                votes = LabelledVotes.from_yes_counts(counts, truth, self.ensemble.n_voters)
        if votes is None:
            raise InvalidInputError(
                "this classifier has no votes of calibration rows (files of more than two classes do not "
                "contain them): give rows to plan with, plan(X=X_calibration)"
            )
        own = {name: value for name, value in solver_terms(self.terms).items() if name != "max_disagreement"}
        return plan(votes, limits, **{**own, "labels": self.ensemble.classes.tolist(), **options})

    # Files -----------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return the fields and arrays for a file, for a forest."""
        forest_fields, arrays = self.ensemble.to_parts()
        runs_in = self.runs_in
        fields = {
            "forest": forest_fields,
            **two_or_many(self.scheme).to_fields(self.solved, self.votes),
            "problem": terms_to_fields(self.terms),
            "promise": self.promise.to_fields(),
            "expected_votes": self.solved.expected_votes,
            "seed": self.seed,
            "order": self.order,
            "runs_in": runs_in.voters.tolist() if isinstance(runs_in, FixedOrder) else runs_in,
            "disagreement_by_class": self.by_class or None,
            "hard_soft_disagreement": self.hard_soft_disagreement,
            "calibration_disagreement": self.calibration_disagreement,
            "calibration_accuracy_loss": self.calibration_accuracy_loss,
            "stops": None if self.stops is None else self.stops.to_fields(),
        }
        return fields, arrays

    @classmethod
    def from_parts(cls, fields: Fields, arrays: Arrays, scheme: Scheme) -> CountedVotes:
        """Make it from the parts of a file, with checks of each part and of their consistency."""
        counting = two_or_many(scheme)
        forest = counting.forest.from_parts(fields.section("forest"), arrays)
        solved, terms, votes = counting.from_fields(fields, forest)
        if "expected_votes" in fields:
            least = 1 if scheme == "plurality" else 0
            solved = solved._replace(expected_votes=fields.number("expected_votes", least, forest.n_trees))
        if "promise" in fields:
            promise = Promise.from_fields(fields.section("promise"))
        else:
            n_rows = getattr(votes, "n_observations", None) or 0
            promise = _over_orders(terms, solved, n_rows, None)
        if "disagreement_by_class" in fields:
            section = fields.section("disagreement_by_class")
            by_class = {side: section.number(side, 0, 1) for side in ("yes", "no")}
        else:
            by_class = {}
            if solved.solution is not None:
                by_class = counting.risk_by_side(solved.strategy, solved.solution.distribution, terms)
        return cls(
            scheme,
            forest,
            terms,
            solved,
            promise,
            seed=fields.whole("seed", 0, 2**64 - 1),
            order=_read_order_name(fields),
            runs_in=_read_runs_in(fields, forest),
            by_class=by_class,
            votes=votes,
            hard_soft_disagreement=fields.number("hard_soft_disagreement", 0, 1),
            calibration_disagreement=fields.number("calibration_disagreement", 0, 1),
            calibration_accuracy_loss=fields.number("calibration_accuracy_loss")
            if "calibration_accuracy_loss" in fields
            else None,
            stops=read_stops(fields, forest),
        )


# Certification -------------------------------------------------------------------------------


def _can_be_certified(terms: Terms) -> bool:
    return terms["confidence"] is not None and traits_of(terms["criterion"]).bounds_the_mean


def _decide(
    counting: TwoClassVotes | ManyClassVotes,
    ensemble: Any,
    settings: Settings,
    terms: Terms,
    seen: VotedRows,
    run: Run,
    seed: int,
) -> Decided:
    """Return a strategy certified in the order in use, or one whose limit holds on average over orders.

    The choice depends on the settings and the numbers of rows, not on the votes.

    Raises
    ------
    SolverError
        If certification fails, and was requested or is needed for groups or clusters.
    """
    order: Order = "dealt" if settings.order == "auto" else settings.order
    n_voters, is_loss = ensemble.n_voters, terms["loss"] != "disagreement"
    learning, certifying = seen.split(seed)
    if _can_be_certified(terms) and (is_loss or settings.order in ("auto", "optimized")):
        if is_loss and isinstance(counting, TwoClassVotes) and settings.order != "optimized":
            if too_few := why_nothing_is_learned(learning):
                raise SolverError(f"no early stop can be certified: {too_few}")
            return certify_votes(counting, ensemble, terms, learning, certifying, [(order, over_orders)])
        must = is_loss or settings.order == "optimized" or bool(seen.labels)
        too_few = why_too_few(learning, certifying, terms, enough=1.0 if must else ENOUGH)
        if too_few is None:
            ways = list(ways_in_order(ensemble, learning, run))
            return certify_votes(counting, ensemble, terms, learning, certifying, ways)
        if must:
            raise SolverError(f"no early stop can be certified: {too_few}")
    if is_loss:
        assert isinstance(counting, TwoClassVotes)
        solved, needed = counting.solve_labelled(seen, n_voters, terms), None
    else:
        solved, needed = counting.solve(seen, n_voters, terms), rows_to_certify(certifying, terms)
    votes = None if solved.solution is None else solved.solution.distribution
    return Decided(
        solved,
        order,
        _over_orders(terms, solved, len(seen.full), needed),
        counting.risk_by_side(solved.strategy, votes, terms),
    )


def _is_certain(terms: Terms) -> bool:
    """Whether no disagreement is allowed on any row, so that nothing has to be learned."""
    if traits_of(terms["criterion"]).bounds_the_mean and terms["confidence"] is None:
        return False  # the limit is for the observed rows only
    return Limits.of(terms["max_disagreement"]).loosest == 0


def _check_labels_have_a_meaning(settings: Settings, terms: Terms, calibration: CalibrationRows) -> None:
    certifies = settings.order in ("auto", "optimized") or terms["loss"] != "disagreement"
    if not calibration.labels or (_can_be_certified(terms) and certifies):
        return
    raise InvalidInputError(
        'groups and clusters need certification: use criterion="minimean", a confidence such as 0.95, and '
        'order="auto" or "optimized"; or leave out groups and clusters'
    )


def _over_orders(terms: Terms, solved: Solved, n_rows: int, needed: int | None) -> Promise:
    """Return the promise of a solution on average over random orders of the voters."""
    limit = limit_of(terms)
    bound = limit if solved.solution is None else solved.solution.disagreement
    if terms["loss"] != "disagreement":
        bound = limit  # it was solved for smoothed values, not for the losses of single rows
    return Promise.over_orders(
        terms["criterion"], limit, terms["confidence"], bound, n_rows, needed, terms["loss"]
    )


def _read_order_name(fields: Fields) -> OrderName:
    name: Any = fields.text("order")
    if name not in get_args(OrderName):
        raise fields.error("order", f"must be one of {', '.join(get_args(OrderName))}")
    return cast(OrderName, name)


def _read_runs_in(fields: Fields, forest: Forest[Any, Any]) -> Order:
    """Return the order in which trees are asked; in old files it is the requested order."""
    order = read_order(fields, "runs_in" if "runs_in" in fields else "order")
    if isinstance(order, FixedOrder) and len(order.voters) != forest.n_trees:
        raise fields.error("runs_in", f"must contain each of the {forest.n_trees} trees")
    return order
