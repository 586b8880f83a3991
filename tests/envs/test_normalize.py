import numpy as np
import pytest

from acer_tf.envs.frame_stack import FrameStack
from acer_tf.envs.normalize import NormalizeObservations, normalizer_of
from tests.scripted import ScriptedEnv

LENGTH, NENVS = 40, 3
FRAMES = np.random.default_rng(0).normal([5, -100, 0.01], [2, 30, 0.001], (LENGTH, NENVS, 3))


def test_observations_are_normalised_by_all_so_far() -> None:
    env = NormalizeObservations(ScriptedEnv(FRAMES))
    obs, _ = env.reset()
    for t in range(LENGTH):
        seen = FRAMES[: t + 1].reshape(-1, 3)
        expected = (FRAMES[t] - seen.mean(axis=0)) / np.sqrt(seen.var(axis=0) + 1e-8)
        np.testing.assert_allclose(obs, expected, rtol=1e-5, atol=1e-6)
        assert obs.dtype == np.float32 and env.observation_space.shape == obs.shape
        if t + 1 < LENGTH:
            obs, *_ = env.step(np.zeros(NENVS, int))


def test_outliers_are_clipped_and_constants_are_zero() -> None:
    frames = np.zeros((1001, 1, 2))
    frames[1000] = [1e6, 0]
    env = NormalizeObservations(ScriptedEnv(frames))
    env.reset()
    for _ in range(1000):
        obs, *_ = env.step(np.zeros(1, int))
    np.testing.assert_array_equal(obs, [[10, 0]])


def test_frozen_statistics_and_statistics_taken_over() -> None:
    env, other = NormalizeObservations(ScriptedEnv(FRAMES)), NormalizeObservations(ScriptedEnv(FRAMES[20:]))
    env.reset()
    for _ in range(19):
        env.step(np.zeros(NENVS, int))
    other.load_state_dict(env.state_dict())
    before = env.state_dict()
    with env.frozen(), other.frozen():
        np.testing.assert_array_equal(env.step(np.zeros(NENVS, int))[0], other.reset()[0])
    assert before["obs_count"] == 60
    for name, array in env.state_dict().items():
        np.testing.assert_array_equal(array, before[name])
    other.step(np.zeros(NENVS, int))
    np.testing.assert_allclose(other.state_dict()["obs_mean"], FRAMES[[*range(20), 21]].reshape(-1, 3).mean(axis=0))
    np.testing.assert_allclose(other.state_dict()["obs_var"], FRAMES[[*range(20), 21]].reshape(-1, 3).var(axis=0))


@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: FrameStack(env, 1)])
def test_the_wrapper_is_found_among_others(wrap: object) -> None:
    env = NormalizeObservations(ScriptedEnv(FRAMES))
    assert normalizer_of(wrap(env)) is env  # type: ignore[operator]
    assert normalizer_of(FrameStack(ScriptedEnv(FRAMES), 1)) is None
