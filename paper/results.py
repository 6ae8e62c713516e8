"""What the reproduction measures: plain records, from which every figure and table is drawn.

Figures and tables are functions of one `Results`, so that drawing again needs no measuring again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

__all__ = [
    "APPROACHES",
    "CRITERIA",
    "RATES",
    "SCATTER_RATES",
    "SUMMARY_RATE",
    "Approach",
    "Criterion",
    "DatasetFacts",
    "Measure",
    "Piece",
    "Results",
    "Rounding",
    "Settings",
    "Structure",
    "Timing",
]

Counts = npt.NDArray[np.int64]
Criterion = Literal["minimax", "minimean", "minimixed"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)

RATES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)  # figure 3, and the paper's grid of strategies
SCATTER_RATES = (1e-3, 10**-2.5, 1e-2, 10**-1.5, 1e-1)  # figure 4
SUMMARY_RATE = 1e-3  # table 3


@dataclass(frozen=True)
class Approach:
    """A way of stopping early that the paper compares.

    Attributes
    ----------
    name : str
        One word for files and keys.
    label : str
        What a legend says.
    criterion : {"minimax", "minimean", "minimixed"} or None
        What is optimised; None for Schwing's rule.
    calibrated : bool
        Whether it is solved for the votes of the calibration rows rather than for flat ones.
    """

    name: str
    label: str
    criterion: Criterion | None
    calibrated: bool


APPROACHES = (
    Approach("minimax", "Minimax", "minimax", False),
    Approach("minimean_calibrated", "Minimean (calibrated)", "minimean", True),
    Approach("minimean_flat", "Minimean (flat)", "minimean", False),
    Approach("minimixed_calibrated", "Minimixed (calibrated)", "minimixed", True),
    Approach("minimixed_flat", "Minimixed (flat)", "minimixed", False),
    Approach("schwing", "Schwing et al.", None, False),
)


@dataclass(frozen=True)
class Settings:
    """What a run was asked for; with the data they determine every number but the timings."""

    n_voters: int = 101
    repeats: int = 30
    seed: int = 0


@dataclass(frozen=True)
class DatasetFacts:
    """One dataset as it was used.

    Attributes
    ----------
    name, paper_name : str
        Our word for it, as in files and options, and the paper's.
    group : {"uci", "benchmark"}
        One of the eight UCI sets of the main text, or of the nineteen of Grinsztajn et al.
    identifier : int
        Its number at UCI or OpenML.
    origin : str
        Where these rows came from, such as ``"skin.parquet"``, ``"UCI 229"`` or ``"OpenML 44089"``.
    rows, features, classes : int
        Before classes are merged.
    share_of_largest : float
        Share of rows in the largest class, which is "yes" once the others are merged.
    paper_rows, paper_features, paper_classes : int
        The same three in the paper.
    paper_share_of_largest : float
        And the share.
    note : str
        How the rows differ from the paper's, as a sentence; empty when nothing is known to differ.
    """

    name: str
    paper_name: str
    group: str
    identifier: int
    origin: str
    rows: int
    features: int
    classes: int
    share_of_largest: float
    paper_rows: int
    paper_features: int
    paper_classes: int
    paper_share_of_largest: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class Piece:
    """One forest, trained on one split of one dataset, and how it voted.

    Attributes
    ----------
    dataset : str
        Name of the set.
    repeat : int
        Which of the repetitions, from 0.
    n_voters : int
        Trees in the forest.
    n_train : int
        Rows it was trained on.
    calibration_counts : ndarray of shape (n_voters + 1,)
        Calibration rows by how many trees said yes. Read-only.
    test_counts : ndarray of shape (2, n_voters + 1)
        Test rows by true class (0 no, 1 yes) and by how many trees said yes. Read-only.
    """

    dataset: str
    repeat: int
    n_voters: int
    n_train: int
    calibration_counts: Counts = field(repr=False)
    test_counts: Counts = field(repr=False)

    def __post_init__(self) -> None:
        self.calibration_counts.setflags(write=False)
        self.test_counts.setflags(write=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore one from another process, whose arrays come back writable."""
        self.__dict__.update(state)
        self.__post_init__()


@dataclass(frozen=True)
class Rounding:
    """How much is lost when the trees of one forest vote rather than give probabilities.

    Attributes
    ----------
    dataset : str
        Name of the set.
    repeat : int
        Which of the repetitions, from 0.
    n_voters : int
        Trees in the forest.
    tree_certainty : float
        Share of the single trees' probabilities on test rows that are exactly 0 or 1.
    invariance_to_rounding : float
        Share of test rows where the majority of votes is the answer of the mean probability.
    """

    dataset: str
    repeat: int
    n_voters: int
    tree_certainty: float
    invariance_to_rounding: float


@dataclass(frozen=True)
class Measure:
    """What one approach did on one dataset at one rate, averaged over repeats. All are shares.

    Attributes
    ----------
    dataset, approach : str
        Names.
    max_disagreement : float
        The allowed rate.
    expected_runtime : float
        Expected votes asked, as a share of all voters.
    disagreement : float
        Probability to answer otherwise than the full vote.
    error, base_error : float
        Probability to be wrong, when stopped early and by the full vote.
    repeats : int
        How many were averaged.
    runtime_spread, disagreement_spread, error_spread, base_error_spread : float
        Standard deviations over the repeats; zero for a single one.
    """

    dataset: str
    approach: str
    max_disagreement: float
    expected_runtime: float
    disagreement: float
    error: float
    base_error: float
    repeats: int
    runtime_spread: float = 0.0
    disagreement_spread: float = 0.0
    error_spread: float = 0.0
    base_error_spread: float = 0.0


@dataclass(frozen=True)
class Timing:
    """How long one method took to find one strategy.

    Attributes
    ----------
    method : {"dual", "linear_program", "quadratic_program"}
        As in ``foregone.solve``.
    criterion : str
        What was optimised (the paper times minimax).
    n_voters : int
        Number of voters.
    max_disagreement : float
        The allowed rate.
    seconds : float
        The least of the runs; the time limit when it did not finish.
    finished : bool
        Whether it found the optimum within the time limit.
    expected_votes : float or None
        The optimum it found, by which methods can be compared; None when it did not finish.
    """

    method: str
    criterion: str
    n_voters: int
    max_disagreement: float
    seconds: float
    finished: bool
    expected_votes: float | None = None


@dataclass(frozen=True)
class Structure:
    """Whether one optimal strategy for flat votes has the shape that the paper reports.

    Attributes
    ----------
    criterion : str
        What it is optimal for.
    n_voters : int
        Number of voters.
    max_disagreement : float
        The allowed rate.
    first_stop : int
        The paper's i0: the least number of votes after which it may stop.
    n_randomised : int
        States that can be reached and where chance decides.
    randomised_asked : tuple of int
        After how many votes those are, in order.
    randomised_at_first_stop : bool
        Whether they are all unanimous states at ``first_stop``.
    has_thresholds : bool
        Whether at every step it goes on within an interval of yes votes and stops for certain outside, but
        for states at the ends of the interval, where chance may decide.
    is_symmetric : bool
        Whether it treats yes and no alike (for odd numbers of voters; a tie is "no").
    """

    criterion: str
    n_voters: int
    max_disagreement: float
    first_stop: int
    n_randomised: int
    randomised_asked: tuple[int, ...]
    randomised_at_first_stop: bool
    has_thresholds: bool
    is_symmetric: bool


@dataclass(frozen=True, eq=False)
class Results:
    """Everything measured for the items asked for; what an item does not need may be empty.

    Attributes
    ----------
    settings : Settings
        What was asked for.
    datasets : tuple of DatasetFacts
        In the paper's order; only those that could be had.
    skipped : mapping of str to str
        Why each other dataset that was asked for could not be had, by name.
    pieces : mapping of str to tuple of Piece
        By dataset, in order of repeats.
    roundings : mapping of str to tuple of Rounding
        The same for supplementary table 1, whose forests are others.
    measures : tuple of Measure
        By dataset, approach and rate, over `RATES` and `SCATTER_RATES`.
    timings : tuple of Timing
        By method and number of voters.
    structures : tuple of Structure
        By criterion, number of voters and rate.
    """

    settings: Settings = Settings()
    datasets: tuple[DatasetFacts, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    pieces: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)
    roundings: Mapping[str, tuple[Rounding, ...]] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()
    timings: tuple[Timing, ...] = ()
    structures: tuple[Structure, ...] = ()

    def group(self, name: str) -> tuple[DatasetFacts, ...]:
        """Return the datasets of one group, ``"uci"`` or ``"benchmark"``."""
        return tuple(facts for facts in self.datasets if facts.group == name)

    def measure(self, dataset: str, approach: str, max_disagreement: float) -> Measure:
        """Return one measure.

        Raises
        ------
        KeyError
            If it is not among them.
        """
        wanted = (dataset, approach, max_disagreement)
        for found in self.measures:
            if (found.dataset, found.approach, found.max_disagreement) == wanted:
                return found
        raise KeyError(wanted)
