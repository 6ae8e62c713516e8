"""Betting on items: the ladder that is learned on some, and what the others certify."""

from __future__ import annotations

import numpy as np
import pytest

from foregone.plurality import rules
from foregone.plurality.ties import disagreement_with_ties, ladder_with_ties, settle_ties


@pytest.mark.parametrize(("n_voters", "n_classes"), [(9, 3), (10, 4), (12, 12)])
def test_the_ladder_starts_at_what_is_never_wrong_and_gets_bolder(n_voters: int, n_classes: int) -> None:
    rng = np.random.default_rng(0)
    learning = rng.multinomial(n_voters, rng.dirichlet(np.full(n_classes, 0.3), 50))
    careful, *bolder = ladder_with_ties(learning, 0.02, n_voters)
    assert careful == settle_ties(rules.curtailment(n_voters, n_classes))
    assert (disagreement_with_ties(careful) == 0).all()
    wrong = [disagreement_with_ties(rung).mean() for rung in bolder]
    assert wrong == sorted(wrong)
    assert 0 < wrong[0] < 0.1 * wrong[-1]


def test_of_a_limit_of_zero_only_what_is_never_wrong_is_left() -> None:
    assert len(list(ladder_with_ties(np.array([[5, 2, 0], [3, 3, 1]]), 0.0, 7))) == 1
