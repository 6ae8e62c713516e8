"""Made-up results, for drawing: votes from beta-binomial draws, measures evaluated from them."""

from __future__ import annotations

import functools

import numpy as np

from foregone import VoteDistribution, evaluate, rules, solve
from paper.results import (
    APPROACHES,
    RATES,
    SCATTER_RATES,
    Approach,
    DatasetFacts,
    Measure,
    Piece,
    Results,
    Rounding,
    Settings,
    Structure,
    Timing,
)

# name, the paper's name, group, number, rows, features, classes, share of the largest; then how the votes are
# drawn: the sum of the beta's parameters, and the mean share of the votes for the true class
SETS = (
    ("ground_cover", "Ground Cover", "uci", 31, 581012, 54, 7, 0.488, 0.5, 0.93),
    ("income", "Income", "uci", 117, 199523, 41, 2, 0.938, 0.3, 0.94),
    ("diabetes", "Diabetes", "uci", 891, 253680, 21, 2, 0.861, 0.6, 0.85),
    ("skin", "Skin", "uci", 229, 245057, 3, 2, 0.792, 0.02, 0.998),
    ("sepsis", "Sepsis", "uci", 827, 110341, 3, 2, 0.926, 0.03, 0.92),
    ("dota2", "Dota2", "uci", 367, 102944, 115, 2, 0.527, 40.0, 0.52),
    ("hospitalization", "Hospitalization", "uci", 296, 101766, 47, 3, 0.539, 8.0, 0.57),
    ("shuttle", "Shuttle", "uci", 148, 58000, 7, 7, 0.786, 0.01, 0.998),
    ("credit", "credit", "benchmark", 44089, 16714, 10, 2, 0.5, 2.0, 0.72),
    ("california", "california", "benchmark", 44090, 20634, 8, 2, 0.5, 0.8, 0.87),
    ("kdd_ipums_la_97-small", "kdd_ipums_la_97-small", "benchmark", 44124, 5188, 20, 2, 0.5, 0.5, 0.85),
    ("wine", "wine", "benchmark", 44091, 2554, 11, 2, 0.5, 2.0, 0.75),
    ("electricity", "electricity", "benchmark", 44156, 38474, 8, 2, 0.5, 1.0, 0.86),
    ("rl", "rl", "benchmark", 44160, 4970, 12, 2, 0.5, 1.5, 0.74),
)  # fmt: skip


def sample_results(
    n_voters: int = 11, repeats: int = 2, names: tuple[str, ...] = ("skin", "dota2", "rl")
) -> Results:
    """Results for some of the sets; the same for the same arguments."""
    rng = np.random.default_rng(0)
    sets = [row for row in SETS if row[0] in names]
    pieces = {
        row[0]: tuple(_piece(rng, row[0], repeat, n_voters, *row[7:]) for repeat in range(repeats))
        for row in sets
    }
    return Results(
        settings=Settings(n_voters, repeats, 0),
        datasets=tuple(_facts(*row[:8]) for row in sets),
        skipped={"Higgs": "no file Higgs.parquet in the folder"},
        pieces=pieces,
        measures=tuple(
            _measure(approach, rate, pieces[row[0]])
            for row in sets
            for approach in APPROACHES
            for rate in sorted({*RATES, *SCATTER_RATES})
        ),
        roundings={
            row[0]: tuple(
                Rounding(row[0], repeat, n_voters, 0.13 if row[0] == "sepsis" else 0.9997, 1.0)
                for repeat in range(repeats)
            )
            for row in sets
        },
        timings=sample_timings(),
        structures=(
            Structure("minimean", n_voters, 1e-3, 3, 2, (3, 3), True, True, True),
            Structure("minimax", n_voters, 1e-1, 0, 3, (0, 1, 3), False, True, False),
        ),
    )


def sample_timings() -> tuple[Timing, ...]:
    """Growth as it is: cubic for ours, steeper for the linear program, hopeless for the quadratic one."""
    dual = [Timing("dual", "minimax", n, 0.01, 1e-3 + 1e-8 * n**3, True) for n in (3, 11, 31, 101, 301, 1001)]
    linear = [
        Timing("linear_program", "minimax", n, 0.01, 2e-3 * 1.05**n, True) for n in (3, 11, 31, 101, 151)
    ]
    quadratic = [Timing("quadratic_program", "minimax", n, 0.01, 1e-3 * 4.0**n, True) for n in range(3, 8)]
    return (*dual, *linear, *quadratic, Timing("quadratic_program", "minimax", 8, 0.01, 60.0, False))


def _facts(
    name: str, paper_name: str, group: str, number: int, rows: int, features: int, classes: int, share: float
) -> DatasetFacts:
    note = "the public file has one feature more than the paper's" if name == "dota2" else ""
    more = 1 if note else 0
    return DatasetFacts(
        name, paper_name, group, number, f"{name}.parquet", rows, features + more, classes, share,
        rows, features, classes, share, note,
    )  # fmt: skip


def _piece(
    rng: np.random.Generator,
    name: str,
    repeat: int,
    n_voters: int,
    share: float,
    concentration: float,
    accuracy: float,
) -> Piece:
    def counts(is_yes: bool, rows: int) -> np.ndarray:
        mean = accuracy if is_yes else 1 - accuracy
        inclination = rng.beta(concentration * mean + 1e-3, concentration * (1 - mean) + 1e-3, rows)
        return np.bincount(rng.binomial(n_voters, inclination), minlength=n_voters + 1)

    yes, no = int(4000 * share), 4000 - int(4000 * share)
    calibration = counts(True, yes // 2) + counts(False, no // 2)
    test = np.stack([counts(False, no), counts(True, yes)])
    return Piece(name, repeat, n_voters, 28000, calibration, test)


def _measure(approach: Approach, rate: float, pieces: tuple[Piece, ...]) -> Measure:
    rows = np.array([_figures(approach, rate, piece) for piece in pieces])
    return Measure(
        pieces[0].dataset,
        approach.name,
        rate,
        *rows.mean(axis=0).tolist(),
        len(pieces),
        *rows.std(axis=0).tolist(),
    )


def _figures(approach: Approach, rate: float, piece: Piece) -> tuple[float, float, float, float]:
    n_voters = piece.n_voters
    calibration = tuple(piece.calibration_counts.tolist()) if approach.calibrated else None
    votes_asked, differs = _evaluated(approach, rate, n_voters, calibration)
    shares = piece.test_counts / piece.test_counts.sum()
    full_vote = 2 * np.arange(n_voters + 1) > n_voters
    says_yes = np.where(full_vote, 1 - differs, differs)
    wrong = float(shares[0] @ says_yes + shares[1] @ (1 - says_yes))
    base = float(shares[0] @ full_vote + shares[1] @ ~full_vote)
    both = shares.sum(axis=0)
    return float(both @ votes_asked) / n_voters, float(both @ differs), wrong, base


@functools.cache
def _evaluated(
    approach: Approach, rate: float, n_voters: int, calibration: tuple[int, ...] | None
) -> tuple[np.ndarray, np.ndarray]:
    votes = (
        VoteDistribution.flat(n_voters) if calibration is None else VoteDistribution.from_counts(calibration)
    )
    if approach.criterion is None:
        strategy = rules.schwing(n_voters, rate)
    else:
        strategy = solve(approach.criterion, votes, rate).strategy
    evaluation = evaluate(strategy)
    return evaluation.expected_votes, evaluation.disagreement
