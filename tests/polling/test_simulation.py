"""The simulation of ``make bench-polls``, small."""

from __future__ import annotations

import asyncio

import pytest

from tests.polling.troubled import troubled_server

pytest.importorskip("httpx", reason="the simulation needs the extra llm")

from benchmarks import polls


@pytest.mark.slow
@pytest.mark.parametrize("way", polls.WAYS)
def test_hundreds_of_questions_at_64_requests_at_once_with_failures_are_answered_and_billed_right(
    way,
):
    n_questions = 250
    with troubled_server(polls.SEED, polls.FAILURE_RATE) as url:
        measured = asyncio.run(polls.run(url, n_questions, 64, **polls.WAYS[way]))
    assert len(measured.verdicts) == n_questions
    assert polls.wrong_verdicts(measured.verdicts, measured) == 0
    assert {name: getattr(measured.spent, name) for name in measured.billed} == measured.billed
    assert measured.most_tasks <= 65
    assert measured.tasks_left == 0
    assert (measured.in_vain > 0) == ("speculate" in polls.WAYS[way])
    if way == "ask":
        simulated = polls.Simulated(polls.SEED, polls.FAILURE_RATE)
        assert measured.spent.requests == sum(
            simulated.calls(key, verdict.asked, polls.RETRIES) for key, verdict in measured.verdicts.items()
        )
        assert measured.spent.requests > measured.spent.votes  # some did fail
    else:
        assert measured.spent.requests < measured.spent.votes / 2


def test_a_wrong_verdict_would_be_found():
    found = polls.poll_many(range(50), polls.Simulated(polls.SEED).vote, polls.SOLUTION).run()
    assert polls.wrong_verdicts(found) == 0
    turned = {key: polls.Verdict(not v.answer, v.asked, v.yes, v.risk) for key, v in found.items()}
    later = {key: polls.Verdict(v.answer, v.asked + 1, v.yes, v.risk) for key, v in found.items()}
    assert polls.wrong_verdicts(turned) == 50
    assert polls.wrong_verdicts(later) > 40
