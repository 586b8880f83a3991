import functools

import gymnasium as gym
import numpy as np

from acer_tf.networks.actor_critic import ActorCritic
from benchmarks.flops import forward_flops, update_flops


@functools.cache
def nature_cnn():
    space = gym.spaces.Box(0, 255, (84, 84, 4), np.uint8)
    return ActorCritic("cnn", space, 4, np.random.RandomState(0))


def test_forward_flops_of_the_nature_network():
    convolutions = [2 * 20 * 20 * 32 * 8 * 8 * 4, 2 * 9 * 9 * 64 * 4 * 4 * 32, 2 * 7 * 7 * 64 * 3 * 3 * 64]
    assert forward_flops(nature_cnn()) == [*convolutions, 2 * 3136 * 512, 2 * 512 * 4, 2 * 512 * 4]


def test_forward_flops_of_an_lstm():
    space = gym.spaces.Box(-1, 1, (3,))
    network = ActorCritic("lstm", space, 4, np.random.RandomState(0), nlstm=8)
    assert forward_flops(network) == [2 * 3 * 32 + 2 * 8 * 32, 2 * 8 * 4, 2 * 8 * 4]


def test_update_flops_count_both_forward_passes_and_no_gradient_of_the_observations():
    forward = forward_flops(nature_cnn())
    total, first, q_head = sum(forward), forward[0], forward[-1]
    per_step = total + (total - q_head) + (2 * total - first)
    assert update_flops(nature_cnn(), nenvs=16, nsteps=20) == 16 * 20 * per_step + 16 * total
