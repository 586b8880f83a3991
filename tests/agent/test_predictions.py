from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from acer_tf.agent import ACER
from acer_tf.errors import InputError
from acer_tf.policies.actor import Actor
from tests.small_agents import enlarge, everything, observations, tiny, vec_env


@pytest.fixture(scope="module")
def agent() -> ACER:
    agent = tiny()
    enlarge(agent)
    return agent


@pytest.fixture(scope="module")
def recurrent() -> ACER:
    agent = tiny("lstm", policy_kwargs={"nlstm": 3})
    enlarge(agent)
    return agent


def test_the_most_probable_or_drawn(agent: ACER) -> None:
    obs = observations(agent, 4)
    p = agent.action_probability(obs)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    best, state = agent.predict(obs, deterministic=True)
    assert state is None and best.dtype == np.int64
    np.testing.assert_array_equal(best, p.argmax(axis=1))
    drawn = agent.predict(np.repeat(obs[:1], 5000, axis=0))[0]
    assert abs(drawn.mean() - p[0, 1]) < 4 * np.sqrt(p[0, 1] * p[0, 0] / 5000)


def test_one_observation_gives_one_action(agent: ACER) -> None:
    obs = observations(agent)
    action, _ = agent.predict(obs[1], deterministic=True)
    assert np.shape(action) == () and agent.action_space.contains(action)
    assert action == agent.predict(obs, deterministic=True)[0][1]
    assert agent.action_probability(obs[1]).shape == (2,)
    p = agent.action_probability(obs[1])
    np.testing.assert_allclose(agent.action_probability(obs[1], actions=1), p[1:])
    np.testing.assert_allclose(agent.action_probability(obs[1], actions=1, logp=True), np.log(p[1:]))


def test_predictions_change_only_their_own_stream(agent: ACER) -> None:
    before = everything(agent)
    agent.predict(observations(agent))
    changed = [name for name, array in everything(agent).items() if (array != before[name]).any()]
    assert changed == ["predictions"]
    after = everything(agent)
    agent.predict(observations(agent), deterministic=True)
    assert all((array == after[name]).all() for name, array in everything(agent).items())


def test_predictions_are_not_what_training_samples() -> None:
    """Their stream begins elsewhere, though both follow from one seed; also when the seed is set anew."""
    agent = tiny()
    obs, start, mask = np.zeros((100, 4), np.float32), np.zeros((100, 0), np.float32), np.zeros(100, np.bool_)
    for seed in (None, 7):
        agent.set_random_seed(seed)
        sampled = agent.model.act(obs, start, mask).actions
        assert (agent.predict(obs)[0] != sampled).any()
        twin = tf.random.Generator.from_seed(agent.seed, alg="philox")
        np.testing.assert_array_equal(Actor(agent.model.policy, twin).act(obs, start, mask).actions, sampled)


def test_a_function_is_traced_once_for_a_shape(agent: ACER) -> None:
    for n in (7, 8, 7, 8):
        agent.predict(observations(agent, n))
        agent.predict(observations(agent, n, seed=n), deterministic=True)
    for traced in (agent._actor._sample, agent._actor._greedy):
        count = traced.traces
        agent.predict(observations(agent, 7))
        agent.predict(observations(agent, 7), deterministic=True)
        assert traced.traces == count


def test_a_state_is_carried_along_and_masked(recurrent: ACER) -> None:
    obs = observations(recurrent, 2)
    _, start = recurrent.predict(obs)
    first = recurrent.action_probability(obs)
    carried = recurrent.action_probability(obs, start)
    masked = recurrent.action_probability(obs, start, np.array([True, False]))
    assert np.abs(first - carried).max() > 1e-4
    np.testing.assert_allclose(masked[0], first[0], rtol=1e-5)
    np.testing.assert_allclose(masked[1], carried[1], rtol=1e-5)
    single = recurrent.action_probability(obs[1], start[1], mask=False)
    np.testing.assert_allclose(single, carried[1], rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observation": np.ones(5)}, r"observation has shape \(5,\)"),
        ({"state": np.zeros((1, 6))}, r"the state has shape \(1, 6\); expected \(2, 6\)"),
        ({"state": np.zeros((2, 5))}, r"the state has shape \(2, 5\)"),
        ({"mask": np.zeros(3, np.bool_)}, r"the mask has shape \(3,\); expected \(2,\)"),
    ],
)
def test_what_does_not_fit(recurrent: ACER, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recurrent.predict(**({"observation": observations(recurrent, 2)} | arguments))


def test_continuous_actions() -> None:
    agent = tiny(env=vec_env("Pendulum-v1"), sigma=0.2)
    enlarge(agent, 30)
    obs = observations(agent, 3)
    mean, deviation = agent.action_probability(obs)
    np.testing.assert_allclose(agent.predict(obs, deterministic=True)[0], mean, rtol=1e-5)
    np.testing.assert_allclose(deviation, 0.4)
    drawn = agent.predict(np.repeat(obs[:1], 4000, axis=0))[0]
    inside = np.abs(drawn - mean[0]) < 0.4
    if abs(mean[0, 0]) < 1.6:
        assert abs(inside.mean() - 0.683) < 0.03
    single = agent.action_probability(obs[0])
    assert [part.shape for part in single] == [(1,), (1,)]
