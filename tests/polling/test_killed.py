"""kill -9 at any point loses no finished vote and asks none twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foregone import poll_many
from tests.polling.killed_run import N_QUESTIONS, SEED, STRATEGY
from tests.polling.simulated import Simulated

ROOT = Path(__file__).parents[2]
KILLS = 3


def pairs(path: Path) -> list[tuple[int, int]]:
    if not path.exists():
        return []
    return [(int(question), int(voter)) for question, voter in map(str.split, path.read_text().splitlines())]


def recorded(path: Path) -> set[tuple[int, int]]:
    lines = path.read_text().split("\n")[1:-1] if path.exists() else []
    return {(record["question"], record["voter"]) for record in map(json.loads, lines)}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_a_run_that_is_killed_again_and_again_loses_no_vote_and_asks_none_twice(tmp_path):
    journal, calls, answers = (tmp_path / name for name in ("votes.jsonl", "calls", "answers"))
    chance, known, asked_before = random.Random(0), set(), 0
    expected = poll_many(range(N_QUESTIONS), Simulated(2).vote, STRATEGY, seed=SEED).run()
    total = sum(verdict.asked for verdict in expected.values())
    for kill in range(KILLS + 1):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.polling.killed_run", journal, calls, answers],
            cwd=ROOT, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            if kill < KILLS:  # somewhere between two calls, after some more of them
                goal = asked_before + chance.randrange(1, total // (KILLS + 1))
                while len(pairs(calls)) < goal and process.poll() is None:
                    time.sleep(chance.uniform(0, 0.002))
                process.send_signal(signal.SIGKILL)
                process.wait()
            else:
                assert process.wait(120) == 0
        finally:
            process.kill()
            process.wait()
        asked_now = pairs(calls)[asked_before:]
        assert len(set(asked_now)) == len(asked_now)
        assert not known & set(asked_now)  # what was recorded is not asked again
        known = recorded(journal)
        # Of what was answered, all is recorded, but for one that was answered at the very moment of a kill.
        assert len(set(pairs(answers)) - known) <= (1 if kill < KILLS else 0)
        asked_before = len(pairs(calls))
    assert len(known) == total
    assert poll_many(range(N_QUESTIONS), None, STRATEGY, journal=journal).run() == expected
