from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from fuzzing.attack import BAD, Attack, make_mutant
from fuzzing.files import main, summary
from fuzzing.formats.format import write_folder
from fuzzing.registry import FORMATS
from fuzzing.workers import attack_all

from tests.fuzzing.naive_worker import NAIVE

ROOT = Path(__file__).parents[2]
MUTANTS = 30 * len(FORMATS)
RESEALED = [name for name, format in FORMATS.items() if format.reseal is not None]

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in /proc"),
    pytest.mark.filterwarnings("ignore"),  # of samples that are no good models
]


@pytest.mark.slow
def test_no_damaged_or_hostile_file_does_harm(tmp_path: Path) -> None:
    command = ["files", "--mutations", str(MUTANTS), "--output", str(tmp_path), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "fuzzing", *command], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    attacked = json.loads(done.stdout)
    assert {name: row["mutations"] for name, row in attacked["formats"].items()} == dict.fromkeys(FORMATS, 30)
    harms = {f"{harm['format']}:{harm['number']}": harm["detail"] for harm in attacked["bad"]}
    assert harms == {}


def test_the_faults_of_naive_readers_are_found_and_told_apart(tmp_path: Path) -> None:
    for name, format in NAIVE.items():
        format.write_samples(tmp_path / "samples" / name)
    results = list(
        attack_all(
            dict.fromkeys(NAIVE, 4),
            tmp_path,
            seed=0,
            jobs=1,
            seconds=1.0,
            worker="tests.fuzzing.naive_worker",
        )
    )
    rows = summary(results, list(NAIVE))
    harms = {name: {outcome for outcome in BAD if row[outcome]} for name, row in rows.items()}
    assert harms == {
        "careful": set(),
        "blind": {"silent"},
        "raising": {"crash", "silent"},
        "greedy": {"memory"},
        "dying": {"died"},
        "hanging": {"hang"},
    }
    assert Counter(result.format for result in results) == dict.fromkeys(NAIVE, 4)


def test_a_harmful_mutant_is_saved_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(FORMATS, "raising", NAIVE["raising"])
    samples, output = tmp_path / "samples", tmp_path / "saved"
    NAIVE["raising"].write_samples(samples / "raising")
    attack = Attack(NAIVE["raising"], samples / "raising", tmp_path / "scratch", seed=0)
    number = next(number for number in range(100) if attack.run(number).outcome == "crash")
    assert main(["--formats", "raising", "--repeat", f"raising:{number}", "--output", str(output)]) == 0
    assert "crash" in capsys.readouterr().out


def test_an_unknown_format_is_refused_and_the_known_ones_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--formats", "punch cards"]) == 2
    assert "strategy" in capsys.readouterr().err


@pytest.mark.parametrize("name", RESEALED)
def test_a_resealed_sample_is_read_and_a_changed_one_gets_past_the_checksum(
    name: str, tmp_path: Path
) -> None:
    format = FORMATS[name]
    format.write_samples(tmp_path / "samples")
    samples = format.read_samples(tmp_path / "samples")
    for number, sample in enumerate(samples):
        write_folder(tmp_path / str(number), format.reseal(sample))
        assert format.load(tmp_path / str(number), tmp_path / "samples") is not None
    attack = Attack(format, tmp_path / "samples", tmp_path / "scratch", seed=0)
    n_forged = len(format.forge(samples))
    results = [attack.run(number) for number in range(n_forged, n_forged + 200)]
    # Where a damaged file is made again, nobody says why it was refused.
    reasons = [result.detail for result in results if result.outcome == "refused" and result.detail]
    assert any(result.outcome == "other" for result in results)
    assert not reasons or sum("checksum" not in reason for reason in reasons) > 30


@pytest.mark.parametrize("name", ["strategy", "classifier", "journal", "vote counts"])
def test_a_seed_makes_the_same_mutants_again_and_another_one_makes_others(name: str, tmp_path: Path) -> None:
    format = FORMATS[name]
    format.write_samples(tmp_path)
    samples = format.read_samples(tmp_path)
    forged = format.forge(samples)
    first, again, other = (
        [make_mutant(format, samples, forged, seed, n) for n in range(100)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert sum(files in samples for files, _ in first) < 20
