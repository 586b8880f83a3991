from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.recordings.compare import compare
from acer_tf.recordings.recorded import read
from acer_tf.recordings.scripted import NotedRandom
from tests.recordings.recordings import Arrays, altered, compared, failures


@pytest.mark.parametrize("name", ["trajectory", "trajectory_active", "trajectory_lstm"])
def test_passes(name: str) -> None:
    case = compared(name)
    assert failures(case) == set()
    assert case.status == "pass"
    names = {quantity.name for quantity in case.quantities}
    assert {"batch/replay_idx", "param/acer_model/pi/w", "param_50/acer_model/pi/w", "ema_N/acer_model/q/b"} <= names


def _first_calls(arrays: Arrays, config: dict[str, Any]) -> None:
    """The first 30 of 100 calls: 9 on-policy, the rest replayed."""
    for key in list(arrays):
        if key.startswith(("batch/", "log", "param_l2", "ema_l2")) and key != "log_names":
            arrays[key] = arrays[key][:30]
        elif key.startswith(("param_50/", "param_N/", "ema_N/", "rms_N/")):
            del arrays[key]


def test_shorter_ones_work(tmp_path: Path) -> None:
    case = compare(read(altered(tmp_path, "trajectory_active", _first_calls)))
    assert failures(case) == set()
    assert "param_25/acer_model/pi/w" in {quantity.name for quantity in case.quantities}


def test_altered_numbers_fail(tmp_path: Path) -> None:
    def alter(arrays: Arrays, config: dict[str, Any]) -> None:
        _first_calls(arrays, config)
        replayed = np.flatnonzero(arrays["batch/from_replay"])[-1]
        arrays["batch/replay_idx"][replayed, 0] += 1
        arrays["batch/mus"][replayed, 3, 0] += 1e-6
        arrays["batch/steps"][replayed] += 1
        arrays["param_25/acer_model/pi/w"][0, 0] += 2e-5
        arrays["ema_l2"][3, 2] *= 1.01

    failed = failures(compare(read(altered(tmp_path, "trajectory_active", alter))))
    assert failed == {"batch/replay_idx", "batch/mus", "batch/steps", "param_25/acer_model/pi/w", "ema_l2"}


def test_another_seed_gives_other_weights_and_slots(tmp_path: Path) -> None:
    def alter(arrays: Arrays, config: dict[str, Any]) -> None:
        _first_calls(arrays, config)
        config["seed"] += 1

    failed = failures(compare(read(altered(tmp_path, "trajectory_active", alter))))
    assert {"param/acer_model/pi/w", "batch/replay_idx", "batch/from_replay", "batch/obs"} <= failed


def test_slots_drawn_before_the_count_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def draw_first(self: NotedRandom, mean: float) -> Any:
        self.rand()
        return np.random.RandomState.poisson(self, mean)

    monkeypatch.setattr(NotedRandom, "poisson", draw_first, raising=False)
    failed = failures(compare(read(altered(tmp_path, "trajectory_active", _first_calls))))
    assert "batch/replay_idx" in failed
    assert "param/acer_model/pi/w" not in failed
