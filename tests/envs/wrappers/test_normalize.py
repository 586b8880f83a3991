from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.normalize import (
    Moments,
    NormalizeObservations,
    NormalizeRewards,
    frozen,
    load_normalization_state,
    normalization_state,
)
from acer_tf.errors import InputError
from tests.scripted import ScriptedEnv

LENGTH, NENVS = 40, 3
FRAMES = np.random.default_rng(0).normal([5, -100, 0.01], [2, 30, 0.001], (LENGTH, NENVS, 3))
REWARDS = np.random.default_rng(1).normal(3, [1, 20, 0.1], (LENGTH, NENVS))
ENDS = np.random.default_rng(2).random((2, LENGTH, NENVS)) < 0.1
GAMMA = 0.8


def step(env: Any) -> Any:
    return env.step(np.zeros(NENVS, int))


def normalized_rewards() -> NormalizeRewards:
    return NormalizeRewards(ScriptedEnv(FRAMES, REWARDS, *ENDS), GAMMA)


def both() -> FrameStack:
    return FrameStack(NormalizeRewards(NormalizeObservations(ScriptedEnv(FRAMES, REWARDS, *ENDS)), GAMMA), 1)


def discounted_returns() -> NDArray[np.float64]:
    """Of each episode so far, at every step: [LENGTH - 1, NENVS]."""
    ends = ENDS.any(axis=0)
    returns = np.zeros((LENGTH, NENVS))
    for t, env in np.ndindex(LENGTH - 1, NENVS):
        first = max((s + 1 for s in range(t + 1) if ends[s, env]), default=1)
        returns[t + 1, env] = sum(GAMMA ** (t + 1 - s) * REWARDS[s, env] for s in range(max(first, 1), t + 2))
    return returns[1:]


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_batches_of_any_size_give_the_moments_of_all(shape: tuple[int, ...]) -> None:
    entries = np.random.default_rng(0).normal(1e3, 0.1, (60, *shape))
    moments = Moments(shape)
    np.testing.assert_array_equal((moments.mean, moments.var), (np.zeros(shape), np.ones(shape)))
    for batch in np.split(entries, [1, 2, 10, 57]):
        moments.update(batch)
    np.testing.assert_allclose(moments.mean, entries.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.var, entries.var(axis=0), rtol=1e-6)
    assert moments.count == 60


def test_observations_are_normalised_by_all_so_far() -> None:
    env = NormalizeObservations(ScriptedEnv(FRAMES))
    obs, _ = env.reset()
    for t in range(LENGTH):
        seen = FRAMES[: t + 1].reshape(-1, 3)
        expected = (FRAMES[t] - seen.mean(axis=0)) / np.sqrt(seen.var(axis=0) + 1e-8)
        np.testing.assert_allclose(obs, expected, rtol=1e-5, atol=1e-6)
        assert obs.dtype == np.float32 and env.observation_space.shape == obs.shape
        if t + 1 < LENGTH:
            obs, *_ = step(env)


def test_outliers_are_clipped_and_constants_are_zero() -> None:
    frames = np.zeros((1001, 1, 2))
    frames[1000] = [1e6, 0]
    env = NormalizeObservations(ScriptedEnv(frames))
    env.reset()
    for _ in range(1000):
        obs, *_ = env.step(np.zeros(1, int))
    np.testing.assert_array_equal(obs, [[10, 0]])


def test_last_observations_are_normalised_but_not_counted() -> None:
    final = np.array([None, np.array([7.0, 0.0, 0.0]), None], object)
    env = NormalizeObservations(ScriptedEnv(FRAMES, infos={3: {"final_obs": final}}))
    env.reset()
    infos = [step(env)[4] for _ in range(3)][2]
    seen = FRAMES[:4].reshape(-1, 3)
    expected = np.clip(([7, 0, 0] - seen.mean(axis=0)) / np.sqrt(seen.var(axis=0) + 1e-8), -10, 10)
    np.testing.assert_allclose(infos["final_obs"][1], expected, rtol=1e-5)
    assert infos["final_obs"][1].dtype == np.float32
    assert infos["final_obs"][0] is infos["final_obs"][2] is None
    assert final[1][0] == 7, "the environment's own array is left alone"
    assert normalization_state(env)["obs_count"] == 4 * NENVS


def test_rewards_are_divided_by_the_deviation_of_the_discounted_return() -> None:
    env = normalized_rewards()
    env.reset()
    returns = discounted_returns()
    clipped = 0
    for t in range(1, LENGTH):
        _, rewards, *_ = step(env)
        plain = REWARDS[t] / np.sqrt(returns[:t].var() + 1e-8)
        np.testing.assert_allclose(rewards, np.clip(plain, -10, 10), rtol=1e-9)
        clipped += (np.abs(plain) > 10).sum()
    assert ENDS[:, 1:].any(axis=(0, 2)).sum() > 5
    np.testing.assert_allclose(normalization_state(env)["return_mean"], returns.mean())
    assert normalization_state(env)["return_count"] == returns.size


def test_rewards_are_clipped_and_a_reset_forgets_the_returns() -> None:
    rewards = np.zeros((300, 1))
    rewards[200], rewards[203] = -1e9, 1
    env = NormalizeRewards(ScriptedEnv(np.zeros((300, 1, 1)), rewards), GAMMA)
    env.reset()
    given = [env.step(np.zeros(1, int))[1][0] for _ in range(200)]
    np.testing.assert_array_equal(given, [0] * 199 + [-10])
    env.reset()
    before = normalization_state(env)
    env.step(np.zeros(1, int))
    after = normalization_state(env)
    np.testing.assert_allclose(after["return_mean"] * 201, before["return_mean"] * 200)  # the new return is 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_what_is_not_finite_stays_where_it_is_and_out_of_the_moments(bad: float) -> None:
    frames, rewards = FRAMES.copy(), REWARDS.copy()
    frames[2, 1, 0] = rewards[2, 1] = bad
    observing, rewarding = NormalizeObservations(ScriptedEnv(frames)), NormalizeRewards(ScriptedEnv(FRAMES, rewards), 1)
    for env in (observing, rewarding):
        env.reset()
        step(env)
    before = normalization_state(observing) | normalization_state(rewarding)
    obs, given = step(observing)[0], step(rewarding)[1]
    assert not np.isfinite(obs[1, 0]) and not np.isfinite(given[1].astype(np.float32))  # refused by the runner
    expected = (FRAMES[2] - before["obs_mean"]) / np.sqrt(before["obs_var"] + 1e-8)
    np.testing.assert_allclose(obs[[0, 2]], np.clip(expected[[0, 2]], -10, 10), rtol=1e-5)
    np.testing.assert_allclose(given[[0, 2]], np.clip(REWARDS[2] / np.sqrt(before["return_var"]), -10, 10)[[0, 2]])
    after = normalization_state(observing) | normalization_state(rewarding)
    assert all(after[name] is not None and (after[name] == before[name]).all() for name in before)


def test_frozen_moments_and_moments_taken_over() -> None:
    env, other = both(), both()
    env.reset()
    for _ in range(19):
        step(env)
    other.reset()
    load_normalization_state(other, normalization_state(env))
    before = normalization_state(env)
    assert before["obs_count"] == 60 and before["return_count"] == 57
    assert sorted(before) == ["obs_count", "obs_mean", "obs_var", "return_count", "return_mean", "return_var"]
    with frozen(env):
        with frozen(env):
            step(env)
        obs, rewards, *_ = step(env)
    np.testing.assert_allclose(
        obs, np.clip((FRAMES[21] - before["obs_mean"]) / np.sqrt(before["obs_var"] + 1e-8), -10, 10), rtol=1e-5
    )
    np.testing.assert_allclose(rewards, np.clip(REWARDS[21] / np.sqrt(before["return_var"] + 1e-8), -10, 10))
    for each in (env, other):
        for name, array in normalization_state(each).items():
            np.testing.assert_array_equal(array, before[name])
    step(other)
    np.testing.assert_allclose(
        normalization_state(other)["obs_mean"], FRAMES[[*range(20), 1]].reshape(-1, 3).mean(axis=0)
    )
    np.testing.assert_allclose(
        normalization_state(other)["obs_var"], FRAMES[[*range(20), 1]].reshape(-1, 3).var(axis=0)
    )
    step(env)
    assert normalization_state(env)["return_count"] == 60


def test_an_environment_without_has_no_moments() -> None:
    env = FrameStack(ScriptedEnv(FRAMES), 1)
    assert normalization_state(env) == {}
    load_normalization_state(env, {})
    with frozen(env):
        env.reset()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"obs_var": np.ones(4)}, r"obs_var has shape \(4,\) there, \(3,\) here"),
        ({"return_count": None}, r"return_count has shape none there, \(\) here"),
        ({"other": np.ones(2)}, r"other has shape \(2,\) there, none here"),
    ],
)
def test_moments_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    env = both()
    env.reset()
    step(env)
    before = normalization_state(env)
    state = {name: array + 1 for name, array in before.items()} | change
    with pytest.raises(InputError, match=message):
        load_normalization_state(env, {name: array for name, array in state.items() if array is not None})
    for name, array in normalization_state(env).items():
        np.testing.assert_array_equal(array, before[name])
