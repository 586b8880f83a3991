"""What was found wrong in Stable Baselines 2's ACER is not wrong here."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

from acer_tf.agent import ACER
from acer_tf.agent.settings import ARGUMENTS
from acer_tf.callbacks import BaseCallback
from acer_tf.config import COLLECTING
from tests.scripted import ScriptedEnv
from tests.small_agents import assert_same, everything, observations, tiny, vec_env


def moved(agent: ACER, before: dict[str, Any]) -> bool:
    after = everything(agent)
    return all(np.isfinite(array).all() for array in after.values()) and any(
        (array != before[name]).any() for name, array in after.items() if name.startswith("param/")
    )


@pytest.mark.parametrize("kwargs", [{"trust_region": False}, {"max_grad_norm": None}])
def test_it_trains_without_trust_region_and_without_clipping(kwargs: dict[str, Any]) -> None:
    agent = tiny(**kwargs)
    before = everything(agent)
    assert moved(agent.learn(40, log_interval=1), before)


@pytest.mark.parametrize("trust_region", [False, True])
def test_entropy_acts(trust_region: bool) -> None:
    """The bonus alone (no rewards) makes a policy that is far from uniform more uniform; without it, it stays."""

    def entropy_after(ent_coef: float) -> float:
        env = ScriptedEnv(np.random.default_rng(0).normal(size=(2000, 2, 4)).astype(np.float32), nact=2)
        agent = tiny(env=env, ent_coef=ent_coef, optimizer="adam", learning_rate=0.02, trust_region=trust_region)
        head = agent.model.policy.params["pi_head/kernel"]
        head.assign(200 * head.value)
        agent.learn(100, log_interval=1)
        p = agent.action_probability(observations(agent, 200))
        return float(-(p * np.log(p + 1e-9)).sum(axis=1).mean())

    without, with_bonus = entropy_after(0.0), entropy_after(5.0)
    assert with_bonus > without + 0.04


def test_the_learning_rate_is_never_negative() -> None:
    agent = tiny(lr_schedule="linear")
    rates: list[float] = []
    agent.model.train = lambda segment, lr: rates.append(lr)  # type: ignore[method-assign]
    for _ in range(3):
        agent.learn(30, log_interval=1, reset_num_timesteps=False)
    assert len(rates) == 9 and min(rates) > 0
    np.testing.assert_allclose(rates[-3:], [7e-4 * (1 - steps / 90) for steps in (60, 70, 80)])


def test_load_and_load_parameters_keep_the_average_policy(tmp_path: Path) -> None:
    agent = tiny(learning_rate=0.05).learn(60, log_interval=1)
    differences = [np.abs(a - p).max() for a, p in zip(agent.model.averages, agent.model.params, strict=True)]
    assert max(differences) > 1e-3, "the average is not the policy itself"
    agent.save(tmp_path / "agent")
    assert_same(agent, ACER.load(tmp_path / "agent"))

    from_file, from_arrays = tiny(seed=7), tiny(seed=8)
    from_file.load_parameters(tmp_path / "agent")
    from_arrays.load_parameters(agent.get_parameters())
    for ours, theirs in zip(from_file.model.averages, agent.model.averages, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(from_arrays.model.averages, agent.model.params, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_load_keeps_every_argument(tmp_path: Path) -> None:
    given = {
        "gamma": 0.9, "n_steps": 7, "q_coef": 0.4, "ent_coef": 0.02, "max_grad_norm": 3, "learning_rate": 1e-3,
        "lr_schedule": "constant", "rprop_alpha": 0.9, "rprop_epsilon": 1e-3, "buffer_size": 70, "replay_ratio": 2.5,
        "replay_start": 21, "correction_term": 5.0, "trust_region": False, "alpha": 0.95, "delta": 0.5, "verbose": 1,
        "tensorboard_log": "tb", "policy_kwargs": {"num_layers": 1, "num_hidden": 3}, "seed": 4, "n_cpu_tf_sess": None,
        "full_tensorboard_log": True, "optimizer": "adam", "normalize_observations": True, "normalize_rewards": True,
        "reward_scale": 0.5,
        "compress_replay": False, "replay_state": "zero", "burn_in": 2, "correction": False, "q_lambda": 0.5,
        "on_policy_updates": False, "bootstrap_truncated": False, "overlap": True, "action_masks": False,
        "precision": "bfloat16",
        "sigma": 0.4, "learn_sigma": True, "num_samples": 3, "dueling": False, "use_q_opc": False,
    }  # fmt: skip
    given |= {"replay_state": "stored", "policy": "lstm", "policy_kwargs": {"nlstm": 3}}
    agent = ACER(env=vec_env("Pendulum-v1"), **given)
    assert given.keys() == {*ARGUMENTS} - {*vars(COLLECTING)}, "all arguments are in this test that a file holds"
    agent.save(tmp_path / "agent")
    loaded = ACER.load(tmp_path / "agent")
    given["tensorboard_log"] = None  # a file chooses no place to write to
    assert {name: getattr(loaded, name) for name in given} == given
    assert loaded.model.config == agent.model.config
    assert (loaded.observation_space, loaded.action_space) == (agent.observation_space, agent.action_space)


def test_the_first_observation_is_the_environments() -> None:
    frames = np.random.default_rng(0).integers(1, 256, (50, 2, 36, 36, 1)).astype(np.uint8)
    env, seen = ScriptedEnv(frames), []
    agent = tiny("cnn_small", env)
    actor = agent.model.actor
    act = actor.act
    actor.act = lambda obs, state, mask: (seen.append(obs.copy()), act(obs, state, mask))[1]  # type: ignore[method-assign]
    agent.learn(10, callback=lambda variables, _: False)
    np.testing.assert_array_equal(seen[0], frames[env.resets[-1][1]])


def test_a_recurrent_policy_predicts_one_observation() -> None:
    agent = tiny("MlpLstmPolicy", vec_env(n=4), policy_kwargs={"n_lstm": 3, "layers": [4]})
    obs = observations(agent, 4)
    batch = agent.action_probability(obs)
    single = agent.action_probability(obs[1])
    np.testing.assert_allclose(single, batch[1], rtol=1e-5)
    action, state = agent.predict(obs[1])
    assert action.shape == () and state.shape == (1, 6)
    following, _ = agent.predict(obs[2], state, mask=np.array([False]))
    assert following.shape == ()


class Rewards(BaseCallback):
    """Adds up what each episode pays."""

    def __init__(self) -> None:
        super().__init__()
        self.running = np.zeros(2)
        self.returns: list[float] = []

    def _on_step(self) -> None:
        self.running += self.locals["rewards"]
        for env in np.flatnonzero(self.locals["dones"]):
            self.returns.append(float(self.running[env]))
            self.running[env] = 0


def test_the_last_reward_of_an_episode_counts_for_it() -> None:
    rewards = np.tile(np.array([1.0, 2.0, 4.0, 8.0]), 100)[:, None].repeat(2, 1)
    ends = np.tile(np.array([False, False, False, True]), 100)[:, None].repeat(2, 1)
    env = ScriptedEnv(np.zeros((400, 2, 4), np.float32), rewards, ends)
    agent, recorded = tiny(env=env), Rewards()
    agent.model.train_and_report = lambda segment, lr: {}  # type: ignore[method-assign]
    agent.learn(200, log_interval=1, callback=recorded)
    assert set(recorded.returns[2:]) == {15.0}
    assert set(recorded.locals["episode_stats"].state_dict()["last_returns"][2:]) == {15.0}


def test_policies_have_names_that_all_work() -> None:
    images, small = ScriptedEnv(np.zeros((50, 1, 36, 36, 1), np.uint8)), {"n_lstm": 4}
    for policy in ("MlpPolicy", "MlpLstmPolicy", "MlpLnLstmPolicy"):
        agent = tiny(policy, policy_kwargs=small if "Lstm" in policy else None)
        assert agent.predict(np.zeros(4, np.float32))[0] in (0, 1)
    for policy in ("CnnPolicy", "CnnLstmPolicy", "CnnLnLstmPolicy"):
        agent = tiny(policy, images, policy_kwargs=small if "Lstm" in policy else None)
        assert agent.predict(np.zeros((36, 36, 1), np.uint8))[0] in (0, 1)


def test_actions_of_a_box_are_in_its_bounds() -> None:
    agent = tiny(env=vec_env("Pendulum-v1"), sigma=3.0)
    actions, _ = agent.predict(observations(agent, 200))
    space = agent.action_space
    assert isinstance(space, Box)
    assert actions.dtype == np.float32 and actions.shape == (200, 1)
    assert actions.min() == -2 and actions.max() == 2 and all(map(space.contains, actions))
