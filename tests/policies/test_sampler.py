import contextlib

import numpy as np
import pytest
import tensorflow as tf
from gymnasium.spaces import Box, Discrete

from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.policies.sampler import Sampler

N = 6


@pytest.mark.parametrize("network", ["mlp", "lstm"])
def test_actions_are_those_of_the_policy_to_the_bit(network: str) -> None:
    kwargs = {"nlstm": 4} if network == "lstm" else {"num_hidden": 8}
    space = Box(-np.inf, np.inf, (3,), np.float32)
    policy = CategoricalPolicy(network, space, Discrete(3), np.random.RandomState(0), **kwargs)
    head = policy.params["pi_head/kernel"]
    head.assign(100 * head.value)
    random = np.random.default_rng(0)
    obs = random.normal(size=(N, 3)).astype(np.float32)
    state = random.normal(size=policy.initial_state(N).shape).astype(np.float32)
    mask = np.array([True, False] * 3)
    counter = iter(range(10))
    seeds: list[int] = []

    def draw_seed() -> tf.Tensor:
        seeds.append(next(counter))
        return tf.constant([seeds[-1], 0])

    given = Sampler(policy, draw_seed, contextlib.nullcontext)(obs, state, mask)
    assert seeds == [0]
    act = tf.function(policy.act, autograph=False)
    expected = act(tf.constant(obs), tf.constant(state), tf.constant(mask), tf.constant([0, 0]))
    for ours, theirs in zip(given, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (given.actions.dtype, given.mus.shape, given.state.shape) == (np.int64, (N, 3), state.shape)
