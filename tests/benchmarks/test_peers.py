import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.experiments.reading import SCORE
from acer_tf.experiments.results import read, write
from benchmarks.peers import Evaluation, Log, Peers, result_of, train, zoo_settings

ATARI = {"policy": "CnnPolicy", "frame_stack": 4, "env_wrapper": ["wrappers.Atari"], "batch_size": 32}
FILE: dict[str, dict[str, Any]] = {
    "default": {"policy": "MlpPolicy", "n_timesteps": 1e6},
    "atari": ATARI,
    "CartPole-v1": {"n_timesteps": 5e4},
    "Hopper-v3": {"gamma": 0.9},
    "Hopper-v4": {"gamma": 0.999},
    "HopperBulletEnv-v0": {"gamma": 0.5},
}
FACTS = {"variation": "ppo", "environment": "CartPole-v1", "seed": 3, "steps": 1000, "trained": 400, "seconds": 8.0}
FACTS |= {"versions": {"torch": "2.0"}, "settings": {"gamma": 0.99}}


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("CartPole-v1", {"n_timesteps": 5e4}),
        ("Hopper-v5", {"gamma": 0.999}),
        ("Acrobot-v1", FILE["default"]),
        ("dm_control/walker-run-v0", {**FILE["default"], "env_wrapper": "gymnasium.wrappers.FlattenObservation"}),
        ("PongNoFrameskip-v4", ATARI),
        ("MinAtar/Breakout-v1", {"policy": "MlpPolicy", "batch_size": 32}),
    ],
)
def test_settings_are_those_of_the_environment_or_the_nearest_to_it(env: str, settings: dict[str, object]) -> None:
    assert zoo_settings(env, FILE) == settings
    assert FILE["atari"] == ATARI


def test_replays_of_atari_games_fit_into_memory() -> None:
    settings: dict[str, dict[str, Any]] = {"atari": {"learning_starts": 5}, "CartPole-v1": {"learning_starts": 5}}
    assert zoo_settings("PongNoFrameskip-v4", settings)["buffer_size"] == 100_000
    assert "buffer_size" not in zoo_settings("MinAtar/Breakout-v1", settings)
    assert "buffer_size" not in zoo_settings("CartPole-v1", settings)


def test_an_algorithm_without_settings_for_a_kind_of_environment_is_refused() -> None:
    with pytest.raises(InputError, match="no settings of this algorithm for PongNoFrameskip-v4"):
        zoo_settings("PongNoFrameskip-v4", {"default": {}})


def test_results_hold_bins_and_the_better_kind_of_evaluation(tmp_path: Path) -> None:
    log = Log(steps=[4, 9, 10, 15, 400], returns=[4, 5, 6, 5, 385], seconds=[0.1, 0.2, 0.3, 0.4, 8.0])
    log.evaluations = [Evaluation(100, 20.0, 30.0), Evaluation(200, 90.0, 40.0)]
    write(tmp_path, [result_of(log, 20, FACTS)], SCORE)
    result = read(tmp_path)["ppo", "CartPole-v1", 3]
    np.testing.assert_array_equal(result.training.steps, [4, 12, 16, 400])  # hundredths of what was trained
    np.testing.assert_array_equal(result.training.mean, [4, 5.5, 5, 385])
    np.testing.assert_array_equal(result.training.episodes, [1, 2, 1, 1])
    np.testing.assert_allclose(result.training.seconds, [0.1, 0.34, 0.4 + 7.6 / 385, 8.0], rtol=1e-4)
    np.testing.assert_array_equal(result.evaluations.mean, [20, 90])  # means 55 and 35
    assert result.facts["eval_deterministic"] is True
    assert result.facts["last_100"] == 81.0
    assert not result.is_whole
    assert all(map(math.isnan, result.evaluations.seconds))


def test_a_real_run_is_cut_evaluated_and_kept(tmp_path: Path) -> None:
    pytest.importorskip("rl_zoo3", reason="what is in requirements-peers.txt has an environment of its own")
    flags = Peers("CartPole-v1", "dqn", steps=2000, evaluations=2, episodes=2, results=tmp_path)
    result = train(flags, seed=1)
    assert result.facts["trained"] == 2000
    assert result.training.episodes.sum() == result.facts["episodes"] > 20
    np.testing.assert_allclose(result.evaluations.steps, [1000, 2000], atol=256)
    assert result.facts["settings"]["buffer_size"] == 100000
