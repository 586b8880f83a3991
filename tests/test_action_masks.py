"""Masks and joint actions all the way: environment, segment, replay, update, agent, file, evaluation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.agent import ACER
from acer_tf.config import Config
from acer_tf.envs.wrap import training_env
from acer_tf.errors import InputError
from acer_tf.evaluation import evaluate_policy
from acer_tf.learning import learn, make_model_and_loop
from acer_tf.logs.logger import Logger
from tests.envs.wrappers.test_action_masks import Clock, TwoWheels

SMALL = {"buffer_size": 200, "replay_start": 20, "nsteps": 5}


def loop_of(env: Any, network: str = "mlp", **config: Any) -> Any:
    sizes = {"num_hidden": 8, "num_layers": 1} if network == "mlp" else {"nlstm": 8}
    return make_model_and_loop(network, training_env(env), 0, Config(**(SMALL | config)), Logger(), **sizes)


@pytest.mark.parametrize("network", ["mlp", "lstm"])
def test_segments_and_replay_hold_the_masks_of_their_states(network: str) -> None:
    """`Clock` refuses any other action, in training, too."""
    loop = loop_of(Clock(length=7), network)
    loop.learn(end=100)
    rows = loop.buffer.rows(0, loop.buffer.num_put)["action_masks/rows"]
    assert rows.shape == (20, 1, 6, 3) and (rows.sum(axis=-1) == 1).all()
    segment = loop.buffer.get(np.random.RandomState(0))
    times = segment.obs[0, :, 0].astype(int)
    np.testing.assert_array_equal(segment.action_masks[0].argmax(axis=-1), times % 3)
    np.testing.assert_array_equal(segment.actions[0], times[:-1] % 3)
    assert (segment.mus[0].max(axis=-1) == 1).all()


def test_without_masks_nothing_is_kept() -> None:
    loop = loop_of(gym.make("CartPole-v1"))
    loop.learn(end=50)
    assert not [name for name in loop.buffer.rows(0, 1) if name.startswith("action_masks")]
    assert loop.buffer.get(np.random.RandomState(0)).action_masks == ()


class Lights(gym.Env[Any, Any]):
    """Shows three bits; the reward is the share of switches set to them."""

    observation_space, action_space = Box(0, 1, (3,), np.float32), MultiBinary(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.bits = 0, self.np_random.integers(0, 2, 3)
        return self.bits.astype(np.float32), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        reward, self.t = float((action == self.bits).mean()), self.t + 1
        self.bits = self.np_random.integers(0, 2, 3)
        return self.bits.astype(np.float32), reward, self.t == 10, False, {}


class Joint(Lights):
    """Gives masks of joint actions, which are not what its space asks for."""

    def action_masks(self) -> Any:
        return np.ones(8)


@pytest.mark.parametrize("make", [Lights, lambda: SyncVectorEnv([Lights], autoreset_mode=AutoresetMode.SAME_STEP)])
def test_joint_actions_have_a_policy_head_whatever_the_width(make: Callable[[], Any]) -> None:
    """Features as many as joint actions, 8, are no logits: their tanh could hardly become decisive."""
    assert "pi_head/kernel" in loop_of(make()).model.policy.params
    agent = ACER("mlp", make(), policy_kwargs={"num_hidden": 8, "num_layers": 1})
    assert "pi_head/kernel" in agent.model.policy.params


def test_an_agent_saved_without_that_head_is_loaded_as_it_is(tmp_path: Path) -> None:
    agent = ACER("mlp", Lights(), policy_kwargs={"num_hidden": 8, "num_layers": 1}, _init_setup_model=False)
    agent._state.spaces.network_actions = Discrete(8)
    agent.setup_model()
    agent.save(tmp_path / "old")
    loaded = ACER.load(tmp_path / "old")
    assert "pi_head/kernel" not in loaded.model.policy.params
    obs = np.eye(3, dtype=np.float32)
    np.testing.assert_array_equal(loaded.action_probability(obs), agent.action_probability(obs))


@pytest.mark.parametrize("make", [lambda: gym.make("Taxi-v4"), Joint])
def test_masks_can_be_ignored(make: Callable[[], Any]) -> None:
    loop = loop_of(make(), action_masks=False)
    loop.learn(end=50)
    assert loop.buffer.get(np.random.RandomState(0)).action_masks == ()


def test_replay_with_masks_comes_back_from_its_rows() -> None:
    loop, other = loop_of(Clock()), loop_of(Clock())
    loop.learn(end=60)
    rows = loop.buffer.rows(0, loop.buffer.num_put)
    other.buffer.load_rows(0, loop.buffer.num_put, rows)
    first, second = (b.get(np.random.RandomState(3)) for b in (loop.buffer, other.buffer))
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_resumed_run_obeys_the_masks_of_where_it_was() -> None:
    loop, again = loop_of(Clock(length=7)), loop_of(Clock(length=7))
    loop.restart_environments(5, is_recorded=True)
    loop.learn(end=25)
    again.load_state_dict(loop.state_dict())
    segment = again._source.run()
    t = 25 % 7
    assert t % 3 != 0, "another mask than after a reset"
    np.testing.assert_array_equal(segment.actions[0], [(t + i) % 7 % 3 for i in range(5)])


def test_learn_obeys_the_masks_of_environments() -> None:
    """`Clock` refuses any other action."""
    env = SyncVectorEnv([Clock] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    model = learn("mlp", env, seed=0, total_timesteps=40, nsteps=5, num_hidden=8, logger=Logger())
    assert model.updates > 0


class Limited(Clock):
    """Cut by a time limit in a state where the last action is the only one; Q of the others would spoil V."""

    def step(self, action: Any) -> Any:
        obs, reward, terminated, _, info = super().step(action)
        return obs, reward, False, terminated, info


def test_the_value_at_a_time_limit_is_that_of_the_possible_action() -> None:
    loop = loop_of(Limited(length=4), bootstrap_truncated=True, on_policy_updates=True, replay_ratio=0)
    segment = loop._source.run()
    (t,) = np.flatnonzero(segment.final_values[0])
    assert t == 3
    last, mask = np.full((1, 1), 4, np.float32), np.array([[False, True, False]])  # 4 % 3 = 1
    expected = loop.model.actor.values(last, segment.states, mask)
    np.testing.assert_array_equal(segment.final_values[0, t], expected[0])
    assert expected[0] != loop.model.actor.values(last, segment.states)[0]


def test_the_value_at_a_time_limit_needs_the_mask_of_that_state(capsys: pytest.CaptureFixture[str]) -> None:
    """`action_masks` of gymnasium's own vector environments answers for the next episode already."""
    env = SyncVectorEnv([lambda: Limited(length=4)], autoreset_mode=AutoresetMode.SAME_STEP)
    loop = loop_of(env, bootstrap_truncated=True)
    assert "warning: training will end at the first time limit" in capsys.readouterr().err, "before hours of training"
    with pytest.raises(InputError, match="bootstrap_truncated needs the action mask of the state in which a time"):
        loop._source.run()


class Stuck(Limited):
    """In the state where the time limit cuts it, nothing is possible; with `early`, one step before that."""

    def __init__(self, length: int = 4, early: bool = False) -> None:
        super().__init__(length)
        self.stuck_from = length - early

    def action_masks(self) -> Any:
        return super().action_masks() & (self.t < self.stuck_from)


@pytest.mark.parametrize("bootstrap_truncated", [False, True])
def test_the_value_of_a_state_in_which_nothing_is_possible_is_zero(bootstrap_truncated: bool) -> None:
    loop = loop_of(Stuck(), bootstrap_truncated=bootstrap_truncated)
    segment = loop._source.run()
    assert segment.masks[0].tolist() == [False] * 4 + [True, False]
    np.testing.assert_array_equal(segment.final_values, np.zeros((1, 5), np.float32))


def test_nothing_possible_before_the_end_is_told() -> None:
    with pytest.raises(InputError, match=r"no action possible; if none is, the episode must end, .* time limit"):
        loop_of(Stuck(early=True))._source.run()


class Forgetful(gym.Wrapper[Any, Any, Any, Any]):
    """Gives masks at resets or at steps alone."""

    def __init__(self, at: str) -> None:
        super().__init__(gym.make("Taxi-v4"))
        self._at = at

    def reset(self, **kwargs: Any) -> Any:
        obs, info = self.env.reset(**kwargs)
        return obs, info if self._at == "reset" else {}

    def step(self, action: Any) -> Any:
        *results, info = self.env.step(action)
        return *results, info if self._at == "step" else {}


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("reset", "give no masks of possible actions here, but gave some at their first reset"),
        ("step", "give masks of possible actions here, but gave none at their first reset; put action_mask into"),
    ],
)
def test_masks_at_resets_or_steps_alone_are_told(at: str, message: str) -> None:
    """In training and in evaluation; whoever ignores masks does not care."""
    kwargs: dict[str, Any] = {"policy_kwargs": {"num_hidden": 8, "num_layers": 1}, "n_steps": 5}
    agent = ACER("mlp", Forgetful(at), **kwargs)
    with pytest.raises(InputError, match=message):
        agent.learn(5)
    with pytest.raises(InputError, match=message):
        evaluate_policy(agent, Forgetful(at), 1)
    ignorant = ACER("mlp", Forgetful(at), action_masks=False, seed=0, **kwargs).learn(5)
    limited = gym.wrappers.TimeLimit(Forgetful(at), 5)
    assert evaluate_policy(ignorant, limited, 2, return_episode_rewards=True, seed=0)[1] == [5, 5]


def test_switches_are_learned_saved_and_evaluated_in_the_environments_own_form(tmp_path: Path) -> None:
    quick = {"gamma": 0.0, "learning_rate": 5e-3, "lr_schedule": "constant", "replay_start": 100}
    model = ACER("mlp", Lights(), policy_kwargs={"num_hidden": 32, "num_layers": 1}, seed=0, **quick)
    assert model.action_space == MultiBinary(3)
    model.learn(8000)
    mean, _ = evaluate_policy(model, Lights(), 20, seed=1)
    assert mean > 9, "at random 5, at best 10"
    model.save(tmp_path / "lights")
    loaded = ACER.load(tmp_path / "lights", Lights())
    obs = np.array([[0, 1, 1], [1, 0, 1]], np.float32)
    actions, _ = loaded.predict(obs, deterministic=True)
    np.testing.assert_array_equal(actions, obs)
    assert actions.dtype == np.int8
    assert evaluate_policy(loaded, Lights(), 20, seed=1)[0] == mean
    probabilities = loaded.action_probability(obs, actions=actions)
    assert probabilities.shape == (2, 1) and (probabilities > 0.5).all()


def test_the_class_obeys_masks_in_training_evaluation_and_prediction(tmp_path: Path) -> None:
    model = ACER("mlp", TwoWheels(length=20), policy_kwargs={"num_hidden": 8, "num_layers": 1}, seed=0)
    model.learn(100)
    assert evaluate_policy(model, TwoWheels(length=20), 3, deterministic=False) == (20, 0)
    obs, mask = np.ones(1, np.float32), np.array([0, 0, 1, 1, 0])
    for deterministic in (True, False):
        np.testing.assert_array_equal(model.predict(obs, deterministic=deterministic, action_masks=mask)[0], [2, 0])
    np.testing.assert_array_equal(model.action_probability(obs, action_masks=mask), [0, 0, 0, 0, 1, 0])
    np.testing.assert_array_equal(model.predict(obs, action_masks=(mask[:3], mask[3:]))[0], [2, 0])
    with pytest.raises(InputError, match=r"shape \(1, 4\); expected \(1, 5\)"):
        model.predict(obs, action_masks=np.ones(4))


def test_too_many_joint_actions_are_told() -> None:
    class Wide(Lights):
        action_space = MultiBinary(13)

    with pytest.raises(InputError, match=r"has 8,192 joint actions; expected at most 4,096"):
        ACER("mlp", Wide())
