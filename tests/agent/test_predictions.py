from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gymnasium.spaces import Box, Discrete
from scipy import stats

from acer_tf.agent import ACER
from acer_tf.agent.predictions import distribution, likelihood
from acer_tf.agent.spaces import Spaces
from acer_tf.errors import InputError
from acer_tf.policies.actor import Actor
from tests.small_agents import enlarge, everything, observations, tiny, vec_env

OBS = Box(-1, 1, (4,), np.float32)
DISCRETE = Spaces(OBS, Discrete(3), False)
BOX = Spaces(OBS, Box(np.array([-1.0, 0.0]), np.array([3.0, 0.5]), dtype=np.float64), False)
P = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], np.float32)
MEANS = np.array([[0.5, -1.0], [0.0, 0.2]], np.float32)


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
    with agent.predicting_from(0):
        drawn = agent.predict(np.repeat(obs[:1], 5000, axis=0))[0]
    with agent.predicting_from(0):
        np.testing.assert_array_equal(agent.predict(np.repeat(obs[:1], 5000, axis=0))[0], drawn)
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


def test_a_function_is_traced_once_for_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, traces = tiny(), list[str]()
    for name in ("act", "greedy"):  # which only traces call
        method = getattr(agent.model.policy, name)
        monkeypatch.setattr(
            agent.model.policy, name, lambda *args, name=name, method=method: (traces.append(name), method(*args))[1]
        )
    for n in (7, 8, 7, 8):
        agent.predict(observations(agent, n))
        agent.predict(observations(agent, n, seed=n), deterministic=True)
    assert sorted(traces) == ["act", "act", "greedy", "greedy"]


def test_a_state_is_carried_along_and_masked(recurrent: ACER) -> None:
    obs = observations(recurrent, 2)
    _, start = recurrent.predict(obs)
    first = recurrent.action_probability(obs)
    carried = recurrent.action_probability(obs, start)
    masked = recurrent.action_probability(obs, start, np.array([True, False]))
    assert np.abs(first - carried).max() > 1e-4
    np.testing.assert_allclose(masked[0], first[0], rtol=1e-5)
    np.testing.assert_allclose(masked[1], carried[1], rtol=1e-5)
    states = [recurrent.predict(obs, start, **{name: np.array([True, False])})[1] for name in ("mask", "episode_start")]
    np.testing.assert_array_equal(*states)
    assert (states[0] != recurrent.predict(obs, start)[1]).any()
    single = recurrent.action_probability(obs[1], start[1], mask=False)
    np.testing.assert_allclose(single, carried[1], rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observation": np.ones(5)}, r"observation has shape \(5,\)"),
        ({"state": np.zeros((1, 6))}, r"the state has shape \(1, 6\); expected \(2, 6\)"),
        ({"state": np.zeros((2, 5))}, r"the state has shape \(2, 5\)"),
        ({"state": "x"}, "the state is of type <U1; expected numbers"),
        ({"state": [[1], [1, 2]]}, "the state cannot be an array: its rows differ in length"),
        ({"mask": np.zeros(3, np.bool_)}, r"the mask has shape \(3,\); expected \(2,\)"),
        ({"mask": ["a", "b"]}, "the mask is of type <U1; expected numbers"),
        ({"action_masks": [[None, True]] * 2}, "an action mask is of type object; expected numbers"),
    ],
)
def test_what_does_not_fit(recurrent: ACER, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recurrent.predict(**({"observation": observations(recurrent, 2)} | arguments))


@pytest.mark.parametrize("observation", ["x", ["a"] * 4, [[1, 2], [1, 2, 3, 4]]])
def test_what_is_no_observation(agent: ACER, observation: Any) -> None:
    with pytest.raises(InputError, match="an observation is not in the observation space: "):
        agent.predict(observation)


def test_continuous_actions() -> None:
    agent = tiny(env=vec_env("Pendulum-v1"), sigma=0.2)
    enlarge(agent, 30)
    obs = observations(agent, 3)
    mean, deviation = agent.action_probability(obs)
    np.testing.assert_allclose(agent.predict(obs, deterministic=True)[0], mean, rtol=1e-5)
    np.testing.assert_allclose(deviation, 0.4)
    i = np.abs(mean[:, 0]).argmin()
    assert abs(mean[i, 0]) < 1.2, "so that hardly any is clipped"
    with agent.predicting_from(0):
        drawn = agent.predict(np.repeat(obs[i : i + 1], 4000, axis=0))[0]
    assert abs((np.abs(drawn - mean[i]) < 0.4).mean() - 0.683) < 0.03
    single = agent.action_probability(obs[0])
    assert [part.shape for part in single] == [(1,), (1,)]


def test_probabilities_of_choices() -> None:
    assert distribution(P, 0.3, DISCRETE) is P
    chosen = likelihood(P, 0.3, DISCRETE, [2, 0], logp=False)
    assert chosen.shape == (2, 1)
    np.testing.assert_allclose(chosen, [[0.5], [1]])
    np.testing.assert_allclose(likelihood(P, 0.3, DISCRETE, [2, 1], logp=True), [[np.log(0.5)], [-np.inf]])


@pytest.mark.parametrize("is_learned", [False, True])
def test_densities_in_the_environments_units(is_learned: bool) -> None:
    sigma = np.array([[0.3, 0.3], [0.3, 0.3]]) if not is_learned else np.array([[0.1, 0.4], [0.2, 0.5]])
    f = MEANS if not is_learned else np.concatenate([MEANS, np.log(sigma)], axis=1).astype(np.float32)
    given = None if is_learned else 0.3
    mean, deviation = distribution(f, given, BOX)
    np.testing.assert_allclose(mean, [[2, 0], [1, 0.3]], rtol=1e-6)
    np.testing.assert_allclose(deviation, sigma * [2, 0.25], rtol=1e-6)
    actions = np.array([[1.5, 0.1], [0.0, 0.5]])
    expected = stats.norm.pdf(actions, mean, deviation).prod(axis=1, keepdims=True)
    np.testing.assert_allclose(likelihood(f, given, BOX, actions, logp=False), expected, rtol=1e-5)
    np.testing.assert_allclose(likelihood(f, given, BOX, actions, logp=True), np.log(expected), rtol=1e-5)


def test_one_action_for_each_observation() -> None:
    with pytest.raises(InputError, match="there are 3 actions for 2 observations; expected one for each"):
        likelihood(P, 0.3, DISCRETE, [0, 1, 2], logp=False)


def test_an_explanation_is_what_the_policy_does_and_draws_nothing(agent: ACER) -> None:
    obs = observations(agent, 4)
    stream = agent._state.actor.generator.state.numpy()
    distribution, v, q = agent.explain(obs)
    np.testing.assert_array_equal(agent._state.actor.generator.state.numpy(), stream)
    np.testing.assert_allclose(distribution, agent.action_probability(obs), rtol=1e-5)
    assert q is not None and q.shape == distribution.shape
    np.testing.assert_allclose(v, (distribution * q).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(v, agent._state.actor.values(obs, np.zeros((4, 0), np.float32)), rtol=1e-5)


def test_an_explanation_depends_on_the_state_and_its_mask(recurrent: ACER) -> None:
    obs = observations(recurrent, 2)
    _, state = recurrent.predict(obs)
    at_first, later = recurrent.explain(obs), recurrent.explain(obs, state)
    assert not np.isclose(at_first.v, later.v).any()
    masked = recurrent.explain(obs, state, np.array([True, False]))
    np.testing.assert_allclose(masked.v, [at_first.v[0], later.v[1]], rtol=1e-5)
    np.testing.assert_allclose(later.distribution, recurrent.action_probability(obs, state), rtol=1e-5)


def test_an_explanation_of_a_continuous_action() -> None:
    agent = tiny(env=vec_env("Pendulum-v1"), sigma=0.2)
    enlarge(agent)
    obs = observations(agent, 3)
    distribution, v, q = agent.explain(obs)
    for part, expected in zip(distribution, agent.action_probability(obs), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-5)
    np.testing.assert_allclose(v, agent._state.actor.values(obs, np.zeros((3, 0), np.float32)), rtol=1e-5)
    assert v.shape == (3,) and q is None
