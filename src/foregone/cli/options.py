"""Options that several commands share, and what they lead to."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from foregone._system.file_reading import reason_of
from foregone.checks import check_choice
from foregone.cli.number_lists import parse_share
from foregone.cli.vote_file import read_counts, read_labelled_counts
from foregone.errors import InvalidInputError
from foregone.kinds import AnyDistribution, distribution_of, kind_of, strategy_of
from foregone.labelled_votes import LabelledVotes
from foregone.plurality import CompositionDistribution, lattice_of
from foregone.rules.methods import KnownVotes, Method, WhichVotes
from foregone.rules.registry import RULES, rule_names
from foregone.saved_file import load
from foregone.scores import ScoreRows
from foregone.solving import ANSWERS, CRITERIA, Criterion
from foregone.strategy.thresholds import check_quota, majority, quota_for
from foregone.votes import VoteDistribution

__all__ = [
    "AnswerName",
    "AnswersOption",
    "Confidence",
    "CostsOption",
    "CriterionName",
    "DropClasses",
    "LabelFile",
    "Looks",
    "MaxAccuracyLossOption",
    "MaxDisagreementOption",
    "MaxMemory",
    "QuotaOption",
    "RuleList",
    "ScoreFile",
    "StrategyFile",
    "ThresholdOption",
    "ValueFile",
    "VoteFile",
    "VotersOption",
    "check_criterion",
    "check_writable",
    "choose_votes",
    "given_labelled",
    "given_quota",
    "given_rules",
    "given_scores",
    "given_votes",
    "in_classes",
    "most_answers",
    "recorded_items",
    "votes_meant",
]

VotersOption = Annotated[
    int | None, typer.Option("--voters", metavar="N", help="Number of voters in the ensemble.")
]
MaxDisagreementOption = Annotated[
    str | None,
    typer.Option(
        "--max-disagreement",
        metavar="RATE",
        help="Largest allowed probability to answer otherwise than the full vote, from 0 to 1; or one "
        "for each thing the full vote can say: yes=1e-3,no=1e-2.",
    ),
]
MaxAccuracyLossOption = Annotated[
    str | None,
    typer.Option(
        "--max-accuracy-loss",
        metavar="RATE",
        help="Largest allowed loss of accuracy, from 0 to 1, instead of --max-disagreement; or one for each "
        "true class: yes=1e-3,no=1e-2. Needs true labels.",
    ),
]
CostsOption = Annotated[
    str | None,
    typer.Option(
        "--costs",
        metavar="MATRIX",
        help="What answers cost: a row for each true class, in it a number for each answer, 0,1;10,0. Then "
        "--max-accuracy-loss is the largest allowed rise of the mean cost.",
    ),
]
QuotaOption = Annotated[
    int | None,
    typer.Option(
        "--quota",
        metavar="K",
        help="Fewest yes votes with which the full vote is yes, from 0 to all; by default a majority.",
    ),
]
ThresholdOption = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="SHARE",
        help="The quota as a share of the voters: the full vote is yes if at least this share says so, such "
        "as 0.2 or 2/3.",
    ),
]
ValueFile = Annotated[
    Path | None,
    typer.Option(
        "--values",
        metavar="FILE",
        help="What a disagreement loses: N+1 numbers from 0 to 1, the n-th for when n voters say yes; or two "
        "columns, n and value. Then the limit is for the loss: the value times the disagreement.",
    ),
]
LabelFile = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="With --scores: the true class of each row, numbers from 0 (no) and 1 (yes); one column of CSV, "
        "Parquet or .npy. Counted votes are labelled by three columns in --votes.",
    ),
]
CriterionName = Annotated[
    str,
    typer.Option(
        "--criterion",
        metavar="NAME",
        autocompletion=lambda: list(CRITERIA),
        help="minimean: fewest votes on average, disagreement bounded on average; minimixed: fewest on "
        "average, bounded for every input; minimax: fewest in the worst case, bounded for every input.",
    ),
]
Confidence = Annotated[
    str,
    typer.Option(
        "--confidence",
        metavar="P",
        help="Probability, over which inputs were observed, with which minimean keeps its limit whatever "
        "the true votes; needs --votes. 'none' takes the observed votes for the truth.",
    ),
]
Looks = Annotated[
    str | None,
    typer.Option(
        "--looks", metavar="LIST", help="Stop only after every so many votes (10), or after these (5,10,20)."
    ),
]
AnswerName = Annotated[
    str,
    typer.Option(
        "--answer",
        metavar="NAME",
        autocompletion=lambda: list(ANSWERS),
        help="What to say at a stop, of yes and no: majority, of the votes so far; likeliest, what the full "
        "vote most likely is.",
    ),
]
AnswersOption = Annotated[
    str | None,
    typer.Option(
        "--answers",
        metavar="K",
        help="How many different answers voters can give: plurality among at most K, or 'any' number, not "
        "only yes and no; --votes is then a file of recorded votes, as 'foregone replay' reads it. With "
        "--scores: how many classes each voter has a score for.",
    ),
]
VoteFile = Annotated[
    Path | None,
    typer.Option(
        "--votes",
        metavar="FILE",
        help="Counts of observed votes: N+1 numbers, the n-th says how often n voters said yes; or "
        "two columns, n and count; or three, n and how many inputs are truly no and truly yes. Without it "
        "every n is taken as equally likely.",
    ),
]
ScoreFile = Annotated[
    Path | None,
    typer.Option(
        "--scores",
        metavar="FILE",
        help="Scores to add up, instead of votes: Parquet, CSV or .npy, one row per input, one column per "
        "voter in the order asked; the full sum says yes above 0. Of K classes, the largest sum wins: K "
        "columns per voter and --answers K, or a .npy of shape (inputs, voters, K). Needs a confidence.",
    ),
]
DropClasses = Annotated[
    bool,
    typer.Option(
        "--drop-classes",
        help="With --scores of many classes: each class has voters of its own, such as boosted trees. One "
        "that trails too far is asked for no more.",
    ),
]
RuleList = Annotated[
    str | None,
    typer.Option(
        "--rules",
        metavar="LIST",
        autocompletion=lambda: list(RULES),
        help=f"Of {', '.join(rule_names())}; for many answers of {', '.join(rule_names(many_answers=True))}; "
        "what follows a colon is its parameter or limit: esc:8,e-process:0.05. Or the path of a strategy "
        "file.",
    ),
]
MaxMemory = Annotated[
    float | None,
    typer.Option(
        "--max-memory",
        metavar="BYTES",
        help="Memory that reading may take besides 100 times the size of the file; 256 MiB by default.",
    ),
]
StrategyFile = Annotated[
    Path,
    typer.Argument(
        metavar="STRATEGY",
        help="A strategy of any kind, as 'foregone solve -o' writes it, or a saved classifier.",
    ),
]


def check_criterion(name: str) -> Criterion:
    """Return ``name`` as a criterion. Raises InvalidInputError if it is none."""
    return check_choice(name, "criterion", CRITERIA)


def choose_votes(n_voters: int | None, file: Path | None) -> VoteDistribution:
    """Return the votes in ``file`` if one is given, otherwise flat votes."""
    if file is not None:
        return VoteDistribution.from_counts(read_counts(file, n_voters))
    if n_voters is None:
        raise InvalidInputError(
            "say how many voters there are, with --voters N, or give their votes, with --votes FILE"
        )
    return VoteDistribution.flat(n_voters)


def given_labelled(n_voters: int | None, file: Path | None) -> LabelledVotes | None:
    """Return the votes in ``file`` with their true answers; None if it does not tell them."""
    found = None if file is None else read_labelled_counts(file, n_voters)
    if found is None:
        return None
    return LabelledVotes.from_counts(*found)


def given_quota(
    quota: int | None, threshold: str | None, n_voters: int, *, answers: str | None = None, scores: Any = None
) -> int | None:
    """Return the quota that was given, as such or as a share of the voters; None for a majority."""
    if quota is None and threshold is None:
        return None
    if scores is not None:
        raise InvalidInputError(
            "--quota and --threshold are for votes that are counted: scores say yes above 0. For another "
            "threshold, subtract it from the scores of one voter"
        )
    if answers is not None:
        raise InvalidInputError("--quota and --threshold are for yes and no: leave out --answers, or them")
    if quota is not None and threshold is not None:
        raise InvalidInputError("--quota and --threshold say the same in two ways: give one of them")
    if threshold is not None:
        quota = quota_for(parse_share(threshold), n_voters)
    needed = check_quota(quota, n_voters)
    return None if needed == majority(n_voters) else needed


def given_votes(
    n_voters: int | None,
    file: Path | None,
    answers: str | None,
    max_memory: float | None,
    which: WhichVotes = "averaged",
) -> AnyDistribution:
    """Return the votes in ``file`` or flat ones: between two answers, or with --answers among many."""
    if answers is None:
        return choose_votes(n_voters, file)
    if n_voters is None:
        raise InvalidInputError("say how many voters there are, with --voters N")
    n_classes = most_answers(answers)
    if file is None:
        return CompositionDistribution.flat(lattice_of(n_voters, n_classes))
    return recorded_items(file, n_voters, n_classes, max_memory).find(which)


def given_scores(
    file: Path,
    n_voters: int | None,
    vote_file: Path | None,
    answers: str | None,
    *,
    drops_classes: bool,
    labels: Path | None = None,
    costs: list[list[float]] | None = None,
) -> ScoreRows:
    """Return the scores in ``file``: one a voter, or one for each class; no votes may be given, too.

    With ``labels``, a file of true classes, limits are on the loss of accuracy.
    """
    if n_voters is not None or vote_file is not None:
        raise InvalidInputError(
            "--scores is for scores that are added up, and --voters and --votes are for votes that are "
            "counted: leave out one or the other"
        )
    from foregone.report.row_file import read_rows

    scores = np.asarray(read_rows(file, n_axes=(2, 3)))
    if answers is None:
        truth = _read_labels(labels, scores.shape[2] if scores.ndim == 3 else None)
        return ScoreRows(scores, drops_classes=drops_classes, labels=truth, costs=costs)
    n_classes = most_answers(answers)
    if n_classes is None or n_classes < 2:
        raise InvalidInputError(
            f"--answers {answers} has no meaning for scores: give the number of classes that each voter "
            "has a column for; where voters have one column each, leave it out"
        )
    if scores.ndim == 3 and scores.shape[2] != n_classes:
        raise InvalidInputError(
            f"{file} holds scores of {scores.shape[2]} classes, and --answers says {n_classes}: leave it out"
        )
    if scores.ndim == 2 and scores.shape[1] % n_classes:
        raise InvalidInputError(
            f"{file} has {scores.shape[1]} columns, which is no multiple of {n_classes} classes: give each "
            "voter a column for each class, voter after voter"
        )
    truth = _read_labels(labels, n_classes)
    by_class = scores.reshape(len(scores), -1, n_classes)
    return ScoreRows(by_class, drops_classes=drops_classes, labels=truth, costs=costs)


def _read_labels(file: Path | None, n_classes: int | None) -> Any:
    """Return the true class of each row: its number or, where there is one sum, whether it is yes."""
    if file is None:
        return None
    from foregone.report.row_file import read_rows

    table = np.asarray(read_rows(file, n_axes=(1, 2)))
    if table.ndim == 2 and table.shape[1] != 1:
        raise InvalidInputError(f"{file} has {table.shape[1]} columns: give one, the true class of each row")
    labels, most = table.ravel(), 1 if n_classes is None else n_classes - 1
    if labels.dtype.kind not in "biuf" or not np.isin(labels, np.arange(most + 1)).all():
        raise InvalidInputError(f"{file}: labels must be numbers of classes, from 0 to {most}: found others")
    return labels.astype(np.bool_ if n_classes is None else np.int64)


def in_classes(rows: ScoreRows) -> str:
    """Return how many classes scores are of, to go on after the voters; nothing if there are two."""
    return "" if rows.n_classes == 2 else f", {rows.n_classes} classes"


def votes_meant(content: Any, file: Path | None, max_memory: float | None) -> AnyDistribution:
    """Return the votes in ``file``, or else those a strategy was solved for, or else flat ones."""
    if file is None:
        return distribution_of(content)
    strategy: Any = strategy_of(content)
    if kind_of(content) == "answers":
        return recorded_items(file, strategy.n_voters, strategy.n_classes, max_memory).averaged
    return choose_votes(strategy.n_voters, file)


def recorded_items(file: Path, n_voters: int, n_classes: int | None, max_memory: float | None) -> KnownVotes:
    """Return what all items whose votes are recorded in ``file`` say about the votes among many answers."""
    from foregone.replaying import PluralityItems, read_votes

    items = PluralityItems.of(read_votes(file, max_memory=max_memory), n_voters, n_classes=n_classes)
    return items.calibrate(np.arange(items.n_items))


def most_answers(given: str | None) -> int | None:
    """Return how many different answers there can be, None for any number."""
    if given is None or given.strip() == "any":
        return None
    try:
        return int(given)
    except ValueError:
        raise InvalidInputError(f"--answers must be an integer or 'any', got {given!r}") from None


def given_rules(rule_list: str, max_memory: float | None) -> list[str | Method]:
    """Return the names in a list as they are, and the strategies whose files are in it as methods."""

    def given(item: str) -> str | Method:
        if not _is_file(item):
            return item
        strategy: Any = strategy_of(load(item, max_memory=max_memory))
        return Method.of(strategy, item)

    return [given(item.strip()) for item in rule_list.split(",")]


def _is_file(item: str) -> bool:
    try:
        is_there = Path(item).is_file()
    except OSError:  # no name of a file
        is_there = False
    is_named_so = is_there or Path(item).suffix in (".json", ".foregone")
    return is_named_so and item.partition(":")[0] not in RULES


def check_writable(file: Path | None) -> None:
    """Say so before any work is done if ``file`` cannot be written."""
    if file is None:
        return
    try:
        is_folder = stat.S_ISDIR(file.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_folder = False
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot write {file}: {reason_of(error)}; give another name") from None
    if is_folder:
        raise InvalidInputError(f"cannot write {file}: it is a folder; give the name of a file in it")
    if not file.absolute().parent.is_dir():
        raise InvalidInputError(
            f"cannot write {file}: the folder {file.parent} does not exist; make it first"
        )
