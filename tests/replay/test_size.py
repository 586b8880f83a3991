from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from acer_tf.acer import learn
from acer_tf.agent import ACER
from acer_tf.buffer import Buffer
from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.normalize import NormalizeRewards, normalization_state
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.replay import size as memory
from acer_tf.replay.columns import FrameColumn
from acer_tf.replay.size import check_memory, check_states, compressed_row, frame_ratio, replay_bytes, state_bytes
from acer_tf.run import main
from acer_tf.runner import Runner
from acer_tf.segment import Action
from benchmarks.compression import compare
from tests.scripted import ScriptedEnv


class Random:
    """Chooses actions by the observations alone."""

    def __init__(self, nact: int) -> None:
        self._nact = nact

    def initial_state(self, nenvs: int) -> np.ndarray:
        return np.zeros((nenvs, 0), np.float32)

    def act(self, obs: np.ndarray, state: np.ndarray, mask: np.ndarray) -> Action:
        actions = np.random.default_rng(int(obs.sum())).integers(0, self._nact, len(obs))
        return Action(actions, np.full((len(obs), self._nact), 1 / self._nact, np.float32), state)


@pytest.mark.parametrize(("frame", "dtype"), [((7, 3, 1), np.uint8), ((5,), np.float32), ((2, 3), np.float64)])
@pytest.mark.parametrize(("nstack", "whole_frames"), [(1, False), (4, False), (4, True)])
@pytest.mark.parametrize("bootstrap_truncated", [False, True])
def test_replay_bytes_are_the_bytes_of_a_full_buffer(
    frame: tuple[int, ...], dtype: type, nstack: int, whole_frames: bool, bootstrap_truncated: bool
) -> None:
    config = Config(
        nsteps=4, buffer_size=22, replay_start=0, compress_replay=False, bootstrap_truncated=bootstrap_truncated
    )
    frames = np.random.default_rng(0).integers(1, 256, (40, 3, *frame)).astype(dtype)
    env = FrameStack(ScriptedEnv(frames, nact=5), nstack, whole_frames=whole_frames)
    runner, buffer = Runner(env, Random(5), nsteps=4), Buffer(4, 22, unread=config.unread)
    for _ in range(8):
        buffer.put(runner.run())
    others = {name: array for name, array in buffer.rows(3, 8).items() if name != "enc_obs/rows"}
    column = buffer._columns["enc_obs"]
    assert isinstance(column, FrameColumn)
    taken = column.nbytes + sum(array.nbytes for array in others.values())
    assert replay_bytes(env, config) == check_memory(env, config) == taken
    assert replay_bytes(env, Config(nsteps=4, buffer_size=22, replay_ratio=0)) == 0


def test_memory_that_is_not_there_is_an_input_error() -> None:
    env = FrameStack(ScriptedEnv(np.ones((1, 2, 100)), nact=3), 1)
    steps = psutil.virtual_memory().total // 100
    with pytest.raises(InputError, match=r"replay would take [\d.]+ GiB, but [\d.]+ GiB are free; lower buffer_size"):
        check_memory(env, Config(buffer_size=steps))
    assert check_memory(env, Config(buffer_size=steps, replay_ratio=0)) == 0


def test_only_images_are_compressed() -> None:
    def row(frame: tuple[int, ...], dtype: type, **config: bool) -> tuple[int, ...] | None:
        return compressed_row(FrameStack(ScriptedEnv(np.ones((1, 3, *frame), dtype)), 2), Config(nsteps=5, **config))

    assert row((8, 9, 3), np.uint8) == (3, 7, 8, 9, 3)
    assert row((8, 9, 3), np.uint8, compress_replay=False) is None
    assert row((8,), np.uint8) is None
    assert row((8, 9, 3), np.float32) is None


# Zaxxon's screen is nearly empty for a while.
@pytest.mark.parametrize(("game", "nsteps"), [("Breakout", 20), ("Zaxxon", 20), ("Breakout", 5), ("Breakout", 50)])
def test_prediction_is_near_what_replay_takes(game: str, nsteps: int) -> None:
    row = compare(f"{game}NoFrameskip-v4", num_env=2, steps=400, nsteps=nsteps)
    assert row["predicted_over_measured"] == pytest.approx(1, abs=0.25)


def test_a_prediction_for_atari_starts_no_environment() -> None:
    env = make_training_env("PongNoFrameskip-v4", 3, num_workers=2)
    config = Config(buffer_size=100, replay_start=0)
    ratio = frame_ratio(env, config)
    assert check_memory(env, config) == replay_bytes(env, config, ratio) and 0 < ratio < 0.1
    assert env.unwrapped._workers is None and env.unwrapped._games is None
    other = make_training_env("PongNoFrameskip-v4", 5, num_workers=0)
    assert frame_ratio(other, config) == ratio
    assert frame_ratio(env, Config(compress_replay=False)) == 1.0
    env.close()


def test_a_game_that_is_not_in_the_table_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make_training_env("PongNoFrameskip-v4", 2, num_workers=0)
    known = frame_ratio(env, Config())
    monkeypatch.setattr(memory, "frame_bytes", dict)
    assert frame_ratio(env, Config()) == pytest.approx(known, rel=0.5)  # only how games begin
    assert env.unwrapped._games is not None


def test_a_prediction_leaves_statistics_alone() -> None:
    images = np.random.default_rng(0).integers(0, 255, (200, 2, 8, 8, 1)).astype(np.uint8)
    scripted = ScriptedEnv(images, np.random.default_rng(1).normal(size=(200, 2)))
    env = FrameStack(NormalizeRewards(scripted, 0.99), 2)
    env.reset()
    env.step(np.zeros(2, np.int64))
    before = normalization_state(env)
    assert check_memory(env, Config(buffer_size=40, replay_start=0)) > 0
    assert len(scripted.actions) > 100
    assert normalization_state(env) == before
    env.step(np.zeros(2, np.int64))
    assert normalization_state(env) != before


def test_an_error_of_the_environments_is_told_as_such() -> None:
    env = FrameStack(ScriptedEnv(np.zeros((10, 2, 8, 8, 1), np.uint8)), 2)  # ends after ten frames
    with pytest.raises(EnvironmentFailedError, match="an environment raised IndexError"):
        check_memory(env, Config(buffer_size=40, replay_start=0))


def test_replay_and_states_have_to_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    env = FrameStack(ScriptedEnv(np.ones((1, 2, 100)), nact=3), 1)
    config = Config(buffer_size=400, replay_start=0, replay_state="stored")
    frames, states = check_memory(env, config), state_bytes(2, config, 256)
    assert states == 2 * 20 * 256 * 4
    machine = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine._replace(available=frames + states))
    assert check_memory(env, config) == frames
    assert check_states(frames, 2, config, 256) == frames + states
    with pytest.raises(InputError, match="lower buffer_size"):
        check_states(frames, 2, config, 257)
    assert check_states(0, 2, Config(replay_ratio=0, replay_state="stored"), 10**12) == 0
    assert check_states(frames, 2, Config(), 10**12) == frames


def learns(env: FrameStack, folder: Path) -> None:
    learn("lstm", env, nlstm=4, nsteps=20, total_timesteps=40, replay_state="stored")


def agent_learns(env: FrameStack, folder: Path) -> None:
    settings = {"buffer_size": Config.buffer_size, "replay_state": "stored", "bootstrap_truncated": False}
    ACER("lstm", env, n_steps=20, policy_kwargs={"nlstm": 4}, **settings).learn(40)


def command_runs(env: FrameStack, folder: Path) -> None:
    words = f"--env CartPole-v1 --network lstm --nlstm 4 --num_env 2 --num_timesteps 40 --logdir {folder / 'run'}"
    main.__wrapped__([*words.split(), "--replay_state", "stored"])


@pytest.mark.parametrize("train", [learns, agent_learns, command_runs])
def test_who_trains_checks_replay_and_states_together(
    train: Callable[[FrameStack, Path], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env = make_training_env("CartPole-v1", 2)
    config = Config(replay_state="stored")
    needed = replay_bytes(env, config) + state_bytes(2, config, 8)
    machine = psutil.virtual_memory()._replace(available=needed - 1)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine)
    with pytest.raises(InputError, match="lower buffer_size"):
        train(env, tmp_path)


def test_environments_are_not_started_to_refuse_what_cannot_fit() -> None:
    env = make_training_env("PongNoFrameskip-v4", 16)
    with pytest.raises(InputError, match="lower buffer_size"):
        check_memory(env, Config(buffer_size=10**12))
    assert env.unwrapped._workers is None
    env.close()
