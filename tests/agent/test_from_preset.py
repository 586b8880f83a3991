from pathlib import Path
from typing import Any

import gymnasium
import pytest

from acer_tf import ACER
from acer_tf.agent.from_preset import preset_arguments
from acer_tf.configs.presets import load_preset
from acer_tf.errors import InputError


def test_the_zoos_cartpole() -> None:
    agent = ACER.from_preset("zoo-CartPole-v1", seed=3)
    assert (agent.policy, agent.policy_kwargs, agent.n_envs, agent.seed) == ("mlp", {"value_network": "copy"}, 8, 3)
    assert (agent.ent_coef, agent.buffer_size, agent.replay_start, agent.lr_schedule) == (0, 5000, 1000, "linear")
    assert {"pi/mlp_fc0/kernel", "vf/mlp_fc0/kernel"} <= set(agent.model.policy.params)


def test_what_a_preset_does_not_set_is_the_default_of_learn() -> None:
    agent = ACER.from_preset("baselines", "CartPole-v1")
    assert (agent.buffer_size, agent.replay_start, agent.ent_coef, agent.n_steps) == (50_000, 10_000, 0.01, 20)


def test_names_are_those_of_the_class_and_overrides_win() -> None:
    agent = ACER.from_preset("paper-continuous", "Pendulum-v1", num_env=2, correction_term=3, sigma=0.4)
    assert (agent.n_envs, agent.n_steps, agent.learning_rate) == (2, 50, 0.00022)
    assert (agent.correction_term, agent.sigma, agent.on_policy_updates) == (3, 0.4, False)
    assert (agent.model.config.c, agent.model.config.nsteps) == (3, 50)


def test_another_policy_comes_without_the_presets_arguments() -> None:
    agent = ACER.from_preset("coach-cartpole", gymnasium.make("CartPole-v1"), policy="lstm", reward_scale=1)
    assert (agent.policy, agent.policy_kwargs, agent.optimizer) == ("lstm", {}, "adam")


def test_observations_and_rewards_are_normalised_where_the_preset_says_so() -> None:
    agent = ACER.from_preset("zoo-Acrobot-v1")
    assert agent.normalize_observations and agent.normalize_rewards
    assert agent.get_vec_normalize_env() is not None
    assert not ACER.from_preset("zoo-Acrobot-v1", normalize_rewards=False).normalize_rewards


def first_reward(**overrides: float) -> float:
    agent = ACER.from_preset("Pendulum-v1", num_env=1, seed=0, **overrides)
    seen: list[float] = []

    def stop(variables: dict[str, Any], _: object) -> bool:
        seen.append(float(variables["rewards"][0]))
        return False

    agent.learn(4, stop)
    return seen[0]


def test_rewards_are_scaled_as_in_the_command() -> None:
    assert first_reward() == pytest.approx(0.1 * first_reward(reward_scale=1), rel=1e-6)
    assert ACER.from_preset("Pendulum-v1", gymnasium.make("Pendulum-v1")).reward_scale == 0.1


def test_arguments_of_the_presets_environment_are_not_for_another_one() -> None:
    assert preset_arguments("Ant-v5", None, {})["env"].observation_space.shape == (4, 27)
    assert preset_arguments("Ant-v5", "Hopper-v5", {})["env"].observation_space.shape == (4, 11)


@pytest.mark.parametrize(
    ("name", "env", "overrides", "message"),
    [
        ("CartPol", None, {}, "preset 'CartPol' does not exist; the nearest are CartPole-v1"),
        ("baselines", None, {}, "preset 'baselines' has no environment"),
        ("CartPole-v1", "CartPol-v1", {}, "the nearest are CartPole-v1"),
        ("CartPole-v1", None, {"gamma": 3}, "gamma is 3; expected a number between 0 and 1"),
    ],
)
def test_bad_input(name: str, env: object, overrides: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ACER.from_preset(name, env, **overrides)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text("env: CartPole-v1\nnsteps: 7\nnetwork_kwargs: {num_hidden: 8}\n")
    agent = ACER.from_preset(path)
    assert (agent.n_steps, agent.policy_kwargs["num_hidden"]) == (7, 8)
    assert load_preset(path).config == {"nsteps": 7}
