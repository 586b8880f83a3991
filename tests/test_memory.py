import numpy as np
import psutil
import pytest

from acer_tf.buffer import Buffer
from acer_tf.config import Config
from acer_tf.envs.frame_stack import FrameStack
from acer_tf.envs.make import make_training_env
from acer_tf.errors import InputError
from acer_tf.memory import check_memory, compressed_row, measured_ratio, replay_bytes
from acer_tf.runner import Runner
from acer_tf.segment import Action
from tests.agents import make_segment
from tests.scripted import ScriptedEnv


@pytest.mark.parametrize(("frame", "dtype"), [((7, 3, 1), np.uint8), ((5,), np.float32), ((2, 3), np.float64)])
@pytest.mark.parametrize("nstack", [1, 4])
def test_replay_bytes_are_the_bytes_of_a_full_buffer(frame: tuple[int, ...], dtype: type, nstack: int) -> None:
    env = FrameStack(ScriptedEnv(np.ones((1, 3, *frame), dtype), nact=5), nstack)
    buffer = Buffer(4, 22)
    frames = np.zeros((3, 4 + nstack, *frame), dtype)
    segment = make_segment(nenvs=3, nsteps=4)._replace(enc_obs=frames, mus=np.zeros((3, 4, 5), np.float32))
    for _ in range(5):
        buffer.put(segment)
    taken = sum(array.nbytes for name, array in buffer.rows(0, 5).items() if "states" not in name)
    config = Config(nsteps=4, buffer_size=22, replay_start=0, compress_replay=False)
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

    class Random:
        def initial_state(self, nenvs: int) -> np.ndarray:
            return np.zeros((nenvs, 0), np.float32)

        def act(self, obs: np.ndarray, state: np.ndarray, mask: np.ndarray) -> Action:
            actions = np.random.default_rng(int(obs.sum())).integers(0, 4, len(obs))
            return Action(actions, np.full((len(obs), 4), 0.25, np.float32), state)

    runner = Runner(env, Random(), config.nsteps, seed=1)
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
