"""Learning while polling: the course depends on full votes alone, and what it certifies holds."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from scipy.stats import betabinom, binom

from foregone import Ballot, ScoreStrategy, VoteDistribution, evaluate, poll_many, solve, solve_plurality
from foregone.errors import InvalidInputError, PollManyError
from foregone.polling.as_you_go import FIRST_CHECK, Course

N = 9


def careful(limit=0.05, n_voters=N):
    return solve("minimixed", n_voters, limit)


def questions(n_questions, seed=0, a=0.2, b=0.2):
    rng = np.random.default_rng(seed)
    return [(rng.random(N) < chance).tolist() for chance in rng.beta(a, b, n_questions)]


def follow(course, items):
    """Ask about one question after the other; return how many votes each took."""
    asked = []
    for place, votes in enumerate(items):
        if course.is_due:
            course.check()
        ballot = Ballot(course.strategy_for(place), seed=place)
        verdict = ballot.verdict or ballot.cast_many(votes)
        course.note(place, votes[: verdict.asked])
        asked.append(verdict.asked)
    return asked


def test_the_first_questions_are_put_to_everyone_and_then_it_becomes_bolder():
    course = Course(careful(), 2000, seed=0)
    asked = follow(course, questions(2000))
    assert asked[:FIRST_CHECK] == [N] * FIRST_CHECK
    first, second = course.phases[:2]
    assert (first.in_full, first.confidence, first.strategy) == (1.0, None, course.careful)
    assert second.first == FIRST_CHECK
    assert second.confidence == 1 - 0.05 / 2
    assert second.strategy.expected_votes < course.careful.expected_votes
    assert 0 < second.in_full < 0.1
    assert np.mean(asked) < np.mean(follow(Course(careful(), 100), questions(100)))


def test_the_chances_to_fail_add_up_to_what_is_allowed():
    course = Course(careful(), 10**6, confidence=0.9, seed=0)
    for number in range(1, 6):
        place = course._end
        for needed in course._places:
            course.note(needed, [True] * N)
        assert course.is_due
        course.check()
        assert course.strategy_for(place) is not None
        assert len(course.phases) == number + 1
    # Certificates that are taken have these levels; all levels together are below a tenth.
    levels = [0.1 / (number * (number + 1)) for number in range(1, 10**4)]
    assert sum(levels) < 0.1
    taken = [1 - phase.confidence for phase in course.phases if phase.confidence is not None]
    assert taken
    assert all(any(level == pytest.approx(one) for level in levels) for one in taken)


@pytest.mark.slow
def test_every_strategy_of_a_course_keeps_the_limit_with_the_confidence():
    """Over random full votes: how often the true mean disagreement of any phase is above the limit."""
    true = VoteDistribution.from_counts(10**6 * betabinom.pmf(np.arange(N + 1), N, 0.5, 0.5))
    failing, n_courses, limit = 0, 50, 0.05
    start = careful(limit)
    for seed in range(n_courses):
        course = Course(start, 520, confidence=0.8, seed=seed)
        follow(course, questions(520, seed, 0.5, 0.5))
        risks = [evaluate(phase.strategy).mean(true).disagreement for phase in course.phases]
        failing += max(risks) > limit
    assert binom.sf(failing - 1, n_courses, 0.2) > 1e-3


def test_a_course_waits_for_the_votes_that_it_depends_on():
    course = Course(careful(), 2000, seed=0)
    items = questions(2000)
    for place in range(FIRST_CHECK):
        assert course.strategy_for(place) is not None
    assert course.strategy_for(FIRST_CHECK) is None
    for place in range(FIRST_CHECK - 1):
        course.note(place, items[place])
        assert not course.is_due
    course.note(FIRST_CHECK - 1, items[0][:3])  # a question without a verdict is not waited for
    assert course.is_due
    course.check()
    assert course.strategy_for(FIRST_CHECK) is not None


def test_the_course_does_not_depend_on_when_votes_arrive():
    items = questions(3000)
    straight, shuffled = Course(careful(), 3000, seed=3), Course(careful(), 3000, seed=3)
    follow(straight, items)
    place = 0
    rng = np.random.default_rng(0)
    while place < 3000:
        begun = []
        if shuffled.is_due:
            shuffled.check()
        while place < 3000 and shuffled.strategy_for(place) is not None:
            begun.append(place)
            place += 1
        for one in rng.permutation(begun):
            shuffled.note(int(one), items[one])
    assert [(phase.first, phase.in_full, phase.confidence) for phase in shuffled.phases] == [
        (phase.first, phase.in_full, phase.confidence) for phase in straight.phases
    ]
    assert all(
        one.strategy.strategy == other.strategy.strategy
        for one, other in zip(straight.phases, shuffled.phases, strict=True)
    )


def test_few_questions_are_not_worth_learning_from():
    course = Course(careful(), 300, seed=0)
    asked = follow(course, questions(300))
    assert len(course.phases) == 1
    assert course.phases[0].in_full == 0
    by_hand = [Ballot(course.careful, seed=place).cast_many(votes).asked
               for place, votes in enumerate(questions(300))]  # fmt: skip
    assert asked == by_hand


def test_what_cannot_be_certified_stays_careful():
    course = Course(careful(0.001), 600, seed=0)
    follow(course, questions(600, a=20, b=20))  # all votes are close
    assert all(phase.strategy is course.careful for phase in course.phases)


def test_answers_of_any_kind_are_learned_from():
    start = solve_plurality(None, 0.05, n_voters=N, criterion="minimixed")
    rng = np.random.default_rng(1)
    items = [rng.choice(["a", "b", "c"], size=N, p=[0.9, 0.06, 0.04]).tolist() for _ in range(1200)]
    course = Course(start, 1200, seed=0)
    asked = follow(course, items)
    assert course.phases[-1].confidence is not None
    assert np.mean(asked[FIRST_CHECK:]) < 0.7 * course.careful.expected_votes


@pytest.mark.parametrize(
    "strategy",
    [
        solve("minimean", N, 0.05),
        solve("minimixed", N, 0.05).strategy,
        solve("minimixed", N, {"yes": 0.05, "no": 0.1}),
        solve("minimixed", N, 0.05, quota=2),
        ScoreStrategy.ask_all(N, order=np.arange(N), start=0.0, reason="no rows"),
    ],
)
def test_what_it_cannot_begin_with_is_refused(strategy):
    with pytest.raises(InvalidInputError, match="as_you_go"):
        Course(strategy, 1000)


# In poll_many -------------------------------------------------------------------------------------


def ask_of(items, calls=None):
    async def ask(question, voter):
        if calls is not None:
            calls.append((question, voter))
        await asyncio.sleep(0.0001 * ((question * 7 + voter * 3) % 5))
        return items[question][voter]

    return ask


def test_polls_learn_and_keep_what_asking_one_by_one_gives():
    items = questions(700)
    polls = poll_many(range(700), ask_of(items), careful(), calibrate="as_you_go", voters=N, seed=5)
    verdicts = polls.run()
    assert len(verdicts) == 700
    assert len(polls.course.phases) == 2
    bold = polls.course.phases[1]
    assert bold.confidence is not None
    in_full = [key for key, verdict in verdicts.items() if verdict.asked == N]
    assert len(in_full) >= FIRST_CHECK
    others = [verdict.asked for verdict in verdicts.values() if verdict.asked < N]
    assert np.mean(others) < 1.2 * bold.expected_votes
    right = [verdicts[key].answer == (sum(items[key]) > N // 2) for key in verdicts]
    assert np.mean(right) > 0.9


def test_a_course_is_taken_again_from_the_journal(tmp_path):
    items, calls, again = questions(700), [], []
    settings = {"calibrate": "as_you_go", "voters": N, "seed": 5, "journal": tmp_path / "votes.jsonl"}
    first = poll_many(range(700), ask_of(items, calls), careful(), **settings).run()
    second = poll_many(range(700), ask_of(items, again), careful(), **settings)
    assert second.run() == first
    assert again == []
    assert len(set(calls)) == len(calls)


def test_a_question_without_a_verdict_does_not_hold_up_the_others():
    items = questions(700)

    async def ask(question, voter):
        if question % 90 == 0:
            raise ConnectionError("gone")
        return items[question][voter]

    polls = poll_many(range(700), ask, careful(), calibrate="as_you_go", retries=0, seed=1)
    with pytest.raises(PollManyError) as caught:
        polls.run()
    assert len(caught.value.failed) == 8
    assert len(polls.course.phases) == 2


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"calibrate": "first"}, "calibrate"),
        ({"calibrate": "as_you_go", "budget": 100}, "Pass only one of the two"),
        ({"calibrate": "as_you_go", "confidence": 1.5}, "confidence"),
    ],
)
def test_settings_of_learning_are_checked(settings, problem):
    with pytest.raises(InvalidInputError, match=problem):
        poll_many([1, 2], ask_of([]), careful(), **settings)
