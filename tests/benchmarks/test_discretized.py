from pathlib import Path

import gymnasium as gym
import numpy as np

import benchmarks.discretized
from acer_tf.experiments.plan import plan
from acer_tf.experiments.reading import load_experiment
from acer_tf.trials.execution import Execution

EXPERIMENT = Path(benchmarks.discretized.__file__).with_name("multidiscrete.yml")


def test_levels_span_the_bounds_of_every_joint():
    env = gym.make("HopperLevels-v5")

    assert env.action_space == gym.spaces.MultiDiscrete([3, 3, 3])
    np.testing.assert_array_equal(env.get_wrapper_attr("action")(np.array([0, 1, 2])), np.array([-1, 0, 1], np.float32))


def test_an_episode_is_that_of_hopper_with_the_same_torques():
    levels, hopper = gym.make("HopperLevels-v5"), gym.make("Hopper-v5")
    np.testing.assert_array_equal(levels.reset(seed=3)[0], hopper.reset(seed=3)[0])

    for action in np.random.default_rng(0).integers(3, size=(10, 3)):
        ours, theirs = levels.step(action), hopper.step((action - 1).astype(np.float32))
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1:4] == theirs[1:4]


def test_training_knows_all_settings_of_the_experiment():
    experiment = load_experiment(str(EXPERIMENT))
    planned = plan(experiment, None, Path("runs"), Execution(), [env.id for env in experiment.envs])
    assert [(p.settings["env"], p.variation) for p in planned] == 5 * [
        ("benchmarks.discretized:HopperLevels-v5", "constant"),
        ("benchmarks.discretized:HopperLevels-v5", "linear"),
    ]


def test_episodes_are_cut_as_those_of_hopper():
    env = gym.make("HopperLevels-v5")

    assert env.get_wrapper_attr("_max_episode_steps") == gym.spec("Hopper-v5").max_episode_steps
