import sys

import pytest

from foregone import VoteDistribution, solve
from foregone.errors import InvalidInputError, MissingExtraError, SolverError
from foregone.solving import CRITERIA, Multipliers
from foregone.solving.certificate import certify

few_votes = VoteDistribution.from_counts([5, 0, 1, 2])


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    ("votes", "max_disagreement"),
    [(1, 0.1), (2, 0.05), (3, 0.0), (few_votes, 0.05), (3, 1.0), (4, 0.001), (5, 0.001)],
)
def test_it_finds_what_the_linear_program_finds(criterion, votes, max_disagreement):
    pytest.importorskip("pyscipopt")
    quadratic = solve(criterion, votes, max_disagreement, method="quadratic_program")
    linear = solve(criterion, votes, max_disagreement, method="linear_program")
    assert quadratic.expected_votes == pytest.approx(linear.expected_votes, rel=1e-6, abs=1e-7)
    assert quadratic.lower_bound == pytest.approx(linear.expected_votes, rel=1e-6, abs=1e-7)
    assert quadratic.disagreement <= max_disagreement + 1e-6


OPTIONS = [
    ({"yes": 0.01, "no": 0.1}, {}),
    ({"yes": 0.0, "no": 0.1}, {"looks": 2}),
    (0.1, {"looks": [1, 3]}),
    (0.05, {"answer": "likeliest"}),
    (0.2, {"confidence": 0.9}),
    ({"yes": 0.3, "no": 0.1}, {"confidence": 0.5, "looks": [0, 2], "answer": "likeliest"}),
]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("max_disagreement", "options"), OPTIONS, ids=str)
def test_it_keeps_every_kind_of_promise(criterion, max_disagreement, options):
    pytest.importorskip("pyscipopt")
    votes = VoteDistribution.from_counts([0, 3, 0, 1, 20]) if criterion == "minimean" else few_votes
    if criterion == "minimax":
        options = {name: value for name, value in options.items() if name != "answer"}
    quadratic, linear = (
        solve(criterion, votes, max_disagreement, method=method, **options)
        for method in ("quadratic_program", "linear_program")
    )
    assert quadratic.expected_votes == pytest.approx(linear.expected_votes, rel=1e-6, abs=1e-7)
    assert quadratic.lower_bound == pytest.approx(linear.expected_votes, rel=1e-6, abs=1e-7)
    for kept, limit in zip(_values(quadratic.disagreement), _values(max_disagreement), strict=True):
        assert kept <= limit + 1e-6


def _values(per_class):
    return list(per_class.values()) if isinstance(per_class, dict) else [per_class]


def test_it_brings_no_multipliers_and_so_no_proof_of_its_optimality():
    pytest.importorskip("pyscipopt")
    solution = solve("minimean", 2, 0.05, method="quadratic_program")
    assert solution.multipliers == Multipliers()
    certificate = certify(solution)
    assert certificate.lower_bound == 0
    assert not certificate.holds


def test_more_voters_than_it_can_handle_are_sent_elsewhere():
    with pytest.raises(InvalidInputError, match=r'up to 12 voters.*method="dual"'):
        solve("minimean", 13, 0.1, method="quadratic_program")


def test_without_scip_it_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    with pytest.raises(MissingExtraError, match=r"foregone\[reference\]"):
        solve("minimean", 3, 0.1, method="quadratic_program")


def test_a_failure_of_scip_is_an_error(monkeypatch):
    pyscipopt = pytest.importorskip("pyscipopt")

    class Stopped(pyscipopt.Model):
        def getStatus(self):  # noqa: N802  # SCIP's own name
            return "timelimit"

    monkeypatch.setattr(pyscipopt, "Model", Stopped)
    with pytest.raises(SolverError, match="timelimit"):
        solve("minimean", 2, 0.1, method="quadratic_program")
