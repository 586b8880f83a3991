import contextlib

import gymnasium
import numpy as np

from acer_tf.envs.make import make_training_env


def test_shows_the_positions_of_cartpole_and_nothing_else() -> None:
    masked, whole = gymnasium.make("MaskedCartPole-v1"), gymnasium.make("CartPole-v1")
    np.testing.assert_array_equal(masked.reset(seed=3)[0], whole.reset(seed=3)[0][[0, 2]])
    done = False
    while not done:
        obs, *outcome, _ = masked.step(1)
        expected, *expected_outcome, _ = whole.step(1)
        np.testing.assert_array_equal(obs, expected[[0, 2]])
        assert masked.observation_space.contains(obs)
        assert outcome == expected_outcome
        done = outcome[1]
    assert masked.spec is not None
    assert (masked.spec.max_episode_steps, masked.spec.reward_threshold) == (500, 475.0)


def test_commands_can_name_it() -> None:
    with contextlib.closing(make_training_env("MaskedCartPole-v1", 2)) as env:
        assert env.reset(seed=0)[0].shape == (2, 2)
