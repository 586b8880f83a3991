from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.episode_stats import EpisodeStats
from acer_tf.maths.schedules import SCHEDULES
from acer_tf.recordings.compare import compare
from acer_tf.recordings.recorded import read
from tests.recordings.recordings import Arrays, altered, compared, failures

QUANTITIES = {"schedules": 10, "explained_variance": 5, "small_math": 8, "ortho_init": 6, "episode_stats": 2}


@pytest.mark.parametrize("name", QUANTITIES)
def test_passes(name: str) -> None:
    case = compared(name)
    assert failures(case) == set()
    assert (case.status, len(case.quantities)) == ("pass", QUANTITIES[name])


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("schedules", "value_steps/linear"),
        ("schedules", "value/middle_drop"),
        ("explained_variance", "ev/1/tf"),
        ("small_math", "retrace/2/qret"),
        ("small_math", "small/cat_entropy_softmax"),
        ("small_math", "small/get_by_index"),
        ("small_math", "small/avg_norm"),
        ("ortho_init", "3/w"),
    ],
)
def test_one_altered_number_fails(tmp_path: Path, name: str, key: str) -> None:
    def alter(arrays: Arrays, config: dict[str, Any]) -> None:
        arrays[key] = np.array(arrays[key])
        arrays[key].reshape(-1)[-1] += 0.01

    assert failures(compare(read(altered(tmp_path, name, alter)))) == {key}


@pytest.mark.parametrize(("column", "name"), [(0, "mean_length"), (1, "mean_reward")])
def test_altered_episode_stats_fail(tmp_path: Path, column: int, name: str) -> None:
    def alter(arrays: Arrays, config: dict[str, Any]) -> None:
        arrays["mean_length_reward"][-1, column] += 0.01

    assert failures(compare(read(altered(tmp_path, "episode_stats", alter)))) == {name}


def test_others_work(tmp_path: Path) -> None:
    def alter(arrays: Arrays, config: dict[str, Any]) -> None:
        for key in list(arrays):
            if key.startswith(("small/", "retrace/0/", "retrace/1/")):
                del arrays[key]

    case = compare(read(altered(tmp_path, "small_math", alter)))
    assert {quantity.name for quantity in case.quantities} == {f"retrace/{j}/qret" for j in (2, 3, 4)}
    assert case.status == "pass"


def test_a_constant_schedule_in_place_of_linear_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCHEDULES, "linear", SCHEDULES["constant"])
    assert failures(compared("schedules")) == {"value_steps/linear", "value/linear"}


def test_means_of_the_last_10_episodes_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        EpisodeStats, "mean_reward", lambda self: float(np.mean([0, *self.state_dict()["last_returns"]][-10:]))
    )
    assert failures(compared("episode_stats")) == {"mean_reward"}
