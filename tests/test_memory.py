import numpy as np
import psutil
import pytest

from acer_tf.buffer import Buffer
from acer_tf.columns import FrameColumn
from acer_tf.config import Config
from acer_tf.envs.frame_stack import FrameStack
from acer_tf.envs.make import make_training_env
from acer_tf.errors import InputError
from acer_tf.memory import check_memory, compressed_row, measured_ratio, replay_bytes
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
def test_replay_bytes_are_the_bytes_of_a_full_buffer(
    frame: tuple[int, ...], dtype: type, nstack: int, whole_frames: bool
) -> None:
    frames = np.random.default_rng(0).integers(1, 256, (40, 3, *frame)).astype(dtype)
    env = FrameStack(ScriptedEnv(frames, nact=5), nstack, whole_frames=whole_frames)
    runner, buffer = Runner(env, Random(5), nsteps=4), Buffer(4, 22)
    for _ in range(8):
        buffer.put(runner.run())
    others = {name: array for name, array in buffer.rows(3, 8).items() if name not in ("enc_obs/rows", "states/rows")}
    column = buffer._columns["enc_obs"]
    assert isinstance(column, FrameColumn)
    config = Config(nsteps=4, buffer_size=22, replay_start=0, compress_replay=False)
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


def test_prediction_is_near_what_replay_takes() -> None:
    env = make_training_env("BreakoutNoFrameskip-v4", 2, num_workers=0)
    config = Config(buffer_size=400, replay_start=0)
    predicted = check_memory(env, config)
    runner = Runner(env, Random(4), config.nsteps, seed=1)
    buffer = Buffer(config.nsteps, config.buffer_size, compressed_row(env, config))
    for _ in range(20):
        buffer.put(runner.run())
    taken = sum(array.nbytes for name, array in buffer.rows(0, 20).items() if "sizes" not in name)
    assert taken == pytest.approx(predicted, rel=0.25)
    assert measured_ratio(env, Config(compress_replay=False)) == 1.0
    env.close()


def test_environments_are_not_started_to_refuse_what_cannot_fit() -> None:
    env = make_training_env("PongNoFrameskip-v4", 16)
    with pytest.raises(InputError, match="lower buffer_size"):
        check_memory(env, Config(buffer_size=10**12))
    assert env.unwrapped._workers is None
    env.close()
