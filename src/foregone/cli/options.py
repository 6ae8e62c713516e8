"""Options that several commands share, and the functions that read them."""

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
    "AnswersOrClasses",
    "Confidence",
    "CostsOption",
    "CriterionName",
    "DropClasses",
    "LabelFile",
    "Looks",
    "MaxAccuracyLossOption",
    "MaxDisagreementOption",
    "MaxMemory",
    "OtherVoteFile",
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
        help="Largest allowed probability, from 0 to 1, that the answer differs from the full vote; or one "
        "limit for each answer of the full vote: yes=1e-3,no=1e-2.",
    ),
]
MaxAccuracyLossOption = Annotated[
    str | None,
    typer.Option(
        "--max-accuracy-loss",
        metavar="RATE",
        help="Largest allowed loss of accuracy, from 0 to 1, instead of --max-disagreement; or one limit for "
        "each true class: yes=1e-3,no=1e-2. Needs true labels.",
    ),
]
CostsOption = Annotated[
    str | None,
    typer.Option(
        "--costs",
        metavar="MATRIX",
        help="Cost of each answer, as a matrix with one row per true class and one number per answer: "
        "'0,1;10,0'. --max-accuracy-loss is then the largest allowed rise of the mean cost.",
    ),
]
QuotaOption = Annotated[
    int | None,
    typer.Option(
        "--quota",
        metavar="K",
        help="Fewest yes votes that make the full vote yes, from 0 to N. Default: a majority.",
    ),
]
ThresholdOption = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="SHARE",
        help="The quota as a share of the voters, such as 0.2 or 2/3: the full vote is yes if at least this "
        "share says yes.",
    ),
]
ValueFile = Annotated[
    Path | None,
    typer.Option(
        "--values",
        metavar="FILE",
        help="Loss of a disagreement, from 0 to 1, when n voters say yes: N+1 numbers for n = 0 to N, or two "
        "columns, n and value. The limit is then on the loss: value times disagreement.",
    ),
]
LabelFile = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="With --scores: the true class of each row, 0 (no) or 1 (yes), or class numbers from 0; one "
        "column of CSV, Parquet or .npy. To label counted votes, use three columns in --votes.",
    ),
]
CriterionName = Annotated[
    str,
    typer.Option(
        "--criterion",
        metavar="NAME",
        autocompletion=lambda: list(CRITERIA),
        help="minimean: fewest votes on average, disagreement limited on average; minimixed: fewest on "
        "average, limited for every input; minimax: fewest in the worst case, limited for every input.",
    ),
]
Confidence = Annotated[
    str,
    typer.Option(
        "--confidence",
        metavar="P",
        help="Probability, over the draw of the observed inputs, that minimean keeps its limit on new "
        "inputs; needs --votes. 'none' treats the observed votes as the true distribution.",
    ),
]
Looks = Annotated[
    str | None,
    typer.Option(
        "--looks",
        metavar="LIST",
        help="Stop only after every 10 votes (10), or only after 5, 10 and 20 (5,10,20).",
    ),
]
AnswerName = Annotated[
    str,
    typer.Option(
        "--answer",
        metavar="NAME",
        autocompletion=lambda: list(ANSWERS),
        help="Answer at a stop, for yes/no votes: majority (of the votes so far) or likeliest (the most "
        "probable full vote).",
    ),
]
_MANY_ANSWERS = (
    "Plurality vote among at most K different answers, or 'any' number, instead of yes and no; --votes is "
    "then a file of recorded votes, as for 'foregone replay'."
)
AnswersOption = Annotated[str | None, typer.Option("--n-answers", metavar="K", help=_MANY_ANSWERS)]
AnswersOrClasses = Annotated[
    str | None,
    typer.Option(
        "--n-answers",
        metavar="K",
        help=f"{_MANY_ANSWERS} With --scores: the number of classes that each voter scores.",
    ),
]
_VOTE_COUNTS = (
    "Counts of observed votes: N+1 numbers, for n = 0 to N the number of inputs to which n voters said yes; "
    "or two columns, n and count; or three columns, n and the number of inputs that are truly no and truly "
    "yes."
)
VoteFile = Annotated[
    Path | None,
    typer.Option("--votes", metavar="FILE", help=f"{_VOTE_COUNTS} Default: every n is equally likely."),
]
OtherVoteFile = Annotated[
    Path | None,
    typer.Option(
        "--votes",
        metavar="FILE",
        help=f"{_VOTE_COUNTS} Default: the votes that the strategy was solved for, or every n equally "
        "likely.",
    ),
]
ScoreFile = Annotated[
    Path | None,
    typer.Option(
        "--scores",
        metavar="FILE",
        help="Scores to add up, instead of votes: Parquet, CSV or .npy, with one row per input and one "
        "column per voter, in the order asked. The answer is yes if the full sum is above 0. With K classes "
        "the largest sum wins: give K columns per voter and --n-answers K, or a .npy of shape (inputs, "
        "voters, K). Needs --confidence.",
    ),
]
DropClasses = Annotated[
    bool,
    typer.Option(
        "--drop-classes",
        help="With --scores of many classes, if each class has its own voters, as in boosted trees: stop "
        "asking the voters of a class that trails too far.",
    ),
]
RuleList = Annotated[
    str | None,
    typer.Option(
        "--rules",
        metavar="LIST",
        autocompletion=lambda: list(RULES),
        help=f"Rules to compare: {', '.join(rule_names())}. With many answers: "
        f"{', '.join(rule_names(many_answers=True))}. A parameter or limit follows a colon: "
        "esc:8,e-process:0.05. The path of a strategy file also works.",
    ),
]
MaxMemory = Annotated[
    float | None,
    typer.Option(
        "--max-memory",
        metavar="BYTES",
        help="Memory for reading a file, on top of 100 times its size. Default: 256 MiB.",
    ),
]
StrategyFile = Annotated[
    Path,
    typer.Argument(
        metavar="STRATEGY",
        help="A strategy written by 'foregone solve -o', or a saved classifier.",
    ),
]


def check_criterion(name: str) -> Criterion:
    """Return ``name`` as a criterion; raise InvalidInputError if there is no such criterion."""
    return check_choice(name, "criterion", CRITERIA)


def choose_votes(n_voters: int | None, file: Path | None) -> VoteDistribution:
    """Return the votes in ``file`` if one is given, otherwise flat votes."""
    if file is not None:
        return VoteDistribution.from_counts(read_counts(file, n_voters))
    if n_voters is None:
        raise InvalidInputError(
            "the number of voters is missing: give --voters N, or observed votes with --votes FILE"
        )
    return VoteDistribution.flat(n_voters)


def given_labelled(n_voters: int | None, file: Path | None) -> LabelledVotes | None:
    """Return the votes in ``file`` with their true answers; None if it has no true answers."""
    found = None if file is None else read_labelled_counts(file, n_voters)
    if found is None:
        return None
    return LabelledVotes.from_counts(*found)


def given_quota(
    quota: int | None, threshold: str | None, n_voters: int, *, answers: str | None = None, scores: Any = None
) -> int | None:
    """Return the quota, given as a number or as a share of the voters; None for a majority."""
    if quota is None and threshold is None:
        return None
    if scores is not None:
        raise InvalidInputError(
            "--quota and --threshold apply to counted votes, not to --scores, where a sum above 0 is yes. "
            "For another threshold, subtract it from the scores of one voter"
        )
    if answers is not None:
        raise InvalidInputError(
            "--quota and --threshold apply to yes/no votes: omit them, or omit --n-answers"
        )
    if quota is not None and threshold is not None:
        raise InvalidInputError(
            "--quota and --threshold are two ways to give the same number: give only one of them"
        )
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
    """Return the votes in ``file`` or flat ones: between two answers, or with --n-answers among many."""
    if answers is None:
        return choose_votes(n_voters, file)
    if n_voters is None:
        raise InvalidInputError("the number of voters is missing: give --voters N")
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
    """Return the scores in ``file``, one per voter or one per voter and class.

    With ``labels``, a file of true classes, limits are on the loss of accuracy. Raises InvalidInputError if
    votes are given as well.
    """
    if n_voters is not None or vote_file is not None:
        raise InvalidInputError(
            "--scores cannot be combined with --voters or --votes: scores are added up, votes are counted. "
            "Omit --scores, or omit the others"
        )
    from foregone.report.row_file import read_rows

    scores = np.asarray(read_rows(file, n_axes=(2, 3)))
    if answers is None:
        truth = _read_labels(labels, scores.shape[2] if scores.ndim == 3 else None)
        return ScoreRows(scores, drops_classes=drops_classes, labels=truth, costs=costs)
    n_classes = most_answers(answers)
    if n_classes is None or n_classes < 2:
        raise InvalidInputError(
            f"--n-answers {answers} is not valid with --scores: give the number of classes, 2 or more, if "
            "each voter has one column per class; omit --n-answers if each voter has one column"
        )
    if scores.ndim == 3 and scores.shape[2] != n_classes:
        raise InvalidInputError(
            f"{file} has scores for {scores.shape[2]} classes, but --n-answers is {n_classes}: "
            "omit --n-answers"
        )
    if scores.ndim == 2 and scores.shape[1] % n_classes:
        raise InvalidInputError(
            f"{file} has {scores.shape[1]} columns, which is not a multiple of {n_classes} classes: give one "
            "column per class for the first voter, then for the second, and so on"
        )
    truth = _read_labels(labels, n_classes)
    by_class = scores.reshape(len(scores), -1, n_classes)
    return ScoreRows(by_class, drops_classes=drops_classes, labels=truth, costs=costs)


def _read_labels(file: Path | None, n_classes: int | None) -> Any:
    """Return the true class number of each row or, if there is one sum, whether it is yes."""
    if file is None:
        return None
    from foregone.report.row_file import read_rows

    table = np.asarray(read_rows(file, n_axes=(1, 2)))
    if table.ndim == 2 and table.shape[1] != 1:
        raise InvalidInputError(
            f"{file} has {table.shape[1]} columns: expected one, the true class of each row"
        )
    labels, most = table.ravel(), 1 if n_classes is None else n_classes - 1
    if labels.dtype.kind not in "biuf" or not np.isin(labels, np.arange(most + 1)).all():
        raise InvalidInputError(f"{file}: labels must be class numbers from 0 to {most}, found other values")
    return labels.astype(np.bool_ if n_classes is None else np.int64)


def in_classes(rows: ScoreRows) -> str:
    """Return the number of classes in words, to follow the number of voters; empty for two classes."""
    return "" if rows.n_classes == 2 else f", {rows.n_classes} classes"


def votes_meant(content: Any, file: Path | None, max_memory: float | None) -> AnyDistribution:
    """Return the votes in ``file``; without one, those a strategy was solved for, or flat ones."""
    if file is None:
        return distribution_of(content)
    strategy: Any = strategy_of(content)
    if kind_of(content) == "answers":
        return recorded_items(file, strategy.n_voters, strategy.n_classes, max_memory).averaged
    return choose_votes(strategy.n_voters, file)


def recorded_items(file: Path, n_voters: int, n_classes: int | None, max_memory: float | None) -> KnownVotes:
    """Return the distribution of votes among many answers, from the items recorded in ``file``."""
    from foregone.replaying import PluralityItems, read_votes

    items = PluralityItems.of(read_votes(file, max_memory=max_memory), n_voters, n_classes=n_classes)
    return items.calibrate(np.arange(items.n_items))


def most_answers(given: str | None) -> int | None:
    """Return the largest number of different answers, None for any number."""
    if given is None or given.strip() == "any":
        return None
    try:
        return int(given)
    except ValueError:
        raise InvalidInputError(f"--n-answers must be an integer or 'any', got {given!r}") from None


def given_rules(rule_list: str, max_memory: float | None) -> list[str | Method]:
    """Return the rules in a list: names unchanged, strategy files as methods."""

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
    """Raise InvalidInputError, before any work is done, if ``file`` cannot be written."""
    if file is None:
        return
    try:
        is_folder = stat.S_ISDIR(file.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_folder = False
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot write {file}: {reason_of(error)}; give another name") from None
    if is_folder:
        raise InvalidInputError(f"cannot write {file}: it is a folder; give the name of a file")
    if not file.absolute().parent.is_dir():
        raise InvalidInputError(
            f"cannot write {file}: the folder {file.parent} does not exist; create it first"
        )
