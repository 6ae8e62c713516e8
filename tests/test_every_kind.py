"""Every feature for every kind of vote: it works, or an error says why it has no meaning there."""

from __future__ import annotations

from pathlib import Path

import pytest

from foregone.errors import ForegoneError
from tests.kinds import FEATURES, KINDS, TABLES, Kind, check_counted, is_counted, page_with_table, refusal

pytestmark = pytest.mark.filterwarnings(
    "ignore::foregone.scores.CannotCertifyWarning", "ignore:PySpark does not yet fully support:FutureWarning"
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_works_or_says_why_not(feature: str, kind: Kind) -> None:
    if is_counted(feature, kind):
        check_counted(feature, kind)
        return
    refused = refusal(feature, kind)
    if refused is None:
        FEATURES[feature](kind)
        return
    with pytest.raises(ForegoneError, match=refused.message):
        FEATURES[feature](kind)


@pytest.mark.parametrize("page", TABLES, ids=lambda page: page.name)
def test_the_table_of_a_page_is_this_one(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == page_with_table(page), "make it anew: python -m tests.kinds"
