"""Simulated streams of rows for a monitor, with and without drift.

Only counts are drawn. Given a strategy and how votes are spread, the probability of every stop (answer,
voters asked) is computed exactly; a block of rows is one draw from the multinomial distribution of these.
The bets and thresholds are those of a `Monitor`, and a stream goes on as its blocks would in `update`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, betabinom, binom, hypergeom

from foregone import VoteDistribution, solve
from foregone.certifying import Promise
from foregone.monitoring import Monitor, Stops
from foregone.monitoring.bets import asked_steps
from foregone.monitoring.evidence import Capital, RunningEvidence

__all__ = ["CHANGE", "Setting", "drift_table_rows", "false_alarms", "interval", "level_settings"]

N_VOTERS, LIMIT = 101, 0.001
FALSE_ALARM, AUDIT = 0.01, 0.01
STREAM_ROWS, BLOCK_ROWS = 1_000_000, 5_000
CHANGE = 200_000  # rows without drift, where it does not begin at once
MOST_ROWS = 10_000_000  # of drift; a stream without an alarm until then has none
EASY, RARE = (0.4, 0.6), (0.1, 1.2)  # beta-binomial votes: 101 voters, 38 % and 6 % of majorities are yes

Table = npt.NDArray[np.float64]


# Where rows stop ----------------------------------------------------------------------------------


def votes_of(shape: tuple[float, float]) -> Table:
    """Return the probability of every number of yes votes."""
    return np.asarray(betabinom.pmf(np.arange(N_VOTERS + 1), N_VOTERS, *shape))


def stops_by_votes(strategy: Any) -> Table:
    """Return the probability of each answer and number of voters asked, given each number of yes votes.

    The shape is (n_voters + 1, 2, n_voters + 1). Voters are asked in random order.
    """
    theta = strategy.table()
    # among[i][j, n]: the probability of j yes votes among the first i, if n of all say yes.
    among = {N_VOTERS: np.eye(N_VOTERS + 1)}
    for i in range(N_VOTERS - 1, -1, -1):
        j = np.arange(i + 1)[:, None]
        among[i] = (i + 1 - j) / (i + 1) * among[i + 1][:-1] + (j + 1) / (i + 1) * among[i + 1][1:]
    found = np.zeros((N_VOTERS + 1, 2, N_VOTERS + 1))
    going = np.ones(1)  # going[j]: the probability not to have stopped before, if j of i say yes
    for i in range(N_VOTERS + 1):
        stopped = (going * theta[i, : i + 1])[:, None] * among[i]
        yes = np.arange(i + 1) >= strategy.yes_from[i]
        found[:, 1, i], found[:, 0, i] = stopped[yes].sum(axis=0), stopped[~yes].sum(axis=0)
        if i < N_VOTERS:
            goes, j = going * (1 - theta[i, : i + 1]), np.arange(i + 2)
            going = np.zeros(i + 2)
            going[:-1] += (i + 1 - j[:-1]) / (i + 1) * goes
            going[1:] += j[1:] / (i + 1) * goes
    return found


@cache
def solved(shape: tuple[float, float]) -> tuple[Table, Table]:
    """Return votes and the stops of the best strategy for them, given each number of yes votes."""
    votes = votes_of(shape)
    return votes, stops_by_votes(solve("minimean", VoteDistribution(votes), LIMIT).strategy)


def stops_like_scores(seed: int) -> Table:
    """Return some distribution over three classes and the voters asked, as scores or many classes have."""
    rng = np.random.default_rng(seed)
    falling = 0.93 ** np.arange(N_VOTERS + 1) * (np.arange(N_VOTERS + 1) > 0)
    found = rng.gamma(0.5, size=(3, N_VOTERS + 1)) * falling * np.array([[0.6], [0.37], [0.03]])
    return np.asarray(found / found.sum())


# One stream ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Watched:
    """A monitor's bets, and where rows stop: all that a simulated stream needs."""

    monitor: Monitor

    @classmethod
    def against(cls, reference: npt.NDArray[np.int64], limit: float = LIMIT) -> Watched:
        """Return what watches rows beside a table of calibration rows."""
        promise = Promise("classifier", "disagreement", limit, 0.95, limit, int(reference.sum()))
        return cls(Monitor(promise, reference=Stops(reference), audit=AUDIT, false_alarm=FALSE_ALARM))

    def log_factors(self, counts: npt.NDArray[np.int64]) -> Table:
        """Return what bets on the spread make of a block of rows, counted by answer and voters asked."""
        spread: Any = self.monitor.watched.spread
        return np.asarray(spread.log_payoffs @ spread.cells(counts))

    def audit_log_factors(self, n_audited: int, n_differing: int) -> Table:
        """Return what bets on the disagreement make of a block of audited rows."""
        payoffs = self.monitor.watched.audits.log_payoffs
        return np.asarray(payoffs[:, 0] * (n_audited - n_differing) + payoffs[:, 1] * n_differing)

    def is_alarm(self, kind: Any, capital: Capital) -> bool:
        """Whether the evidence is enough."""
        bets: Any = self.monitor.watched.spread if kind == "spread" else self.monitor.watched.audits
        return RunningEvidence(bets.log_payoffs, bets.weights, capital).value >= self.monitor.thresholds[kind]

    def start(self, kind: Any) -> Capital:
        """Return what the bets are worth before the first row."""
        bets: Any = self.monitor.watched.spread if kind == "spread" else self.monitor.watched.audits
        return Capital.start(len(bets.bets))


def draw(rng: np.random.Generator, n_rows: int, stops: Table) -> npt.NDArray[np.int64]:
    """Return how many rows stop where."""
    return rng.multinomial(n_rows, stops.ravel() / stops.sum()).reshape(stops.shape)


# Nothing changes ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """Streams in which nothing changes; ``shape`` None stands for three classes or scores."""

    title: str
    shape: tuple[float, float] | None
    n_rows: int
    is_selected: bool = False


def level_settings() -> list[Setting]:
    """Return the settings whose false alarms are counted."""
    kinds = [("easy votes", EASY), ("votes with a rare class", RARE), ("three classes", None)]
    found = [Setting(title, shape, k) for title, shape in kinds for k in (500, 5_000, 50_000)]
    chosen = "easy votes, strategy chosen on the same rows"
    return [*found, *(Setting(chosen, EASY, k, is_selected=True) for k in (500, 5_000))]


def false_alarms(setting: Setting, n_streams: int, workers: ProcessPoolExecutor) -> tuple[int, int]:
    """Return in how many streams the spread gave an alarm, and in how many the disagreement."""
    given = list(workers.map(partial(_gives_alarm, setting), range(n_streams), chunksize=10))
    return sum(spread for spread, _ in given), sum(audit for _, audit in given)


def _gives_alarm(setting: Setting, seed: int) -> tuple[bool, bool]:
    """Whether either kind of alarm is given in a stream in which nothing changes."""
    rng = np.random.default_rng([7, setting.n_rows, setting.is_selected, seed])
    truth, reference = _truth_and_reference(setting, rng)
    watched = Watched.against(reference)
    spread, audits = watched.start("spread"), watched.start("disagreement")
    alarms = [False, False]
    while spread.n_rows < STREAM_ROWS:
        n_rows = min(int(rng.geometric(1 / BLOCK_ROWS)), STREAM_ROWS - spread.n_rows)
        spread = spread.after(watched.log_factors(draw(rng, n_rows, truth)), n_rows)
        n_audited = int(rng.binomial(n_rows, AUDIT))
        n_differing = int(rng.binomial(n_audited, LIMIT))
        audits = audits.after(watched.audit_log_factors(n_audited, n_differing), n_audited)
        alarms[0] = alarms[0] or watched.is_alarm("spread", spread)
        alarms[1] = alarms[1] or watched.is_alarm("disagreement", audits)
    return alarms[0], alarms[1]


def _truth_and_reference(setting: Setting, rng: np.random.Generator) -> tuple[Table, npt.NDArray[np.int64]]:
    """Return where rows stop, and how many calibration rows did where."""
    if setting.shape is None:
        truth = stops_like_scores(int(rng.integers(2**31)))
        return truth, draw(rng, setting.n_rows, truth)
    votes, by_votes = solved(setting.shape)
    if not setting.is_selected:
        truth = np.einsum("n,nca->ca", votes, by_votes)
        return truth, draw(rng, setting.n_rows, truth)
    counts = rng.multinomial(setting.n_rows, votes)
    strategy = solve("minimean", VoteDistribution.from_counts(counts), LIMIT, confidence=0.95).strategy
    by_votes = stops_by_votes(strategy)
    # These rows have chosen the strategy, and are where it stops on them, each in a random order.
    seen = [draw(rng, int(count), table) for count, table in zip(counts, by_votes, strict=True) if count]
    return np.einsum("n,nca->ca", votes, by_votes), np.sum(seen, axis=0)


def interval(k: int, n: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share."""
    low = 0.0 if k == 0 else float(beta.ppf(0.025, k, n - k + 1))
    high = 1.0 if k == n else float(beta.ppf(0.975, k + 1, n - k))
    return low, high


# Drift --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drifted:
    """How rows stop before and after a change, beside some calibration rows; or how many answers differ."""

    title: str
    before: Any
    after: Any
    n_rows: int = 0
    limit: float = LIMIT


def _spread_drifts() -> list[Drifted]:
    found = []
    for n_rows in (500, 5_000, 50_000):
        votes, by_votes = solved(EASY)
        before, flat = (
            np.einsum("n,nca->ca", v, by_votes) for v in (votes, np.full_like(votes, 1 / len(votes)))
        )
        found += [
            Drifted(
                f"votes' spread moved by {share:.0%}", before, (1 - share) * before + share * flat, n_rows
            )
            for share in (0.1, 0.25, 0.5)
        ]
        for title, shape in (("a class's share doubled, from {:.0%}", EASY), ("the same, from {:.0%}", RARE)):
            votes, by_votes = solved(shape)
            yes = np.arange(len(votes)) > N_VOTERS // 2
            share = votes[yes].sum()
            doubled = np.where(yes, 2.0, (1 - 2 * share) / (1 - share)) * votes
            tables = [np.einsum("n,nca->ca", v, by_votes) for v in (votes, doubled)]
            found.append(Drifted(title.format(share), *tables, n_rows))
    return found


def drift_table_rows(n_streams: int, workers: ProcessPoolExecutor) -> tuple[list[list[str]], list[list[str]]]:
    """Return the lines of two tables: drift of the spread, and of the disagreement."""
    spread = []
    for drift in _spread_drifts():
        times = [_times(_rows_to_spread_alarm, (drift, change), n_streams, workers) for change in (0, CHANGE)]
        wanted = _hindsight_rows(drift)
        spread.append([drift.title, f"{drift.n_rows:,}", *times[0], *times[1], _rounded(wanted)])
    audits = []
    for limit in (0.001, 0.01):
        for times_limit in (1.5, 2, 5):
            drift = Drifted("", limit, times_limit * limit, limit=limit)
            wanted = _hindsight_audits(limit, times_limit * limit)
            for share in (0.001, 0.01, 0.1):
                times = [
                    _times(_rows_to_audit_alarm, (drift, change, share), n_streams, workers)
                    for change in (0, CHANGE)
                ]
                title = f"{times_limit:g} times {limit:g}"
                audits.append([title, f"{share:.1%}", *times[0], *times[1], _rounded(wanted / share)])
    return spread, audits


def _times(simulate: Any, given: tuple[Any, ...], n_streams: int, workers: ProcessPoolExecutor) -> list[str]:
    """Return the median and the 90 % quantile of the rows until an alarm, as texts."""
    rows = np.array(list(workers.map(partial(simulate, *given), range(n_streams), chunksize=10)))
    rows = rows[~np.isnan(rows)]  # a false alarm before the change, of which there is hardly any
    return [_rounded(float(np.quantile(rows, q, method="higher"))) for q in (0.5, 0.9)]


def _rounded(rows: float) -> str:
    """Return a number of rows to two digits."""
    return "none" if np.isinf(rows) else f"{int(float(f'{rows:.1e}')):,}"


def _blocks(change: int, most: float, first: int) -> Iterator[tuple[int, bool]]:
    """Return sizes of blocks and whether drift has begun: before it, 2,000 or so at a time; then finer."""
    done = 0
    while done < change:
        size = min(max(first, done // 50), change - done)
        yield size, False
        done += size
    since = 0
    while since < most:
        size = max(first, since // 50)
        yield size, True
        since += size


def _rows_to_spread_alarm(drift: Drifted, change: int, seed: int) -> float:
    """Return how many rows after the change the spread gives an alarm; infinity if it does not."""
    rng = np.random.default_rng([11, drift.n_rows, change, seed])
    watched = Watched.against(draw(rng, drift.n_rows, drift.before))
    capital = watched.start("spread")
    for n_rows, has_begun in _blocks(change, MOST_ROWS / 10, 100):
        counts = draw(rng, n_rows, drift.after if has_begun else drift.before)
        capital = capital.after(watched.log_factors(counts), n_rows)
        if watched.is_alarm("spread", capital):
            return capital.n_rows - change if has_begun else np.nan
    return np.inf


def _rows_to_audit_alarm(drift: Drifted, change: int, share: float, seed: int) -> float:
    """Return how many rows after the change the disagreement gives an alarm; infinity if it does not."""
    rng = np.random.default_rng([13, change, round(1000 * share), seed])
    watched = Watched.against(np.ones((2, 2), np.int64), drift.limit)
    capital, audited_before = watched.start("disagreement"), round(change * share)
    for n_audited, has_begun in _blocks(audited_before, MOST_ROWS, 10):
        n_differing = int(rng.binomial(n_audited, drift.after if has_begun else drift.before))
        capital = capital.after(watched.audit_log_factors(n_audited, n_differing), n_audited)
        if watched.is_alarm("disagreement", capital):
            return (capital.n_rows - audited_before) / share if has_begun else np.nan
    return np.inf


# With hindsight -----------------------------------------------------------------------------------


def _hindsight_rows(drift: Drifted) -> float:
    """Return how many rows a test of fixed size takes that knows the best event beforehand.

    That is Fisher's exact test of the calibration rows and the new ones, of one event: more rows that ask at
    least, or at most, so many voters, or that are answered with a class. Its level is that of the alarm,
    half of ``false_alarm``. At the number of rows returned it rejects where both counts are what is expected:
    it finds the drift with a probability of about one half.
    """
    events = []
    for inside in _events(drift.before.shape):
        p, q = (float(table[inside].sum() / table.sum()) for table in (drift.before, drift.after))
        if q > p:
            events.append((p, q))
    return min(_fisher_rows(drift.n_rows, p, q) for p, q in events)


def _events(shape: tuple[int, ...]) -> Iterator[npt.NDArray[np.bool_]]:
    classes, asked = np.indices(shape)
    for step in asked_steps(shape[1] - 1):
        yield asked >= step
        yield asked < step
    for number in range(shape[0]):
        yield classes == number


def _fisher_rows(k: int, p: float, q: float) -> float:
    """Return the number of rows at which the expected counts are just significant, infinity if none are."""
    seen = round(k * p)

    def is_found(n: int) -> bool:
        new = round(n * q)
        return bool(hypergeom.sf(new - 1, k + n, seen + new, n) <= FALSE_ALARM / 2)

    low, high = 1, 2
    while not is_found(high):
        low, high = high, 2 * high
        if high > 10**9:
            return np.inf
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if is_found(middle) else (middle, high)
    return high


def _hindsight_audits(limit: float, now: float) -> float:
    """Return the fewest audited rows at which an exact binomial test finds the drift in half of all cases.

    Its level is that of the alarm, half of ``false_alarm``.
    """
    for differing in range(1, 10_000):
        # The fewest rows of which so many differ in half of all cases; the test must keep its level there.
        low, high = 1, int(2 * differing / now)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if binom.sf(differing - 1, middle, now) >= 0.5 else (middle + 1, high)
        if binom.sf(differing - 1, high, limit) <= FALSE_ALARM / 2:
            return high
    return np.inf
