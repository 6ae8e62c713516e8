"""What is said where a GPU is asked for and cannot be used."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from foregone import early_stop
from foregone._system import gpu
from foregone.cli import main as foregone_command
from foregone.errors import InvalidInputError, MissingExtraError
from foregone.forest.device_arrays import is_on_device, to_host
from tests.gpu.cases import data, forest


class OnAGpu:
    """Looks like an array in the memory of a GPU."""

    __cuda_array_interface__ = {"shape": (3, 6), "typestr": "<f4", "data": (0, False), "version": 3}  # noqa: RUF012  # as arrays have it
    shape = (3, 6)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "_versions", lambda packages: {})
    packed, new = forest(5)
    with pytest.raises(MissingExtraError, match=r"foregone\[cuda\]"):
        packed.run(new, None, seed=0, device="cuda")


def test_a_missing_gpu_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba import cuda

    def no_device() -> None:
        raise RuntimeError("no driver")

    monkeypatch.setattr(gpu, "_versions", lambda packages: {"numba-cuda": "99.0"})
    monkeypatch.setattr(cuda, "get_current_device", no_device, raising=False)
    packed, new = forest(5)
    with pytest.raises(InvalidInputError, match=r'no driver.*use device="cpu"'):
        packed.votes(new, device="cuda")
    assert gpu.find_gpu().name is None


def test_a_small_batch_brings_no_warning_of_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    config = SimpleNamespace(CUDA_LOW_OCCUPANCY_WARNINGS=1)

    class Kernel:
        def __getitem__(self, launch: tuple[Any, ...]) -> tuple[Any, ...]:
            assert config.CUDA_LOW_OCCUPANCY_WARNINGS == 0
            if launch[0] == 0:
                raise ValueError("no blocks")
            return launch

    monkeypatch.setattr(sys.modules[__name__], "config", config, raising=False)
    assert gpu.configured(Kernel(), 1, 128, "stream") == (1, 128, "stream", 0)
    assert config.CUDA_LOW_OCCUPANCY_WARNINGS == 1
    with pytest.raises(ValueError, match="no blocks"):
        gpu.configured(Kernel(), 0, 128, "stream", 64)
    assert config.CUDA_LOW_OCCUPANCY_WARNINGS == 1


@pytest.mark.parametrize("device", ["gpu", "cuda:1", None])
def test_other_devices_are_refused(device: str) -> None:
    packed, new = forest(5)
    with pytest.raises(InvalidInputError, match="device must be one of cpu, cuda"):
        packed.run(new, None, seed=0, device=device)


def test_rows_on_a_gpu_are_refused_on_the_cpu() -> None:
    assert is_on_device(OnAGpu())
    assert not is_on_device(np.ones(3))
    packed, _ = forest(5)
    with pytest.raises(InvalidInputError, match='pass device="cuda"'):
        packed.votes(OnAGpu())
    X, y, new = data(300)
    from sklearn.ensemble import RandomForestClassifier

    classifier = early_stop(RandomForestClassifier(11, random_state=0).fit(X, y), new, 0.1, random_state=0)
    with pytest.raises(InvalidInputError, match="set_params"):
        classifier.predict(OnAGpu())


def test_arrays_of_the_host_are_left_alone() -> None:
    array = np.arange(3)
    assert to_host(array) is array


def test_doctor_says_what_gpu_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    foregone_command(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)["gpu"]
    assert set(found) == {"name", "memory", "compute_capability", "driver", "packages", "problem"}
