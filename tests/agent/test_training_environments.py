from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from acer_tf.agent import ACER
from acer_tf.envs.make import make_training_env, make_vec_env
from acer_tf.errors import InputError
from acer_tf.evaluation import evaluate_policy
from tests.counter import Counter
from tests.scripted import ScriptedEnv
from tests.small_agents import assert_same, everything, observations, tiny, vec_env


def rewards_seen(agent: ACER) -> set[float]:
    seen: set[float] = set()
    agent.learn(20, lambda here, _: seen.update(here["rewards"].tolist()))
    return seen


def test_the_scale_of_rewards_is_kept(tmp_path: Path) -> None:
    agent = tiny(env=Counter(0), reward_scale=0.5)
    agent.save(tmp_path / "agent")
    assert rewards_seen(agent) == {0.0, 0.5}
    assert rewards_seen(ACER.load(tmp_path / "agent", Counter(0))) == {0.0, 0.5}
    agent.set_env(Counter(0))
    assert rewards_seen(agent) == {0.0, 0.5}
    assert agent.get_env().step(np.array([1]))[1] == 1, "the user's own rewards are as they were"
    agent = tiny(env=make_training_env("CartPole-v1", 1, reward_scale=0.1))
    assert (agent.reward_scale, rewards_seen(agent)) == (0.1, {np.float32(0.1)})
    with pytest.raises(InputError, match=r"the environment has reward_scale=0\.1, the agent 0\.5"):
        tiny(env=make_training_env("CartPole-v1", 1, reward_scale=0.1), reward_scale=0.5)
    with pytest.raises(InputError, match="reward_scale is 0; expected a finite number > 0"):
        tiny(reward_scale=0)


def test_environments_may_be_changed_for_more_or_fewer() -> None:
    agent = tiny().learn(10)
    for n in (3, 1):
        agent.set_env(vec_env(n=n))
        assert agent.n_envs == agent.get_env().num_envs == n
        before = everything(agent)
        agent.learn(15, log_interval=1, reset_num_timesteps=False)
        for name, array in everything(agent).items():
            assert not name.startswith("param/") or (array != before[name]).any(), name
    assert agent.num_timesteps == 10 + 15 + 15


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            "Acrobot-v1",
            r"is a Box of shape \(6,\) and float32; the agent's is a Box of shape \(4,\) and float32\. Choose",
        ),
        (ScriptedEnv(np.zeros((9, 2, 4), np.float64)), "observation space is"),
        ("Cartpole-v2", "environment 'Cartpole-v2' does not exist; the nearest are CartPole-v1"),
        (3, r"the environment is an int; expected a gymnasium\.vector\.VectorEnv, a gymnasium\.Env, or a VecEnv"),
    ],
)
def test_environments_that_do_not_fit(agent: ACER, env: Any, message: str) -> None:
    before, kept = everything(agent), agent.env
    with pytest.raises(InputError, match=message):
        agent.set_env(env)
    assert agent.env is kept
    for name, array in everything(agent).items():
        np.testing.assert_array_equal(array, before[name])


def test_bounds_of_observations_do_not_matter(tmp_path: Path) -> None:
    """LunarLander's, for instance, are others in v3 than in v2."""
    unbounded = ScriptedEnv(np.zeros((99, 1, 4), np.float32))
    agent = tiny(env=unbounded)
    agent.save(tmp_path / "agent")
    evaluate_policy(agent, gymnasium.make("CartPole-v1"), 1)
    for other in (agent, ACER.load(tmp_path / "agent", "CartPole-v1")):
        other.set_env("CartPole-v1")
        other.learn(5)
        assert other.observation_space == unbounded.single_observation_space


def test_bounds_of_images_matter_to_networks_that_divide_by_255() -> None:
    agent = tiny("cnn_small", ScriptedEnv(np.zeros((9, 1, 84, 84, 4), np.uint8)))
    dark = ScriptedEnv(np.zeros((9, 1, 84, 84, 4), np.uint8))
    dark.single_observation_space = Box(0, 1, (84, 84, 4), np.uint8)
    with pytest.raises(InputError, match="divides observations by 255, but these lie between 0 and 1"):
        agent.set_env(dark)


class Actions(gymnasium.ObservationWrapper[Any, Any, Any]):
    """CartPole with the observations of another task."""

    def __init__(self) -> None:
        super().__init__(gymnasium.make("CartPole-v1"))
        self.action_space = Discrete(3)

    def observation(self, observation: Any) -> Any:
        return observation


def test_other_actions_do_not_fit(agent: ACER) -> None:
    with pytest.raises(
        InputError, match=r"the environment's action space is Discrete\(3\); the agent's is Discrete\(2\)"
    ):
        agent.set_env(Actions())


def test_an_environment_a_vector_and_an_id_are_the_same() -> None:
    agents = [
        tiny(env=env).learn(10, log_interval=1) for env in (gymnasium.make("CartPole-v1"), vec_env(n=1), "CartPole-v1")
    ]
    for other in agents[1:]:
        assert_same(agents[0], other)


def test_a_game_gets_baselines_wrappers() -> None:
    agent = tiny("cnn_small", "PongNoFrameskip-v4")
    try:
        agent.learn(5)
        assert agent.observation_space == Box(0, 255, (84, 84, 4), np.uint8)
        obs, _ = agent.env.reset(seed=1)
        assert agent.action_space.contains(agent.predict(obs[0])[0])
    finally:
        agent.env.close()


def test_normalisation_is_kept_and_left_alone_by_predictions() -> None:
    agent = tiny(env=vec_env("Pendulum-v1"), normalize_observations=True, normalize_rewards=True, gamma=0.9)
    agent.learn(40, log_interval=1)
    before = everything(agent)
    assert before["obs_count"] > 40 and before["return_count"] >= 40
    assert agent.get_vec_normalize_env().single_observation_space == Box(-10, 10, (3,), np.float32)
    assert agent.env.single_observation_space == agent.observation_space
    assert agent.observation_space != agent.get_vec_normalize_env().single_observation_space
    agent.predict(observations(agent))
    np.testing.assert_array_equal(everything(agent)["obs_mean"], before["obs_mean"])
    agent.set_env(vec_env("Pendulum-v1", n=1))
    np.testing.assert_array_equal(everything(agent)["obs_mean"], before["obs_mean"])
    assert tiny().get_vec_normalize_env() is None


def test_what_make_vec_env_made_speaks_the_environments_own_units() -> None:
    env = make_vec_env("Pendulum-v1", 2)
    agent = tiny(env=env, normalize_observations=True, sigma=5).learn(10)
    assert agent.get_env() is env
    obs, _ = env.reset(seed=0)
    actions, _ = agent.predict(np.repeat(obs, 20, axis=0))
    assert np.abs(obs[:, 2]).max() > 0.1 and set(np.abs(actions[:, 0])) > {2.0}  # the ends of Pendulum's range
    env.step(actions[:2])


def test_what_make_training_env_made_is_normalised_if_the_agent_is() -> None:
    agent = tiny(env=make_training_env("Pendulum-v1", 2), normalize_observations=True, normalize_rewards=True)
    assert agent.normalize_observations and agent.normalize_rewards
    agent.learn(20, log_interval=1)
    agent.set_env(make_training_env("Pendulum-v1", 1))
    agent.predict(observations(agent))
    kept = agent.env
    plain = tiny(env=vec_env("Pendulum-v1"))
    for brought in ({"normalize_observations": True}, {"normalize_rewards": True}, {"reward_scale": 0.1}):
        (name, value), *_ = brought.items()
        with pytest.raises(InputError, match=f"the environment has {name}={value}, the agent (False|1.0)"):
            plain.set_env(make_training_env("Pendulum-v1", 1, **brought))
    assert agent.env is kept and plain.n_envs == 2
    with pytest.raises(InputError, match="stacked frames are not normalised"):
        tiny("cnn_small", make_training_env("PongNoFrameskip-v4", 1, num_workers=0), normalize_observations=True)


def test_what_make_training_env_made_is_taken_as_it_is() -> None:
    agent = tiny(env=make_training_env("Pendulum-v1", 2, normalize_observations=True))
    assert agent.normalize_observations and not agent.normalize_rewards
    assert agent.action_space == Box(-2, 2, (1,), np.float32)
