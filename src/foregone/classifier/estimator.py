"""EarlyStoppingClassifier: a scikit-learn classifier that stops asking its voters early."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from foregone._system.atomic_file import PathLike
from foregone.classifier import classifier_file
from foregone.classifier.deciding import DEFAULT_LIMIT, OnFailure, OrderName, Voting
from foregone.classifier.predicting import EarlyPredictions
from foregone.classifier.sklearn_later import SklearnLater, become_estimators, check_is_fitted
from foregone.errors import InvalidInputError
from foregone.forest.device_arrays import Device, to_host
from foregone.monitoring import Alarm, Monitor, Stops
from foregone.planning import Plan
from foregone.solving import Answer, Criterion

__all__ = ["EarlyStoppingClassifier"]


class EarlyStoppingClassifier(EarlyPredictions, SklearnLater):
    """Ask the voters of an ensemble one by one and stop once the outcome is settled.

    `predict` stops early. It differs from the full vote on at most the allowed share of rows. `predict_proba`
    and `full_predict` ask all voters. The stopping strategy and the order of the voters are learned on some
    calibration rows and certified on the others, exactly as `predict` runs them, so the guarantee is about
    this classifier. With too few rows for that, voters are asked in many random orders, and the limit holds
    on average over random orders. ``promise_`` states the guarantee in one sentence. A tie is decided for
    ``classes_[0]``.

    With more than two classes, the class with the most votes, or the largest sum of scores, wins; in a tie,
    the first in ``classes_``. If votes are counted and several classes tie at an early stop, the one that
    was voted for first wins.

    Parameters
    ----------
    estimator : classifier, FrozenEstimator, list of fitted classifiers or packed forest
        Run by compiled loops: RandomForest, ExtraTrees, DecisionTree, GradientBoosting and
        HistGradientBoosting classifiers, those of LightGBM, XGBoost and CatBoost, and Bagging and AdaBoost of
        trees. Called through their methods, only for the rows still undecided: VotingClassifier, Bagging and
        AdaBoost of other models, and a list of fitted classifiers. All support any number of classes. A
        CalibratedClassifierCV, FixedThresholdClassifier or TunedThresholdClassifierCV of one of these
        supports two classes.
        A `Pipeline`, `GridSearchCV` or `RandomizedSearchCV` of these works too: the last step of the pipeline
        stops early, on rows transformed by the other steps.
        Models inside `sklearn.frozen.FrozenEstimator` or in a list are not fitted again; nor are a Booster
        of LightGBM or XGBoost (its labels are 0, 1, ...) and a `foregone.forest.PackedForest`,
        `PluralityForest` or `ScoredForest`, which hold forests imported from other libraries.
    max_disagreement : float or dict, default=1e-3
        Allowed probability that the answer differs from the full vote, from 0 to 1: on average over rows for
        ``criterion="minimean"``, otherwise for every single row. A dict with one limit for each of two
        labels, such as ``{"healthy": 1e-3, "sick": 1e-4}``, bounds it separately among the rows with each
        full vote. A single limit may be used up by a rare class.
    max_accuracy_loss : float or dict, optional
        Instead of ``max_disagreement``: how far the accuracy on new rows may fall below that of the full
        vote, such as 0.001. It asks far fewer voters, because most disagreements are at close votes, where
        the full vote is nearly as often wrong as right. It needs labels of the calibration rows: ``y`` of
        `fit`. A dict with one limit for each of two labels bounds the accuracy lost among the rows of each
        true class. With ``costs``, it is the allowed rise in the mean cost of a row.
        For votes between two classes with ``order="auto"``, ``"shared"`` or ``"dealt"``, the guarantee is on
        average over random orders of the voters, which needs far fewer rows to certify. With
        ``order="optimized"``, scores or more classes it is about this classifier. ``promise_`` states which.
    costs : array-like of shape (n_classes, n_classes), optional
        ``costs[i][j]``: the cost of the answer ``classes_[j]`` if the true class is ``classes_[i]``.
        ``max_accuracy_loss`` is then in the same unit.
    threshold : float, optional
        Decision threshold for two classes: answer ``classes_[1]`` if its share of votes, or its probability,
        is at least this, as `sklearn.model_selection.FixedThresholdClassifier` does. By default the larger
        one wins, and a tie is decided for ``classes_[0]``. The threshold of a FixedThresholdClassifier or a
        TunedThresholdClassifierCV is taken from it.
    voting : {"auto", "hard", "soft"}, default="auto"
        "hard" counts votes. "soft" adds up the estimator's own scores: probabilities, weights, or leaf values
        of boosted trees. "auto" picks the mode that makes `predict` match the estimator's own: it counts
        votes if this is equivalent, as in forests whose leaves are all pure, and otherwise adds up scores.
        Votes of many classes that can be split in more than 250,000 ways are added up like scores, to follow
        only the lead of the first class.
    criterion : {"minimean", "minimixed", "minimax"}, default="minimean"
        What is minimised and what is bounded; see `foregone.solve`. Scores: minimean only.
    confidence : float or None, default=0.95
        With at least this probability over the sample of calibration rows, minimean keeps its limits on new
        rows of the same distribution, whatever that is. With fewer rows the guarantee still holds, but more
        voters are asked. None treats the calibration sample as the true distribution, as the paper does; the
        limit is then exceeded in about half of all calibrations. Scores always need a confidence, the other
        criteria need none. Trying several values of ``random_state``, or several limits on the same rows, and
        keeping the best is not covered.
    looks : int, list of int or None, default=None
        With an integer k, stop only after every k votes; with a list, only after these numbers of votes (and
        when all voters have been asked). Use it for voters that come in batches. None: after any vote. For
        boosted trees with one tree per class, the numbers are rounds. Not for counted votes of many classes.
    answer : {"majority", "likeliest"}, default="majority"
        At a stop, answer the majority so far, or the most likely full vote given the votes seen and the
        distribution of votes on the calibration rows. Not for minimax, scores, or more than two classes.
    calibration_size : float or int, default=0.1
        Share or number of the rows given to `fit` that are held out at random for calibration. Ignored if the
        model is fitted already.
    order : {"auto", "optimized", "shared", "dealt", "per_row"}, default="auto"
        The order in which voters are asked. "auto", with enough calibration rows: one certified order for all
        rows, learned or random, whichever asks fewer voters on the learning rows. There are enough rows if
        the limit times the number of rows (of each class or group with its own limit) is at least 6, for a
        confidence of 0.95. With fewer rows, other criteria, or no confidence: "dealt". "optimized" is the
        same as "auto", but never uses "dealt": with too few rows it only stops when the rest cannot change
        the answer.
        The other orders are for votes and are not certified: the limit holds on average over random orders.
        "shared" uses one random order for all rows, so errors are correlated. "dealt" uses 32 random orders
        and picks one by the values of the row, so errors mostly average out. "per_row" uses a separate order
        for each row, and is several times slower. Scores are added up in a certified order with "auto",
        "shared" (random, but boosted voters in boosting order) or "optimized".
    on_failure : {"curtail", "raise"}, default="curtail"
        What to do if nothing can be certified, because calibration rows are too few, or of one class only.
        "curtail": stop only when the voters not yet asked cannot change the answer, with a
        `CannotCertifyWarning`. "raise": raise SolverError.
    n_jobs : int, default=None
        Number of threads for packed trees; None means 1 unless in a `joblib.parallel_backend` context, -1
        means all processors. Small batches use one thread. The result does not depend on it.
    device : {"cpu", "cuda"}, default="cpu"
        Where packed trees run: "cuda" is an NVIDIA GPU, which needs the extra ``cuda``; see docs/gpu.md. Rows
        may then be arrays on the GPU (CuPy, PyTorch, JAX, cuDF), and their predictions are on the GPU too,
        except string labels, which are on the host. Fitting, and a single row on the host, stay on the CPU.
        Results do not depend on it. Files do not store it: call ``set_params(device="cuda")`` after `load`.
    random_state : int, RandomState instance or None, default=None
        Seed for the hold-out, the order of the voters, the split into learning and certification rows, and
        randomised stops; unless None, also for every ``random_state`` of ``estimator`` that is None. A fitted
        classifier always gives the same row the same answer, in any batch.

    Attributes
    ----------
    voting_ : {"hard", "soft"}
        Whether votes are counted or scores added up.
    promise_ : foregone.certifying.Promise
        The guarantee: ``about`` ("classifier" or "orders"), ``loss``, ``limit``, ``confidence``, ``bound``,
        ``n_rows``. ``print(promise_)`` prints it as one sentence.
    strategy_ : StoppingStrategy, PluralityStrategy or ScoreStrategy
        When to stop: for votes of two classes, votes of more classes, or scores. A ScoreStrategy has a
        ``certificate``, or a ``reason`` why it asks all voters or stops only when the answer is certain.
    solution_ : Solution or PluralitySolution
        Votes only: the strategy with the evidence that it is optimal among those that count votes in random
        order. In a certified classifier it was solved for the learning rows, with a limit near the requested
        one. Missing in certified classifiers of more than two classes, in their files, and if the classifier
        stops only when the answer is certain.
    votes_ : VoteDistribution or CompositionDistribution
        Votes only: the distribution of votes on the calibration rows.
    expected_votes_ : float
        Mean number of voters asked on rows like the calibration rows; for boosted trees with one tree per
        class, trees of all classes. Without calibration rows, the number of all voters.
    disagreement_by_class_ : dict of label to float
        Two classes only. An upper bound on the disagreement among rows whose full vote is this class: on
        average over its rows with the given ``confidence`` (without one, over its calibration rows); for
        the worst row under minimixed and minimax. With certified limits by class, the limits. The
        disagreement expected from the calibration rows is lower: ``evaluate(strategy_).by_class(votes_)``.
    hard_soft_disagreement_ : float
        Votes only: share of the calibration rows on which the majority vote differs from the estimator's own
        ``predict``. With ``voting="hard"`` the estimator may average probabilities instead; a
        `HardVoteWarning` is issued if this share is, with 95 % confidence, above a tenth of
        ``max_disagreement`` (with limits by class, among the rows of a class). 0 for a list, which has no
        ``predict``.
    rounding_disagreement_ : float
        Scores only: share of the calibration rows on which the sum of all scores, in the order asked,
        differs from the estimator's own ``predict``, which adds in another order or precision: ties up to
        rounding. The certificate counts them as wrong.
    calibration_disagreement_ : float
        Share of the calibration rows on which the early answer, in the order used, is not the full vote.
    calibration_accuracy_loss_ : float
        With ``max_accuracy_loss`` only: how far the accuracy of early answers, in the order used, is below
        that of the full vote on the calibration rows; with ``costs``, the rise in the mean cost.
    stops_ : foregone.monitoring.Stops
        The number of votes and the answer at the stop of each certification row; of all calibration rows if
        the strategy was learned from all. `monitor` compares new rows with them. Missing without calibration
        rows, with ``clusters``, and in files from before monitors existed.
    ensemble_ : PackedForest, Voters, PluralityForest, PluralityVoters, ScoredForest or ScoreVoters
        The voters; for a pipeline a `Transformed`, with one of these as its ``ensemble`` and the other steps
        before it. The fitted model itself is not stored.
    order_ : ndarray of shape (n_voters,) or str
        The order in which all rows ask the voters; "dealt" or "per_row" if rows have different orders. For
        boosted trees with one tree per class, rounds of trees.
    seed_ : int
        Determines random orders and randomised stops.
    classes_ : ndarray of shape (n_classes,)
        The labels; with two classes, those for no and yes.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features_in_,)
        Number of features; their names, if the voters were fitted on a frame whose names are all strings.

    Notes
    -----
    The guarantee is about rows like the calibration rows. It does not cover drift, calibration on rows that
    the voters were fitted on (their votes are closer to unanimous than on new rows), or dependent rows, such
    as several of one patient, unless you give ``clusters``. The guarantee is about matching the full vote,
    which may itself be wrong. Proofs: docs/theory.md, "Certifying what is used" and section 7 (on average
    over orders).

    See Also
    --------
    early_stop : The same for a fitted model, in one call.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    >>> from foregone import EarlyStoppingClassifier
    >>> X, y = make_classification(8000, class_sep=2.0, random_state=0)
    >>> forest = RandomForestClassifier(101, random_state=0)
    >>> classifier = EarlyStoppingClassifier(forest, max_disagreement=0.01, random_state=0)
    >>> classifier.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) > 0.95
    True
    >>> labels, asked, yes = classifier.predict_with_votes(X[2000:])
    >>> float(asked.mean()) < 10, float((labels != classifier.full_predict(X[2000:])).mean()) < 0.02
    (True, True)

    Boosted trees with a separate limit for each class, to miss hardly any of the sick:

    >>> state = np.array(["healthy", "sick"])[y]
    >>> boosted = HistGradientBoostingClassifier(random_state=0)
    >>> classifier = EarlyStoppingClassifier(
    ...     boosted, max_disagreement={"healthy": 0.05, "sick": 0.01}, calibration_size=0.4, random_state=0
    ... ).fit(X[:6000], state[:6000])
    >>> classifier.voting_, classifier.expected_votes_ < 50, classifier.disagreement_by_class_["sick"] <= 0.01
    ('soft', True, True)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        max_disagreement: float | Mapping[Any, float] = DEFAULT_LIMIT,
        max_accuracy_loss: float | Mapping[Any, float] | None = None,
        costs: Any = None,
        threshold: float | None = None,
        voting: Voting = "auto",
        criterion: Criterion = "minimean",
        confidence: float | None = 0.95,
        looks: int | Sequence[int] | None = None,
        answer: Answer = "majority",
        calibration_size: float = 0.1,
        order: OrderName = "auto",
        on_failure: OnFailure = "curtail",
        n_jobs: int | None = None,
        device: Device = "cpu",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        become_estimators()
        self.estimator = estimator
        self.max_disagreement = max_disagreement
        self.max_accuracy_loss = max_accuracy_loss
        self.costs = costs
        self.threshold = threshold
        self.voting = voting
        self.criterion = criterion
        self.confidence = confidence
        self.looks = looks
        self.answer = answer
        self.calibration_size = calibration_size
        self.order = order
        self.on_failure = on_failure
        self.n_jobs = n_jobs
        self.device: Device = device
        self.random_state = random_state

    # Fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        clusters: Any = None,
    ) -> EarlyStoppingClassifier:
        """Fit the voters unless they are fitted, then learn from calibration rows when to stop.

        Parameters
        ----------
        X : {array-like, frame} of shape (n_samples, n_features)
            Training rows, of which ``calibration_size`` are held out. If the voters are fitted already: the
            calibration rows, which should be like those to come, but not rows that the voters were fitted on.
            Without rows, fitted voters are asked until the rest cannot change the answer.
        y : array-like of shape (n_samples,), optional
            Labels of two or more classes. If the voters are fitted already, they are only used for
            ``max_accuracy_loss``: the true classes of the calibration rows.
        sample_weight : array-like of shape (n_samples,), optional
            Passed to the estimator's own ``fit``, for the rows that are not held out; raises an error if the
            estimator takes no weights. Calibration is unweighted. Ignored if the voters are fitted already.
        groups : array-like of shape (n_samples,), optional
            A label for each row, such as a region or a sex, chosen before looking at the data: the limit is
            then kept within each group. New rows need no label.
        clusters : array-like of shape (n_samples,), optional
            A label for each row, such as a patient: rows with the same label are dependent. They are held out
            together and count as one observation, so the guarantee is about the mean over clusters of the
            share of their rows that differ.
        """
        from foregone.classifier.fitting import fit

        become_estimators()
        fit(self, X, y, sample_weight, groups, clusters)
        return self

    def __repr__(self, N_CHAR_MAX: int = 160) -> str:  # scikit-learn's own would fill a screen
        become_estimators()
        return " ".join(super().__repr__(N_CHAR_MAX).split())  # type: ignore[call-arg]  # scikit-learn's

    def __sklearn_tags__(self) -> Any:
        from foregone.classifier.fitting import set_tags

        become_estimators()
        return set_tags(super().__sklearn_tags__(), self)  # type: ignore[misc]  # scikit-learn's

    # Files -----------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Save the fitted classifier to one file, without pickle; `load` reads it.

        Only packed trees can be saved. Other voters, and the other steps of a pipeline, are Python objects:
        save these classifiers with ``skops.io`` or pickle.
        """
        check_is_fitted(self)
        classifier_file.write(path, self)

    @classmethod
    def load(cls, path: PathLike, *, max_memory: float | None = None) -> EarlyStoppingClassifier:
        """Load a saved classifier. It predicts as the saved one did, but has no estimator to fit.

        Parameters
        ----------
        path : path
            The file to read.
        max_memory : float, optional
            Memory limit in bytes, in addition to 100 times the size of the file; by default 256 MiB.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, of an unknown version, or not a classifier.
        """
        become_estimators(if_imported=True)
        saved = classifier_file.read(path, max_memory)
        classifier = cls.__new__(cls)  # the parameters are all there, and to make one takes scikit-learn
        vars(classifier).update(estimator=None, device="cpu", **saved.parameters)
        classifier.n_features_in_ = saved.n_features
        if saved.feature_names is not None:
            classifier.feature_names_in_ = np.array(saved.feature_names, dtype=object)
        classifier._take(saved.decider)
        return classifier

    # Watching --------------------------------------------------------------------------------

    def monitor(
        self,
        audit: float = 0.01,
        false_alarm: float = 0.01,
        *,
        X: Any = None,
        on_alarm: Callable[[Alarm], object] | None = None,
    ) -> Monitor:
        """Return a monitor that predicts as this classifier does, and raises an alarm when rows have changed.

        Parameters
        ----------
        audit : float, default=0.01
            Share of rows on which all voters are asked, chosen by a hash of their values.
        false_alarm : float, default=0.01
            Probability that an alarm is ever raised although nothing has changed.
        X : {array-like, frame} of shape (n_rows, n_features), optional
            Rows to compare with, such as those of a good week: independent of each other, and not rows that
            the voters were fitted on. By default the calibration rows, if the classifier has ``stops_``.
        on_alarm : callable, optional
            Called with each `foregone.monitoring.Alarm`.

        Examples
        --------
        See `foregone.Monitor`.
        """
        check_is_fitted(self)
        reference = getattr(self, "stops_", None)
        if X is not None:
            rows = self._check_rows(X)
            answers, asked = (to_host(part) for part in self._ask_checked(rows, "run", early=True)[:2])
            full = to_host(self._ask_checked(rows, "run", early=False)[0])
            differing = int(np.sum(answers != full))
            n_voters, n_classes = self.ensemble_.n_voters, len(self.classes_)
            reference = Stops.count(asked, answers, n_voters, n_classes, n_differing=differing)
        return Monitor(
            self,
            reference=reference,
            classes=self.classes_.tolist(),
            audit=audit,
            false_alarm=false_alarm,
            on_alarm=on_alarm,
            costs=self.costs,
        )

    # Planning --------------------------------------------------------------------------------

    def plan(
        self, limits: Iterable[float] | None = None, *, X: Any = None, y: Any = None, **options: Any
    ) -> Plan:
        """Show the cost of each limit on the disagreement or the loss of accuracy, and recommend one.

        Parameters
        ----------
        limits : iterable of float, optional
            Limits to try; by default 0.1, 0.03, 0.01 and so on to 0.00001, and on the loss of accuracy 0.02,
            0.01, 0.005 and so on to 0.0001.
        X : {array-like, frame} of shape (n_rows, n_features), optional
            Rows to plan with, but not rows that the voters were fitted on. By default the calibration rows,
            whose votes are stored. Scores are not stored, so give rows if scores are added up. Plans of
            scores use only the rows that thresholds are learned from: fitting with the recommended limit and
            the same ``random_state`` is covered by the ``confidence``. Plans of votes show means over random
            orders, for all limits together; to certify the recommended limit, fit on other rows.
        y : array-like of shape (n_rows,), optional
            The true labels of ``X``. With them, limits are on the loss of accuracy, which needs fewer votes
            for the same limit. Not for counted votes of more than two classes.
        **options
            ``criterion``, ``confidence``, ``looks`` or ``answer`` to replace those it was fitted with, and
            ``worth``; see `foregone.plan`. For scores: ``confidence``, ``looks``, ``worth``, and ``order`` or
            ``answers`` of `foregone.solve_scores`.

        Returns
        -------
        Plan
            ``plan.recommendation`` is a recommendation in words; ``plan.max_disagreement`` or, with ``y``,
            ``plan.max_accuracy_loss`` is the recommended limit.
        """
        check_is_fitted(self)
        if y is not None and X is None:
            raise InvalidInputError("y must be the true labels of the rows in X, got y without X: give both")
        rows = None if X is None else self._check_rows(X)
        truth = None
        if y is not None:
            from foregone.classifier.hold_out import true_classes

            truth = true_classes(y, X, self.classes_)
        plan: Plan = self._decider.plan(limits, rows, truth, options)
        return plan


become_estimators(if_imported=True)
