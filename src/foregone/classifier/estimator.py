"""EarlyStoppingClassifier: a scikit-learn classifier that asks voters until it may stop."""

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
    """Ask the voters of an ensemble one by one and stop once the outcome is foregone.

    `predict` stops early; it differs from the estimator's own ``predict`` on at most the allowed share of
    rows. `predict_proba` and `full_predict` ask everyone. When to stop, and whom to ask first, is learned on
    some of the calibration rows and certified on the others, run as `predict` runs it: the limit is promised
    of this very classifier. Where there are too few rows for that, voters are asked in many random orders,
    and the limit is promised on average over random orders. ``promise_`` says which, in one sentence. A tie
    is for ``classes_[0]``.

    With more than two classes the most votes win, or the largest sum of scores; of several that lead, the
    first in ``classes_``. Where votes are counted and several lead at a stop before the end, the one that was
    voted for first is answered.

    Parameters
    ----------
    estimator : classifier, FrozenEstimator, list of fitted classifiers or packed forest
        RandomForest, ExtraTrees, DecisionTree, GradientBoosting and HistGradientBoosting classifiers, those
        of LightGBM, XGBoost and CatBoost, and Bagging and AdaBoost of trees are packed and run by compiled
        loops; VotingClassifier, Bagging and AdaBoost of anything else and a list of fitted classifiers are
        asked through their methods, each only for the rows still undecided. All of any number of classes; a
        CalibratedClassifierCV, FixedThresholdClassifier or TunedThresholdClassifierCV of one of these, of
        two.
        A `Pipeline`, `GridSearchCV` or `RandomizedSearchCV` of these works too: the last step of the pipeline
        stops early, on rows that the other steps have transformed.
        Inside `sklearn.frozen.FrozenEstimator`, or as a list, nothing is fitted again; nor is a Booster of
        LightGBM or XGBoost, whose labels are 0, 1, ..., or a `foregone.forest.PackedForest`,
        `PluralityForest` or `ScoredForest`, which forests grown elsewhere are read into.
    max_disagreement : float or dict, default=1e-3
        Allowed probability to answer otherwise than everyone would, from 0 to 1: on average over rows for
        ``criterion="minimean"``, for every single row otherwise. A dict with one for each label, such as
        ``{"healthy": 1e-3, "sick": 1e-4}``, bounds it separately among the rows that everyone together gives
        to each class, of two. One limit for all may be spent on a rare class alone.
    max_accuracy_loss : float or dict, optional
        Instead of ``max_disagreement``: how far the accuracy on new rows may fall below that of asking
        everyone, such as 0.001. Most disagreements are at close votes, where everyone together is nearly as
        often wrong as right, so this asks far fewer voters. Labels of the calibration rows are needed:
        ``y`` of `fit`. A dict with one for each label bounds the accuracy lost among the rows that are truly
        of each class, of two. With ``costs``, how much the mean cost of a row may rise.
        Votes between two classes, with ``order="auto"``, ``"shared"`` or ``"dealt"``: the promise is on
        average over random orders of the voters, which takes far fewer rows to certify;
        ``order="optimized"``, scores and more classes: about this classifier. ``promise_`` says which.
    costs : array-like of shape (n_classes, n_classes), optional
        ``costs[i][j]``: what it costs to answer ``classes_[j]`` where the truth is ``classes_[i]``.
        ``max_accuracy_loss`` is then in the same unit.
    threshold : float, optional
        Answer ``classes_[1]`` from this share of votes, or from this probability, on, as
        `sklearn.model_selection.FixedThresholdClassifier` does; of two classes. By default the larger one
        wins, a tie being for ``classes_[0]``. The threshold of a FixedThresholdClassifier or a
        TunedThresholdClassifierCV is taken from it.
    voting : {"auto", "hard", "soft"}, default="auto"
        "hard" counts votes, "soft" adds up what the estimator itself adds up: probabilities, weights, leaf
        values of boosted trees. "auto" does what agrees with the estimator's own ``predict``: it counts
        votes where that is the same, as in forests whose leaves are all pure, and adds up scores elsewhere.
        Votes of many classes that can be split in more than 250,000 ways are added up like scores, to follow
        the lead of the first class alone.
    criterion : {"minimean", "minimixed", "minimax"}, default="minimean"
        What is minimised and what is bounded, see `foregone.solve`. Scores: minimean only.
    confidence : float or None, default=0.95
        With at least this probability over which calibration rows were drawn, minimean keeps its limits on
        new rows of the same distribution, whatever that is and however few the rows are: fewer rows cost
        votes. None takes the calibration rows for the truth, as the paper does; the limit is then exceeded
        in about half of all calibrations. Scores always need one, the other criteria none. Trying several
        values of ``random_state``, or several limits on the same rows, and keeping the best is not covered.
    looks : int, list of int or None, default=None
        Stop only after every so many votes, or only after these numbers of votes (and when all were asked),
        for voters that come in batches; of boosted trees with one tree a class, rounds. None: after any. Not
        where votes of many classes are counted.
    answer : {"majority", "likeliest"}, default="majority"
        At a stop, answer the majority so far, or the class that the full vote is most likely for, given the
        votes seen and how votes are spread over the calibration rows. Not for minimax, nor for scores, nor
        for more than two classes.
    calibration_size : float or int, default=0.1
        Share, or number, of the rows given to `fit` that are held out, at random, to calibrate on. Not used
        when nothing is fitted.
    order : {"auto", "optimized", "shared", "dealt", "per_row"}, default="auto"
        In which order voters are asked. "auto", with enough calibration rows: one order for all rows, learned
        or drawn at random, whichever asks fewer voters of the learning rows, and certified. There are enough
        where the limit times the number of rows (of each class or group with a limit of its own) is at least
        6, for a confidence of 0.95. With fewer, and for other criteria or without a confidence, "dealt".
        "optimized" is the same, but never dealt: with too few rows it curtails.
        The others are for votes and are not certified: the limit holds on average over random orders.
        "shared" draws one for all rows, which then share its luck. "dealt" draws 32, and the values of a row
        decide which it gets, so that most of the luck evens out. "per_row" draws one for each row, several
        times slower. Scores are added up in a certified order with "auto", "shared" (drawn at random, but
        boosted voters as they were boosted) or "optimized".
    on_failure : {"curtail", "raise"}, default="curtail"
        What to do when nothing can be certified, because calibration rows are too few, or of one class
        only: ask until the voters not yet asked cannot change the answer, with a `CannotCertifyWarning`, or
        raise SolverError.
    n_jobs : int, default=None
        Number of threads for packed trees; None is 1 unless in a `joblib.parallel_backend` context, -1 is
        all processors. Small batches stay on one. The result does not depend on it.
    device : {"cpu", "cuda"}, default="cpu"
        Where packed trees are asked about rows: "cuda" is an NVIDIA GPU, which needs the extra ``cuda``, see
        docs/gpu.md. Rows may then be arrays on the GPU (CuPy, PyTorch, JAX, cuDF), and what is predicted of
        them is on the GPU, too; labels that are texts are on the host. Fitting, and a single row on the host,
        stay on the CPU. No result depends on it, and files do not hold it: ``set_params(device="cuda")``
        after `load`.
    random_state : int, RandomState instance or None, default=None
        Decides the hold-out, the order of the voters, the halves, and the draws where a strategy leaves a
        stop to chance; unless it is None, also every ``random_state`` of ``estimator`` that is None.
        Whatever it is, a fitted classifier gives the same row the same answer, in any batch.

    Attributes
    ----------
    voting_ : {"hard", "soft"}
        Whether votes are counted or scores added up.
    promise_ : foregone.certifying.Promise
        What is guaranteed: ``about`` ("classifier" or "orders"), ``loss``, ``limit``, ``confidence``,
        ``bound``, ``n_rows``. ``print(promise_)`` says it in one sentence.
    strategy_ : StoppingStrategy, PluralityStrategy or ScoreStrategy
        When to stop: for votes between two classes, among more of them, for scores. The last one has a
        ``certificate``, or a ``reason`` why it asks everyone or only curtails.
    solution_ : Solution or PluralitySolution
        Votes only: the strategy with the evidence that it is optimal among those that count votes in random
        order. If the classifier is certified, it is what the learning rows suggest for a limit near the one
        asked for. Missing then with more than two classes, in their files, and where it curtails.
    votes_ : VoteDistribution or CompositionDistribution
        Votes only: how those of the calibration rows were spread.
    expected_votes_ : float
        Number of voters asked, on average over rows like the calibration rows; of boosted trees with one tree
        a class, trees of all classes. Without any rows, the number of all voters, for want of a better one.
    disagreement_by_class_ : dict of label to float
        Two classes only. Given that everyone together is for this class, how large the disagreement may be:
        on average over its rows with the given ``confidence`` (without one, over its calibration rows); for
        the worst row under minimixed and minimax. With limits by class that are certified, the limits. What
        the calibration rows themselves lead to expect is less: ``evaluate(strategy_).by_class(votes_)``.
    hard_soft_disagreement_ : float
        Votes only: share of the calibration rows on which the majority of all votes differs from the
        estimator's own ``predict``. With ``voting="hard"`` it may average probabilities instead; then a
        `HardVoteWarning` tells when this is, with 95 % confidence, above a tenth of ``max_disagreement``
        (with limits by class, among the rows of a class). 0 for a list, which has no ``predict``.
    rounding_disagreement_ : float
        Scores only: share of the calibration rows on which the sum of all scores, in the order asked,
        differs from the estimator's own ``predict``, which adds in another order or precision: ties, but
        for the last bits. The certificate counts them as wrong.
    calibration_disagreement_ : float
        Share of the calibration rows on which stopping early, in the order used, differs from asking all.
    calibration_accuracy_loss_ : float
        With ``max_accuracy_loss`` only: how far the accuracy of stopping early, in the order used, is below
        that of asking all on the calibration rows; with ``costs``, how much more a row costs on average.
    stops_ : foregone.monitoring.Stops
        After how many votes calibration rows stopped, and with which answers: those that the strategy was not
        learned from, or all where it was learned from all. What `monitor` compares rows in use with. Missing
        without calibration rows, where they came in ``clusters``, and in files from before there were
        monitors.
    ensemble_ : PackedForest, Voters, PluralityForest, PluralityVoters, ScoredForest or ScoreVoters
        What is asked; for a pipeline a `Transformed`, with one of these as its ``ensemble`` and the other
        steps before it. The fitted model itself is not kept.
    order_ : ndarray of shape (n_voters,) or str
        The voters in the order in which all rows ask them; "dealt" or "per_row" where rows differ in that. Of
        boosted trees with one tree a class, rounds of trees.
    seed_ : int
        Decides random orders and the draws.
    classes_ : ndarray of shape (n_classes,)
        The labels; of two, those for no and yes.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features_in_,)
        Number of features; their names, when the voters were fitted on a frame with names that are all
        strings.

    Notes
    -----
    The limit is about rows like the calibration rows. It does not cover drift, nor rows that the voters were
    fitted on, which are surer than new ones; nor rows that depend on each other, such as several of one
    patient, unless ``clusters`` says so. Nor is it about the truth: it is everyone together that is agreed
    with, right or wrong. Proofs are in docs/theory.md, "Certifying what is used" and section 7 (on average
    over orders).

    See Also
    --------
    early_stop : The same for a model that is fitted already, in one call.

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

    Boosted trees, and a limit for each class, to miss hardly any of the sick:

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
        """Fit the voters, unless they are, ask them about the calibration rows, and find when to stop.

        Parameters
        ----------
        X : {array-like, frame} of shape (n_samples, n_features)
            Training rows, of which ``calibration_size`` are held out; if the voters are fitted already, the
            calibration rows, which should be like those to come and not those the voters were fitted on.
            Without any, voters that are fitted already are asked until the rest cannot change the answer.
        y : array-like of shape (n_samples,), optional
            Labels of two classes or more. If the voters are fitted already, only needed, and looked at, for
            ``max_accuracy_loss``: the true classes of the calibration rows.
        sample_weight : array-like of shape (n_samples,), optional
            Passed on to the estimator's own ``fit``, for the rows that are not held out; an estimator that
            takes none raises. Calibration is unweighted: the limit is about rows as they come. Not looked
            at if the voters are fitted already.
        groups : array-like of shape (n_samples,), optional
            A label for each row, such as a region or a sex, fixed before anything was looked at: the limit is
            then kept within each group. New rows need none.
        clusters : array-like of shape (n_samples,), optional
            A label for each row, such as a patient: rows with the same one depend on each other. They are
            held out together and count as one observation, so the promise is about the mean over clusters
            of the share of their rows that differ.
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
        """Write everything that predicting needs to one file, without pickle; `load` reads it.

        Only packed trees can be saved: other voters, and the other steps of a pipeline, are Python objects,
        for which there is no format but pickle or ``skops.io``.
        """
        check_is_fitted(self)
        classifier_file.write(path, self)

    @classmethod
    def load(cls, path: PathLike, *, max_memory: float | None = None) -> EarlyStoppingClassifier:
        """Read a classifier that `save` wrote. It predicts as the saved one did; it has no estimator to fit.

        Parameters
        ----------
        path : path
            Of the file.
        max_memory : float, optional
            Bytes that may be used besides 100 times the size of the file; by default 256 MiB.

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
        """Return a monitor that predicts as this classifier does, and tells when its promise ends.

        Parameters
        ----------
        audit : float, default=0.01
            Share of rows that everyone is asked about, chosen by a hash of their values.
        false_alarm : float, default=0.01
            Probability that an alarm is ever given although nothing has changed.
        X : {array-like, frame} of shape (n_rows, n_features), optional
            Rows to compare with, such as those of a good week; none that the voters were fitted on, and
            independent of each other. By default the calibration rows, if the classifier has ``stops_``.
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
        """Lay out what each limit on the disagreement or the loss of accuracy would cost; recommend one.

        Parameters
        ----------
        limits : iterable of float, optional
            Limits to try; by default 0.1, 0.03, 0.01 and so on to 0.00001, and on the loss of accuracy 0.02,
            0.01, 0.005 and so on to 0.0001.
        X : {array-like, frame} of shape (n_rows, n_features), optional
            Rows to plan with, none that the voters were fitted on. By default the calibration rows, whose
            votes are kept; their scores are not, so that they must be given where scores are added up. Plans
            of scores look at the rows that thresholds are learned from only: fitting with the limit they
            recommend and the same ``random_state`` is covered by the ``confidence``. Of votes they tell means
            over random orders, for all limits together; to certify the recommended limit, fit on other rows.
        y : array-like of shape (n_rows,), optional
            The true labels of ``X``. With them limits are on the loss of accuracy, which takes fewer votes at
            the same limit. Not where votes among many classes are counted.
        **options
            ``criterion``, ``confidence``, ``looks`` or ``answer`` other than those it was fitted with, and
            ``worth``; see `foregone.plan`. For scores: ``confidence``, ``looks``, ``worth``, and ``order`` or
            ``answers`` of `foregone.solve_scores`.

        Returns
        -------
        Plan
            ``plan.recommendation`` says in words what to do; ``plan.max_disagreement`` or, with ``y``,
            ``plan.max_accuracy_loss`` is what to give this classifier.
        """
        check_is_fitted(self)
        if y is not None and X is None:
            raise InvalidInputError("y are the true labels of the rows in X: give X, too")
        rows = None if X is None else self._check_rows(X)
        truth = None
        if y is not None:
            from foregone.classifier.hold_out import true_classes

            truth = true_classes(y, X, self.classes_)
        plan: Plan = self._decider.plan(limits, rows, truth, options)
        return plan


become_estimators(if_imported=True)
