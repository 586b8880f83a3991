from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gymnasium.spaces import Box, Discrete

from acer_tf.errors import NotFiniteError
from acer_tf.model import Model
from acer_tf.policies.actor import Actor
from acer_tf.policies.categorical import CategoricalPolicy
from tests.agents import NENVS, make_model, make_policy, make_segment

N = 6


def generator(seed: int = 0) -> tf.random.Generator:
    return tf.random.Generator.from_seed(seed, alg="philox")


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("network", ["mlp", "lstm"])
def test_actions_are_those_of_the_policy_to_the_bit(network: str, deterministic: bool) -> None:
    kwargs = {"nlstm": 4} if network == "lstm" else {"num_hidden": 8}
    space = Box(-np.inf, np.inf, (3,), np.float32)
    policy = CategoricalPolicy(network, space, Discrete(3), np.random.RandomState(0), **kwargs)
    head = policy.params["pi_head/kernel"]
    head.assign(100 * head.value)
    random = np.random.default_rng(0)
    obs = random.normal(size=(N, 3)).astype(np.float32)
    state = random.normal(size=policy.initial_state(N).shape).astype(np.float32)
    mask = np.array([True, False] * 3)
    actor, twin = Actor(policy, generator(3)), generator(3)

    for _ in range(3):
        given = actor.act(obs, state, mask, deterministic)
        inputs = [tf.constant(array) for array in (obs, state, mask)]
        if deterministic:
            expected = tf.function(policy.greedy, autograph=False)(*inputs)
        else:
            expected = tf.function(policy.act, autograph=False)(*inputs, twin.uniform_full_int([2], tf.int32))
        for ours, theirs in zip(given, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(actor.generator.state, twin.state, "one draw a call, none if deterministic")
    assert (given.actions.dtype, given.mus.shape, given.state.shape) == (np.int64, (N, 3), state.shape)
    if deterministic:
        np.testing.assert_array_equal(given.actions, given.mus.argmax(axis=1))


@pytest.mark.parametrize("deterministic", [False, True])
def test_what_is_not_finite_is_refused_before_it_becomes_an_action(deterministic: bool) -> None:
    policy = CategoricalPolicy("mlp", Box(-1, 1, (3,), np.float32), Discrete(3), np.random.RandomState(0))
    actor, obs = Actor(policy, generator()), np.zeros((2, 3), np.float32)
    obs[1, 0] = np.nan  # TensorFlow draws action 3 of such probabilities
    with pytest.raises(NotFiniteError, match="output for environment 1 is not finite: it has diverged, or so is its"):
        actor.act(obs, policy.initial_state(2), np.zeros(2, np.bool_), deterministic)


def with_copies(model: Model) -> Actor:
    return Actor(model.policy, generator(), [tf.Variable(param) for param in model.params])


def test_copied_parameters_act_as_the_model_did_when_they_were_copied() -> None:
    model, twin = make_model(), make_model()
    actor, obs = with_copies(model), make_segment().obs[:, 0]
    state, mask = model.initial_state(NENVS), np.zeros(NENVS, np.bool_)
    actor.assign(model.params)
    model.train(make_segment(), lr=0.1)
    for _ in range(2):
        for deterministic in (False, True):
            mus = actor.act(obs, state, mask, deterministic).mus
            np.testing.assert_allclose(mus, twin.act(obs, state, mask).mus, rtol=1e-6)
        np.testing.assert_allclose(actor.values(obs, state), twin.actor.values(obs, state), rtol=1e-6)
        twin.train(make_segment(), lr=0.1)
        assert (np.abs(twin.act(obs, state, mask).mus - mus) > 1e-3).any(), "training moves the policy"
        actor.assign(model.params)


def test_actions_with_copies_follow_from_the_models_state() -> None:
    model = make_model(seed=1)
    obs, mask, start = np.zeros((100, 4), np.float32), np.zeros(100, np.bool_), model.initial_state(100)
    actor, state, drawn = with_copies(model), model.state_dict(), list[list[Any]]()
    for _ in range(2):
        model.load_state_dict(state)
        drawn.append([])
        for number in (3, 1):
            actor.assign(model.params)
            actor.generator.reset_from_seed(model.draw_seed())
            drawn[-1] += [actor.act(obs, start, mask).actions for _ in range(number)]
    np.testing.assert_array_equal(*drawn)
    assert len(np.unique(drawn[0], axis=0)) == 4


def test_functions_are_traced_once_per_number_of_environments() -> None:
    traces = []

    class Counting(CategoricalPolicy):
        def act(self, obs: tf.Tensor, *args: tf.Tensor) -> Any:
            traces.append(("act", obs.shape[0]))
            return super().act(obs, *args)

        def greedy(self, obs: tf.Tensor, *args: tf.Tensor) -> Any:
            traces.append(("greedy", obs.shape[0]))
            return super().greedy(obs, *args)

    policy = make_policy()
    policy.__class__ = Counting
    actor = Actor(policy, generator())
    for n in (7, 8, 7, 8):
        for deterministic in (False, True):
            obs = np.full((n, 4), n, np.float32)
            actor.act(obs, actor.initial_state(n), np.zeros(n, np.bool_), deterministic)
    assert traces == [("act", 7), ("greedy", 7), ("act", 8), ("greedy", 8)]
