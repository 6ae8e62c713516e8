"""plan of votes among many answers, and EarlyStoppingClassifier.plan with many classes."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import EarlyStoppingClassifier, Plan, early_stop, plan, solve_plurality
from foregone.errors import InvalidInputError
from foregone.plurality import ClassVotes, CompositionDistribution, betting, lattice_of
from foregone.plurality.betting import divide_items, foresee
from foregone.plurality.ties import solve_with_ties

GRID = [0.2, 0.05, 0.01]
LABELS = ["ant", "bee", "cow"]


def draw(n_rows: int = 2000, n_voters: int = 9, seed: int = 0) -> np.ndarray:
    """Votes for three classes, of which the last is rare and contested."""
    rng = np.random.default_rng(seed)
    leaning = np.array([[30, 1, 1], [1, 30, 1], [2, 4, 5]])[rng.choice(3, n_rows, p=[0.6, 0.38, 0.02])]
    return np.array([rng.multinomial(n_voters, rng.dirichlet(alpha)) for alpha in leaning])


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_with_a_confidence_a_limit_may_be_chosen_by_a_plan_that_looks_only_at_items_learned_from(
    confidence: float,
) -> None:
    votes = CompositionDistribution.from_counts(draw(), n_classes=3)
    lattice = lattice_of(9, 3)
    learning, _ = divide_items(votes.counts_on(lattice), 0)
    made = plan(votes, GRID, confidence=confidence)
    for row in made.rows:
        solution = solve_plurality(votes, row.limit, n_voters=9, n_classes=3, confidence=confidence)
        assert solution.bet is not None
        assert np.array_equal(solution.bet.counts, votes.counts_on(lattice) - learning)
        assert row.expected_votes == pytest.approx(solution.evaluation.mean(votes).expected_votes, rel=0.1)
        assert row.guaranteed == row.limit
    assert "will ask about" in made.recommendation
    assert "not certified" in made.recommendation
    # Other items to certify with, in the same number, change nothing.
    others = np.zeros_like(learning)
    others[-1] = votes.counts_on(lattice).sum() - learning.sum()
    for limit in GRID:
        seen = []
        for certifying in (votes.counts_on(lattice) - learning, others):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(betting, "divide_items", lambda counts, seed, rest=certifying: (learning, rest))
                seen.append(foresee(lattice, learning + certifying, limit, confidence)[0])
        assert seen[0] == seen[1]


@pytest.mark.parametrize("options", [{"confidence": None}, {"n_classes": 2}, {"criterion": "minimixed"}])
def test_answers_without_an_order_are_planned_as_solve_plurality_solves_them(options: dict[str, Any]) -> None:
    counts, n_classes = draw(), options.pop("n_classes", 3)
    if n_classes == 2:
        counts = np.stack([counts[:, 0], counts[:, 1] + counts[:, 2]], axis=1)
    votes = CompositionDistribution.from_counts(counts, n_classes=n_classes)
    made = plan(votes, GRID, **options)
    for row in made.rows:
        solution = solve_plurality(
            votes, row.limit, n_voters=9, n_classes=n_classes, **{"confidence": 0.95, **options}
        )
        mean = solution.evaluation.mean(votes)
        assert (row.expected_votes, row.disagreement) == pytest.approx(mean)
        assert row.guaranteed == solution.disagreement
        assert row.worst_disagreement == solution.evaluation.worst().disagreement
        assert (row.by_class, row.worst_by_class) == ({}, {})
    assert made.confidence == (options.get("confidence", 0.95) if "criterion" not in options else None)
    assert (made.kind, made.votes, made.n_observations) == ("answers", votes, 2000)
    call = made.recommendation.split("The call: ")[1]
    again = eval(call, {"solve_plurality": solve_plurality, "votes": votes})  # noqa: S307  # our own text
    assert again.evaluation.mean(votes).expected_votes == made.chosen.expected_votes


def test_classes_are_planned_as_a_classifier_counts_them_and_averaged_over_their_rows() -> None:
    counts = draw()
    made = plan(ClassVotes(counts), GRID, labels=LABELS)
    full = counts.argmax(axis=1)
    for row in made.rows:
        strategy, solution = solve_with_ties(counts, row.limit, n_voters=9)
        assert row.guaranteed == solution.disagreement <= row.limit
        assert strategy == solution.strategy
        shares = np.bincount(full) / len(full)
        assert list(row.by_class) == LABELS
        assert np.dot(shares, list(row.by_class.values())) == pytest.approx(row.disagreement)
    assert plan(ClassVotes(counts), GRID).rows[0].by_class.keys() == {0, 1, 2}
    of_all = plan(ClassVotes(counts).distribution, GRID, labels=LABELS)
    assert [row.expected_votes for row in of_all.rows] == [row.expected_votes for row in made.rows]
    assert of_all.rows[0].by_class == {}
    assert "for one limit fixed in advance" in made.recommendation


def test_prices_and_the_choice_follow_the_rule_for_two_answers() -> None:
    rows = plan(ClassVotes(draw()), GRID).rows
    for looser, row in pairwise(rows):
        avoided = looser.guaranteed - row.guaranteed
        assert row.price == pytest.approx((row.expected_votes - looser.expected_votes) / avoided / 9)
    assert plan(ClassVotes(draw()), GRID, worth=rows[1].price / 2).chosen.limit == 0.2
    few = plan(ClassVotes(draw(30)), GRID, worth=1e9)
    assert (few.chosen.limit, few.reason) == (0.05, "observations")


def test_a_class_that_loses_is_named_and_no_limit_is_made_for_it() -> None:
    made = plan(ClassVotes(draw()), [0.01], labels=LABELS, confidence=None)
    assert list(made.chosen.losing_classes()) == ["cow"]
    assert made.class_budgets is None
    assert made.max_disagreement == 0.01
    share = made.chosen.by_class["cow"]
    said = f"not protect every class: {100 * share:.3g} % of the inputs with a full vote of 'cow'"
    assert said in made.recommendation
    assert "use a tighter limit" in made.recommendation


def test_a_class_that_was_never_seen_has_no_figures() -> None:
    counts = draw()
    unseen = counts[counts.argmax(axis=1) != 2]
    row = plan(ClassVotes(unseen), [0.05], labels=LABELS).chosen
    assert row.by_class["cow"] is None
    assert row.losing_classes() == {}


def test_it_survives_pickling_and_copying() -> None:
    made = plan(ClassVotes(draw()), GRID, labels=LABELS)
    assert plan(ClassVotes(draw()), GRID, labels=LABELS) == made
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):  # noqa: S301  # just pickled
        assert isinstance(other, Plan)
        assert other == made
        assert other.recommendation == made.recommendation


def test_without_observations_the_confidence_is_dropped_and_that_is_said() -> None:
    made = plan(CompositionDistribution.from_counts(draw()).smoothed(3), [0.1])
    assert made.confidence is None
    assert "Confidence 0.95 was ignored" in made.recommendation
    assert "confidence=None" in made.call


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"looks": 3}, "looks, answer and quota are only for votes between two answers"),
        ({"answer": "likeliest"}, "looks, answer and quota are only for votes between two answers"),
        ({"answer": "perhaps"}, "answer must be one of"),
        ({"criterion": "best"}, "criterion must be one of"),
        ({"confidence": 1}, "strictly between"),
        ({"labels": ["ant", "bee"]}, "labels must have 3 labels, one for each class, got 2"),
        ({"worth": 0}, "worth must be"),
    ],
)
def test_what_has_no_meaning_is_refused(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(InvalidInputError, match=hint):
        plan(ClassVotes(draw(50)), GRID, **options)


@pytest.mark.parametrize("counts", [[[1, 2], [3]], [[1, 2], [2, 2]], [[-1, 2]], [["a", "b"]], []])
def test_what_are_no_votes_for_classes_is_refused(counts: Any) -> None:
    with pytest.raises(InvalidInputError):
        ClassVotes(counts)


@pytest.fixture(scope="module")
def classifier() -> tuple[EarlyStoppingClassifier, np.ndarray]:
    X, y = make_classification(2000, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
    forest = RandomForestClassifier(11, random_state=0).fit(X[:400], np.array(LABELS)[y[:400]])
    return early_stop(forest, X[400:], 0.05, order="shared", random_state=0), X[400:]


def test_a_classifier_plans_what_it_does(classifier: Any) -> None:
    stopped, X = classifier
    for made in (stopped.plan(GRID), stopped.plan(GRID, X=X)):
        assert made.rows[1].expected_votes == stopped.expected_votes_
        assert made.labels == tuple(LABELS)
        assert "EarlyStoppingClassifier(..., criterion='minimean', max_disagreement=" in made.recommendation
        assert set(made.chosen.by_class) == set(LABELS)
    assert stopped.plan([0.1], criterion="minimixed").confidence is None


def test_a_classifier_from_a_file_plans_with_rows_that_it_is_given(classifier: Any, tmp_path: Path) -> None:
    stopped, X = classifier
    stopped.save(tmp_path / "model")
    again = EarlyStoppingClassifier.load(tmp_path / "model")
    assert again.plan(GRID, X=X) == stopped.plan(GRID, X=X)
    with pytest.raises(InvalidInputError, match=r"give rows .*plan\(X=X_calibration\)"):
        again.plan(GRID)


def test_the_confidence_of_many_answers_is_said_to_be_for_one_limit() -> None:
    made = plan(ClassVotes(draw(200)), GRID, labels=LABELS)
    assert "The confidence holds for one limit fixed in advance" in made.recommendation
    assert "together" not in made.recommendation
    assert "certify the classifier in the order that it uses" in made.recommendation
