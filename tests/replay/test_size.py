import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import psutil
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.agent import ACER
from acer_tf.buffer import Buffer
from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.envs.wrap import stacked
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError
from acer_tf.learning import learn
from acer_tf.logs.logger import Logger
from acer_tf.replay.columns import FrameColumn
from acer_tf.replay.size import (
    FIRST_SEGMENTS,
    check_replay,
    compressed_row,
    largest_bytes,
    projected_bytes,
    smallest_bytes,
)
from acer_tf.run import main
from acer_tf.runner import Runner
from acer_tf.segment import Action
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
def test_the_bound_is_what_a_full_buffer_takes_without_compression(
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
    assert smallest_bytes(env, config) == buffer.nbytes == taken
    assert smallest_bytes(env, Config(nsteps=4, buffer_size=22, replay_ratio=0)) == 0


def test_memory_that_is_not_there_is_an_input_error() -> None:
    env = FrameStack(ScriptedEnv(np.ones((1, 2, 100)), nact=3), 1)
    steps = psutil.virtual_memory().total // 100
    with pytest.raises(InputError, match=r"replay would take [\d.]+ GiB, but [\d.]+ GiB are free; lower buffer_size"):
        check_replay(env, Config(buffer_size=steps))
    check_replay(env, Config(buffer_size=steps, replay_ratio=0))


def test_only_images_are_compressed() -> None:
    def row(frame: tuple[int, ...], dtype: type, **config: bool) -> tuple[int, ...] | None:
        return compressed_row(FrameStack(ScriptedEnv(np.ones((1, 3, *frame), dtype)), 2), Config(nsteps=5, **config))

    assert row((8, 9, 3), np.uint8) == (3, 7, 8, 9, 3)
    assert row((8, 9, 3), np.uint8, compress_replay=False) is None
    assert row((8,), np.uint8) is None
    assert row((8, 9, 3), np.float32) is None


class Images(gymnasium.Env[Any, Any]):
    """Counts steps and resets of all environments; its frames are noise but for their size."""

    observation_space = Box(0, 255, (36, 36, 1), np.uint8)
    action_space = Discrete(2)
    calls: ClassVar[list[str]] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.calls.append("reset")
        super().reset(seed=seed)
        return self._frame(), {}

    def step(self, action: int) -> Any:
        self.calls.append("step")
        return self._frame(), 1.0, self.np_random.random() < 0.1, False, {}

    def _frame(self) -> np.ndarray:
        return self.np_random.integers(0, 256, (36, 36, 1)).astype(np.uint8)


def images(n: int = 2) -> SyncVectorEnv:
    Images.calls.clear()
    return SyncVectorEnv([Images] * n, autoreset_mode=AutoresetMode.SAME_STEP)


def test_compressed_frames_count_nothing_beforehand_and_nothing_is_stepped() -> None:
    env = stacked(images())
    Images.calls.clear()
    config = Config(nsteps=10, buffer_size=100, replay_start=0)
    assert smallest_bytes(env, config) == 2 * 10 * (10 * (8 + 4 * 2 + 4 + 1) + 11)
    uncompressed = smallest_bytes(env, dataclasses.replace(config, compress_replay=False))
    assert largest_bytes(env, config) == uncompressed > 2 * 100 * 36 * 36
    check_replay(env, config)
    assert not Images.calls


def test_a_bound_for_atari_starts_no_game() -> None:
    env = make_training_env("PongNoFrameskip-v4", 3, num_workers=2)
    check_replay(env, Config(buffer_size=100, replay_start=0))
    assert env.unwrapped._workers is None and env.unwrapped._games is None
    env.close()


def test_states_count_where_they_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    env = FrameStack(ScriptedEnv(np.ones((1, 2, 100)), nact=3), 1)
    config = Config(buffer_size=400, replay_start=0, replay_state="stored")
    needed = smallest_bytes(env, config, 256)
    assert needed == smallest_bytes(env, config) + 2 * 20 * 256 * 4
    set_free(monkeypatch, needed)
    check_replay(env, config, 256)
    with pytest.raises(InputError, match="lower buffer_size"):
        check_replay(env, config, 257)
    check_replay(env, Config(replay_ratio=0, replay_state="stored"), 10**12)
    assert smallest_bytes(env, Config(), 10**12) == smallest_bytes(env, Config())


def set_free(monkeypatch: pytest.MonkeyPatch, available: int) -> None:
    machine = psutil.virtual_memory()._replace(available=available)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine)


def test_what_a_full_buffer_takes_is_projected_from_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert projected_bytes(1000, segments=5, slots=50) == 10_000
    set_free(monkeypatch, 9000)  # besides what is held already
    assert projected_bytes(1000, segments=5, slots=50) == 10_000
    set_free(monkeypatch, 8999)
    with pytest.raises(InputError, match=r"replay would take 9\.8 KiB, but 9\.8 KiB are free; lower buffer_size"):
        projected_bytes(1000, segments=5, slots=50)


SETTINGS = {"seed": 1, "nsteps": 10, "total_timesteps": 1020, "convs": ((4, 4, 4),)}


@pytest.mark.parametrize("slots", [3, 300])
def test_the_size_is_announced_once_after_the_first_segments(slots: int, capsys: pytest.CaptureFixture[str]) -> None:
    learn("conv_only", images(), **SETTINGS, buffer_size=10 * slots, replay_start=10, logger=Logger())
    out = capsys.readouterr().out
    (line,) = out.splitlines()
    taken = re.fullmatch(r"replay will take ([\d.]+) (KiB|MiB) when full", line)
    frames = 2 * slots * 11 * 36 * 36  # noise does not compress
    assert float(taken[1]) == pytest.approx(frames / {"KiB": 2**10, "MiB": 2**20}[taken[2]], rel=0.1)


def test_a_size_that_was_known_beforehand_is_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    learn("conv_only", images(), **SETTINGS, buffer_size=30, replay_start=10, compress_replay=False, logger=Logger())
    assert capsys.readouterr().out == ""


def test_what_will_not_fit_is_refused_after_the_first_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = 2 * 100 * 11 * 36 * 36
    set_free(monkeypatch, frames // 2)
    steps: list[int] = []
    quiet = {"replay_start": 10, "logger": Logger(), "should_stop": lambda: steps.append(1)}
    with pytest.raises(InputError, match="lower buffer_size"):
        learn("conv_only", images(), **SETTINGS, buffer_size=1000, **quiet)
    assert len(steps) == FIRST_SEGMENTS - 1, "the next iteration was not completed"


def learns(env: FrameStack, folder: Path) -> None:
    learn("lstm", env, nlstm=4, nsteps=20, total_timesteps=40, replay_state="stored")


def agent_learns(env: FrameStack, folder: Path) -> None:
    settings = {"buffer_size": Config.buffer_size, "replay_state": "stored", "bootstrap_truncated": False}
    ACER("lstm", env, n_steps=20, policy_kwargs={"nlstm": 4}, **settings).learn(40)


def command_runs(env: FrameStack, folder: Path) -> None:
    words = f"--env CartPole-v1 --network lstm --nlstm 4 --num_env 2 --total_timesteps 40 --logdir {folder / 'run'}"
    main.__wrapped__([*words.split(), "--replay_state", "stored"])


@pytest.mark.parametrize("train", [learns, agent_learns, command_runs])
def test_who_trains_checks_replay_and_states_together(
    train: Callable[[FrameStack, Path], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env = make_training_env("CartPole-v1", 2)
    config = Config(replay_state="stored")
    set_free(monkeypatch, smallest_bytes(env, config, 8) - 1)
    with pytest.raises(InputError, match="lower buffer_size"):
        train(env, tmp_path)


def test_environments_are_not_started_to_refuse_what_cannot_fit() -> None:
    env = make_training_env("PongNoFrameskip-v4", 16)
    with pytest.raises(InputError, match="lower buffer_size"):
        check_replay(env, Config(buffer_size=10**12))
    assert env.unwrapped._workers is None
    env.close()


def test_a_segment_that_cannot_fit_is_refused_also_without_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    env = FrameStack(ScriptedEnv(np.ones((1, 2, 100)), nact=3), 1)
    set_free(monkeypatch, 11 * env.stacked.nbytes)
    check_replay(env, Config(replay_ratio=0, nsteps=10))
    with pytest.raises(InputError, match=r"a segment would take .* are free; lower nsteps"):
        check_replay(env, Config(replay_ratio=0, nsteps=11))
