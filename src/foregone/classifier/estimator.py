"""EarlyStoppingClassifier: a scikit-learn classifier that asks voters until it may stop."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_array, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from foregone.atomic_file import PathLike
from foregone.classifier import file
from foregone.classifier.calibration import (
    check_labels,
    check_size,
    clone_with_seeds,
    hold_out,
    warn_if_too_few,
)
from foregone.classifier.ensembles import (
    check_kind,
    ensemble_of,
    is_fitted_already,
    planned_n_voters,
    unwrap,
    will_be_packed,
)
from foregone.classifier.hard_vote import measure_hard_soft_disagreement
from foregone.classifier.limits import limits_by_side, risk_by_label, to_labels
from foregone.classifier.voters import Voters
from foregone.errors import InvalidInputError
from foregone.evaluation import evaluate
from foregone.forest import PackedForest
from foregone.forest.packed import Outcome
from foregone.forest.rows import FLOAT32, FLOAT64
from foregone.forest.schedule import Order
from foregone.planning import Plan, plan
from foregone.solving import Answer, Criterion, Problem, Solution, solve
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

__all__ = ["EarlyStoppingClassifier"]

Labels = npt.NDArray[Any]
Counts = npt.NDArray[np.int32]


class EarlyStoppingClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Ask the voters of a two-class ensemble in random order and stop once the outcome is foregone.

    The answer is the majority of the votes asked; a tie is for ``classes_[0]``. It differs from the
    majority of all votes (`full_predict`) with at most the allowed probability, and no way of stopping
    that keeps to it asks fewer voters.

    Parameters
    ----------
    estimator : classifier, FrozenEstimator or list of fitted classifiers
        RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier and BaggingClassifier of trees
        are packed and run by compiled loops; VotingClassifier, BaggingClassifier of anything else and a
        list of fitted two-class classifiers are asked through their ``predict``, each only for the rows
        still undecided. Inside `sklearn.frozen.FrozenEstimator`, or as a list, nothing is fitted again.
    max_disagreement : float or dict, default=1e-3
        Allowed probability to answer otherwise than the full vote would, from 0 to 1: on average over rows
        for ``criterion="minimean"``, for every single row otherwise. A dict with one for each label, such as
        ``{"healthy": 1e-3, "sick": 1e-4}``, bounds it separately among the rows that the full vote gives to
        each class. One limit for all may be spent on a rare class alone.
    criterion : {"minimean", "minimixed", "minimax"}, default="minimean"
        What is minimised and what is bounded, see `foregone.solve`.
    confidence : float or None, default=0.95
        With at least this probability over which calibration rows were drawn, minimean keeps its limits
        under the true distribution of votes, whatever that is and however few the rows are: fewer rows cost
        votes. None takes the calibration rows for the truth, as the paper does; the limit is then exceeded
        in about half of all calibrations. The other criteria need no confidence.
    looks : int, list of int or None, default=None
        Stop only after every so many votes, or only after these numbers of votes (and when all were asked),
        for voters that come in batches. None: after any vote.
    answer : {"majority", "likeliest"}, default="majority"
        At a stop, answer the majority so far, or the class that the full vote is most likely for, given the
        votes seen and how votes are spread over the calibration rows. Not for minimax.
    calibration_size : float or int, default=0.1
        Share, or number, of the rows given to `fit` that are held out, at random, to see how
        the votes are spread. Not used when nothing is fitted.
    order : {"shared", "per_row"}, default="shared"
        One random order of the voters for all rows, which is several times faster, or one for each row.
        The limit holds on average over orders; with a shared one, all rows share its luck, which
        ``calibration_disagreement_`` shows.
    n_jobs : int, default=None
        Number of threads for packed forests; None is 1 unless in a `joblib.parallel_backend` context, -1 is
        all processors. Small batches stay on one. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Decides the hold-out, the order of the voters and the draws where a strategy leaves a stop to
        chance; unless it is None, also every ``random_state`` of ``estimator`` that is None. Whatever it
        is, a fitted classifier gives the same row the same answer, in any batch.

    Attributes
    ----------
    strategy_ : StoppingStrategy
        When to stop.
    solution_ : Solution
        The strategy with the evidence that it is optimal.
    votes_ : VoteDistribution
        How the votes were spread over the calibration rows.
    expected_votes_ : float
        Expected number of voters asked, on average over rows like the calibration rows.
    disagreement_by_class_ : dict of label to float
        Given that the full vote is for this class, how large the disagreement may be: on average over its
        rows with the given ``confidence`` (without one, over its calibration rows); for the worst row under
        minimixed and minimax. It is given for one limit as well as for limits by class. What the calibration
        rows themselves lead to expect is less: ``evaluate(strategy_).by_class(votes_)``.
    hard_soft_disagreement_ : float
        Share of the calibration rows on which the majority of all votes differs from the estimator's own
        ``predict``, which may average probabilities instead. A `HardVoteWarning` tells when it is, with 95 %
        confidence, above a tenth of ``max_disagreement``; with limits by class, when it is so among the
        rows of a class, beside its own limit. 0 for a list, which has no ``predict``.
    calibration_disagreement_ : float
        Share of the calibration rows on which stopping early, in the order drawn, differs from asking all.
    ensemble_ : PackedForest or Voters
        What is asked. The fitted scikit-learn model itself is not kept.
    seed_ : int
        Decides the order and the draws.
    classes_ : ndarray of shape (2,)
        Labels for no and yes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when the voters were fitted on a frame whose column names are all strings.

    Notes
    -----
    What the limit is about is the probability over rows like the calibration rows and over random orders of
    the voters. So it does not cover:

    - drift: rows in use that come from elsewhere than the calibration rows;
    - dependence: calibration rows that come in groups, such as several of one patient, are fewer than they
      look, and the confidence is lower than stated;
    - the luck of a shared order: the disagreement in the one order drawn may be above its mean over orders,
      which is what is bounded. ``calibration_disagreement_`` shows how the order drawn did on the calibration
      rows; with ``order="per_row"`` rows do not share their luck;
    - rows that the voters were fitted on: those are voted on more unanimously than new ones, so calibrate on
      others, as is done unless the voters are fitted already.

    Nor is it about the truth: it is the full vote that is agreed with, right or wrong. The proof is section 7
    of docs/theory.md.

    See Also
    --------
    early_stop : The same for a model that is fitted already, in one call.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from foregone import EarlyStoppingClassifier
    >>> X, y = make_classification(4000, class_sep=2.0, random_state=0)
    >>> forest = RandomForestClassifier(101, random_state=0)
    >>> classifier = EarlyStoppingClassifier(forest, max_disagreement=0.01, random_state=0)
    >>> classifier.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) > 0.95
    True
    >>> labels, asked, yes = classifier.predict_with_votes(X[2000:])
    >>> float(asked.mean()) < 10, float((labels != classifier.full_predict(X[2000:])).mean()) < 0.02
    (True, True)

    A limit for each class, to miss hardly any of the sick:

    >>> state = np.array(["healthy", "sick"])[y]
    >>> limits = {"healthy": 0.05, "sick": 0.005}
    >>> classifier = EarlyStoppingClassifier(forest, max_disagreement=limits, random_state=0)
    >>> classifier = classifier.fit(X[:2000], state[:2000])
    >>> all(classifier.disagreement_by_class_[label] <= limits[label] for label in classifier.classes_)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        max_disagreement: float | Mapping[Any, float] = 1e-3,
        criterion: Criterion = "minimean",
        confidence: float | None = 0.95,
        looks: int | Sequence[int] | None = None,
        answer: Answer = "majority",
        calibration_size: float = 0.1,
        order: Order = "shared",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.max_disagreement = max_disagreement
        self.criterion = criterion
        self.confidence = confidence
        self.looks = looks
        self.answer = answer
        self.calibration_size = calibration_size
        self.order = order
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Fitting ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> EarlyStoppingClassifier:
        """Fit the voters, unless they are, see how their votes are spread, and solve for the strategy.

        Parameters
        ----------
        X : {array-like, frame} of shape (n_samples, n_features)
            Training rows, of which ``calibration_size`` are held out; if the voters are fitted already, the
            calibration rows, which should be like those to come and not those the voters were fitted on.
        y : array-like of shape (n_samples,), optional
            Labels of two classes. Not needed, and not looked at, if the voters are fitted already.
        """
        if self.order not in ("shared", "per_row"):
            raise InvalidInputError(f'order must be "shared" or "per_row", not {self.order!r}')
        model = unwrap(self.estimator)
        check_kind(model)
        rng = check_random_state(self.random_state)
        if is_fitted_already(self.estimator):
            ensemble = ensemble_of(model)
            problem = self._check_problem(ensemble.classes, ensemble.n_voters)
            self._take_features(model, X)
        else:
            y = check_labels(y)
            problem = self._check_problem(np.unique(y), planned_n_voters(model))
            model, X = self._fit_voters(model, X, y, rng)
            ensemble = ensemble_of(model)
        rows = self._validated(X, ensemble)
        yes_counts = ensemble.votes(rows, n_threads=effective_n_jobs(self.n_jobs))
        full = ensemble.classes.take(2 * yes_counts > ensemble.n_voters)
        warn_if_too_few(problem, full, ensemble.classes)
        self.hard_soft_disagreement_ = 0.0
        if not isinstance(model, list | tuple):
            self.hard_soft_disagreement_ = measure_hard_soft_disagreement(
                full, model.predict(X), problem.max_disagreement, ensemble.classes
            )
        solution = solve(
            problem.criterion,
            VoteDistribution.from_yes_counts(yes_counts, ensemble.n_voters),
            problem.max_disagreement,
            confidence=problem.confidence,
            looks=problem.looks,
            answer=problem.answer,
        )
        seed = int(rng.randint(np.iinfo(np.int64).max, dtype=np.int64))
        self._take_solution(ensemble, solution, seed, self.order)
        self.calibration_disagreement_ = float(np.mean(self._labels(self._run(rows, self.strategy_)) != full))
        return self

    def _check_problem(self, classes: Labels, n_voters: int) -> Problem:
        """Return what is to be solved, checked before any voter is fitted, with votes yet to be observed."""
        unseen = VoteDistribution.from_counts(np.ones(n_voters + 1))
        limits = limits_by_side(self.max_disagreement, classes)
        return Problem.check(self.criterion, unseen, limits, self.confidence, self.looks, self.answer)

    def _fit_voters(self, model: Any, X: Any, y: Any, rng: np.random.RandomState) -> tuple[Any, Any]:
        """Return a fitted clone of the model and the rows held out."""
        check_size(self.calibration_size)
        if issparse(X) and will_be_packed(model):
            check_array(X, accept_sparse=False, estimator=self)  # raises, in scikit-learn's words
        validate_data(self, X, y, skip_check_array=True)
        X_fit, y_fit, X_calibration = hold_out(X, y, self.calibration_size, rng)
        model = clone_with_seeds(model, None if self.random_state is None else rng)
        return model.fit(X_fit, y_fit), X_calibration

    def _take_features(self, model: Any, X: Any) -> None:
        """Take number and names of the features from fitted voters, from X where they do not know."""
        candidates = model if isinstance(model, list | tuple) else [model]
        source = next((one for one in candidates if hasattr(one, "n_features_in_")), None)
        if source is None:
            validate_data(self, X, skip_check_array=True)
            return
        self.n_features_in_ = int(source.n_features_in_)
        if hasattr(source, "feature_names_in_"):
            self.feature_names_in_ = source.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _take_solution(
        self, ensemble: PackedForest | Voters, solution: Solution, seed: int, order: Order
    ) -> None:
        """Set the rest of the fitted attributes, given those of the features."""
        self.ensemble_ = ensemble
        self.solution_ = solution
        self.strategy_ = solution.strategy
        self.votes_ = solution.votes
        self.classes_ = ensemble.classes
        evaluation = evaluate(solution.strategy)
        self.expected_votes_ = evaluation.mean(solution.votes).expected_votes
        self.disagreement_by_class_ = risk_by_label(solution, evaluation, self.classes_)
        self.seed_ = seed
        self._order = order
        self._has_names = hasattr(self, "feature_names_in_")
        # Rows of this shape take the short way through predict, to one of these labels.
        self._one_row = (1, self.n_features_in_) if isinstance(ensemble, PackedForest) else None
        self._one_label = self.classes_[:1], self.classes_[1:]

    # Predicting ------------------------------------------------------------------------------

    def predict(self, X: Any) -> Labels:
        """Return the label that is answered at the stop, for each row.

        A single row, as an array of float32 or float64 of shape (1, n_features), takes a few microseconds
        more than its walks through the trees.
        """
        # Most of the time of one row would go into checks, so what fails these is looked at again.
        if type(X) is np.ndarray and X.shape == getattr(self, "_one_row", None):
            if self._has_names:
                self._warn_of_no_names()
            forest: Any = self.ensemble_  # packed, as other voters have no _one_row
            try:
                answer = forest.run_one(X[0], self.strategy_, seed=self.seed_, order=self._order)[0]
            except InvalidInputError as error:
                self._refuse(X, error)
            return self._one_label[answer].copy()
        return self._labels(self._run(self._check_rows(X), self.strategy_))

    def predict_with_votes(self, X: Any) -> tuple[Labels, Counts, Counts]:
        """Return the labels, how many voters were asked, and how many of them said ``classes_[1]``."""
        outcome = self._run(self._check_rows(X), self.strategy_)
        return self._labels(outcome), outcome[1], outcome[2]

    def full_predict(self, X: Any) -> Labels:
        """Return the label that the majority of all voters is for, for each row: nothing is stopped early."""
        return self._labels(self._run(self._check_rows(X), None))

    def full_votes(self, X: Any) -> Counts:
        """Return how many of all voters say ``classes_[1]``, for each row: nothing is stopped early."""
        return self._run(self._check_rows(X), None)[2]

    def _run(self, rows: Any, strategy: StoppingStrategy | None) -> Outcome:
        n_threads = effective_n_jobs(self.n_jobs) if rows.shape[0] > 1 else 1
        try:
            return self.ensemble_.run(rows, strategy, seed=self.seed_, order=self._order, n_threads=n_threads)
        except InvalidInputError as error:
            self._refuse(rows, error)

    def _labels(self, outcome: Outcome) -> Labels:
        return self.classes_.take(outcome[0])

    # Checking rows ---------------------------------------------------------------------------

    def _check_rows(self, X: Any) -> Any:
        """Return X in a form that the ensemble can be run on; a plain array is taken as it is."""
        if not hasattr(self, "ensemble_"):
            check_is_fitted(self)  # raises; asking it every time would take longer than many a batch
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (FLOAT32, FLOAT64)
        if plain and self._one_row and len(X) > 0 and X.shape[1] == self.n_features_in_:
            if self._has_names:
                self._warn_of_no_names()
            return X  # the kernels look at the values on the way
        return self._validated(X, self.ensemble_)

    def _validated(self, X: Any, ensemble: PackedForest | Voters) -> Any:
        """Return X in a form that the ensemble can be run on, or raise scikit-learn's error for it."""
        if isinstance(ensemble, PackedForest):
            finite: bool | str = "allow-nan" if ensemble.takes_missing else True
            return validate_data(
                self, X, reset=False, dtype=[np.float32, np.float64], ensure_all_finite=finite
            )
        if ensemble.columns is None and hasattr(X, "columns"):
            # Voters may pick columns by name, and know themselves what they can take.
            return validate_data(self, X, reset=False, skip_check_array=True)
        X = validate_data(self, X, reset=False, dtype=None, accept_sparse="csr", ensure_all_finite=False)
        ensemble.refuse_values(X)
        return X

    def _refuse(self, X: Any, error: InvalidInputError) -> NoReturn:
        """Raise scikit-learn's own error for rows that the ensemble could not take, or else the given one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._validated(X, self.ensemble_)
        raise error

    def _warn_of_no_names(self) -> None:
        name = type(self).__name__
        warnings.warn(
            f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=3
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.target_tags.required = not is_fitted_already(self.estimator)
        model = unwrap(self.estimator)
        if hasattr(model, "__sklearn_tags__"):
            its = get_tags(model).input_tags
            tags.input_tags.allow_nan = its.allow_nan
            tags.input_tags.sparse = its.sparse and not will_be_packed(model)
        return tags

    # Files -----------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write everything that predicting needs to one file, without pickle; `load` reads it.

        Only packed forests can be saved: other voters are Python objects, for which there is no format but
        pickle or ``skops.io``.
        """
        check_is_fitted(self, "ensemble_")
        if not isinstance(self.ensemble_, PackedForest):
            raise InvalidInputError(
                "only forests of decision trees can be saved: these voters are Python objects that a file "
                f"without pickle cannot hold ({self.ensemble_!r}). Use skops.io.dump(classifier, path) for "
                "the whole classifier, or classifier.solution_.save(path) for the strategy alone."
            )
        state = self.random_state
        saved = file.Saved(
            forest=self.ensemble_,
            solution=self.solution_,
            seed=self.seed_,
            order=self._order,
            feature_names=list(self.feature_names_in_) if self._has_names else None,
            hard_soft_disagreement=self.hard_soft_disagreement_,
            calibration_disagreement=self.calibration_disagreement_,
            calibration_size=self.calibration_size,
            n_jobs=None if self.n_jobs is None else int(self.n_jobs),
            random_state=int(state) if isinstance(state, int | np.integer) else None,
        )
        file.write(path, saved)

    @classmethod
    def load(cls, path: PathLike) -> EarlyStoppingClassifier:
        """Read a classifier that `save` wrote. It predicts as the saved one did; it has no estimator to fit.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, of an unknown version, or not a classifier.
        """
        saved = file.read(path)
        solution, classes = saved.solution, saved.forest.classes
        limits = solution.max_disagreement
        classifier = cls(
            None,
            max_disagreement=to_labels(limits, classes) if isinstance(limits, dict) else limits,
            criterion=solution.criterion,
            confidence=solution.confidence,
            looks=None if solution.looks is None else list(solution.looks),
            answer=solution.answer,
            calibration_size=saved.calibration_size,
            order=saved.order,
            n_jobs=saved.n_jobs,
            random_state=saved.random_state,
        )
        classifier.n_features_in_ = saved.forest.n_features
        if saved.feature_names is not None:
            classifier.feature_names_in_ = np.array(saved.feature_names, dtype=object)
        classifier.hard_soft_disagreement_ = saved.hard_soft_disagreement
        classifier.calibration_disagreement_ = saved.calibration_disagreement
        classifier._take_solution(saved.forest, solution, saved.seed, saved.order)
        return classifier

    # Planning --------------------------------------------------------------------------------

    def plan(self, limits: Iterable[float] | None = None, **options: Any) -> Plan:
        """Lay out what each limit on the disagreement would cost and risk, and recommend one.

        Parameters
        ----------
        limits : iterable of float, optional
            Limits to try; by default 0.1, 0.03, 0.01 and so on to 0.00001.
        **options
            ``criterion``, ``confidence``, ``looks`` or ``answer`` other than those it was fitted with, and
            ``worth``; see `foregone.plan`.

        Returns
        -------
        Plan
            For the calibration rows. ``plan.recommendation`` says in words what to do, and
            ``plan.max_disagreement`` is what to give this classifier.
        """
        check_is_fitted(self, "solution_")
        own = {name: getattr(self.solution_, name) for name in ("criterion", "confidence", "looks", "answer")}
        no, yes = self.classes_.tolist()
        return plan(self.votes_, limits, **{**own, "labels": (no, yes), **options})
