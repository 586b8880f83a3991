import errno
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

from acer_tf.run import main
from tests.registered import registered
from tests.saved import found

TINY = ["--num_env=2", "--nsteps=5", "--seed=0", "--num_layers=1", "--num_hidden=4", "--replay_ratio=0"]


class BrokenCartPole(CartPoleEnv):
    """Gives what is not a number from its 150th step on."""

    def __init__(self, reward: float | None = 1.0, observation: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._bad, self._steps = (reward, observation), 0

    def step(self, action: Any) -> Any:
        obs, reward, *rest = super().step(action)
        self._steps += 1
        if self._steps < 150:
            return obs, reward, *rest
        bad_reward, bad_observation = self._bad
        return obs if bad_observation is None else np.full_like(obs, bad_observation), bad_reward, *rest


@pytest.fixture
def broken() -> Iterator[None]:
    with (
        registered("BrokenReward-v0", BrokenCartPole, reward=np.nan),
        registered("BrokenObservation-v0", BrokenCartPole, observation=np.inf),
        registered("LargeReward-v0", BrokenCartPole, reward=3e38),
        registered("NoReward-v0", BrokenCartPole, reward=None),
    ):
        yield


NORMALIZED = ["--normalize_observations=True", "--normalize_rewards=True"]


@pytest.mark.parametrize(
    ("env", "words", "message"),
    [
        ("NoReward-v0", [], "environment 0 returned the reward None; expected a number."),
        ("NoReward-v0", NORMALIZED, "environment 0 returned the reward None; expected a number."),
        ("BrokenObservation-v0", NORMALIZED, "environment 0 gave an observation that is not a finite number."),
        ("BrokenReward-v0", NORMALIZED, "environment 0 gave a reward that is not a finite number."),
    ],
)
def test_what_was_learned_before_is_saved(
    broken: None, env: str, words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert main(["--env", env, "--total_timesteps=1e4", "--logdir", str(folder), *TINY, *words]) == 2
    assert message in capsys.readouterr().err
    checkpoint, _ = found(folder / "checkpoints")
    assert checkpoint is not None and checkpoint.step == 290


def test_what_was_learned_is_saved_where_there_is_no_room_for_the_batch(
    broken: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("acer_tf.training.run.save_arrays", full)
    folder = tmp_path / "run"
    assert main(["--env", "LargeReward-v0", "--total_timesteps=1e4", "--logdir", str(folder), *TINY]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert re.search(r"is not finite, .* for the batch, cannot be written \(No space left on device\)\.$", error)
    checkpoint, _ = found(folder / "checkpoints")
    assert checkpoint is not None and checkpoint.step == 290


@pytest.mark.parametrize(
    ("env", "message", "array"),
    [
        ("BrokenReward-v0", "environment 0 gave a reward that is not a finite number.", "reward"),
        ("BrokenObservation-v0", "environment 0 gave an observation that is not a finite number.", "observation"),
        ("LargeReward-v0", "is not finite, so the update was not made", "rewards"),
    ],
)
def test_what_is_no_number_ends_a_run_before_it_is_learned(
    broken: None, env: str, message: str, array: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert main(["--env", env, "--total_timesteps=1e4", "--logdir", str(folder), *TINY]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: after step 290 ")
    assert message in error
    (batch,) = folder.glob("not-finite-*.npz")
    assert str(batch) in error
    with np.load(batch) as arrays:
        assert (np.abs(arrays[array]) > 1e38).any() or not np.isfinite(arrays[array]).all()
    checkpoint, problems = found(folder / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step == 290
    assert not problems
    with np.load(checkpoint.path / "arrays.npz") as state:
        assert all(np.isfinite(state[name]).all() for name in state.files if name.startswith("model/"))
