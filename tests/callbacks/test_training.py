"""Callbacks in a real training."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from acer_tf import ACER
from acer_tf.callbacks import BaseCallback, CheckpointCallback, EvalCallback, ProgressBarCallback
from acer_tf.evaluation import evaluate_policy
from tests.callbacks.test_base import Diary


def make_agent(**kwargs: Any) -> ACER:
    env = gym.make_vec(
        "CartPole-v1",
        num_envs=2,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP},
    )
    return ACER("MlpPolicy", env, n_steps=4, replay_start=8, seed=0, policy_kwargs={"net_arch": [8]}, **kwargs)


@pytest.fixture(scope="module")
def agent() -> ACER:
    return make_agent()


def parameters(agent: ACER) -> dict[str, Any]:
    return {name: np.copy(array) for name, array in agent.get_parameters().items()}


def assert_equal(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], err_msg=name)


def test_single_environments_are_reached_as_in_stable_baselines(agent: ACER) -> None:
    """A curriculum, for instance."""
    seen: list[Any] = []

    class Curriculum(BaseCallback):
        def _on_training_start(self) -> None:
            self.training_env.set_attr("gravity", 3.0, indices=0)

        def _on_step(self) -> None:
            seen.append(self.training_env.get_attr("gravity"))
            seen.append(self.training_env.env_method("get_wrapper_attr", "force_mag"))

    agent.learn(8, Curriculum())
    assert seen == [[3.0, 9.8], [10.0, 10.0]] * 4


def test_hooks_come_in_order_and_know_the_steps(agent: ACER) -> None:
    diary: list[str] = []
    steps: list[int] = []

    class Steps(Diary):
        def _on_step(self) -> None:
            steps.append(self.num_timesteps)
            self.note(str(self.locals["rewards"].shape))

    callback = Steps(diary)
    agent.learn(16, callback)
    assert " ".join(diary) == "init start " + 2 * "( (2,) (2,) (2,) (2,) ) " + "end"
    assert steps == [2, 4, 6, 8, 10, 12, 14, 16]
    assert (callback.n_calls, callback.model, callback.training_env.env) == (8, agent, agent.env)
    assert callback.locals["self"] is agent and callback.locals["total_timesteps"] == 16


def test_the_best_model_is_the_agent_of_that_moment(tmp_path: Path) -> None:
    agent, best = make_agent(), dict[str, Any]()

    class Keep(BaseCallback):
        def _on_step(self) -> None:
            best.clear()
            best.update(parameters(agent))

    callback = EvalCallback(
        gym.make("CartPole-v1"),
        Keep(),
        n_eval_episodes=2,
        eval_freq=4,
        best_model_save_path=tmp_path,
        deterministic=False,
        verbose=0,
    )
    agent.learn(80, [callback, CheckpointCallback(40, tmp_path)])
    assert len(callback.evaluations_timesteps) == 10
    assert callback.best_mean_reward == max(np.mean(returns) for returns in callback.evaluations_results)
    assert_equal(best, parameters(ACER.load(tmp_path / "best_model")))
    assert any((best[name] != array).any() for name, array in parameters(agent).items())
    # The update that follows the last step of all comes after the checkpoint.
    assert ACER.load(tmp_path / "rl_model_80_steps.zip").num_timesteps == 80


def test_the_best_model_of_lost_steps_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_agent().learn(16).save(tmp_path / "best_model")
    env = gym.make("CartPole-v1")
    kwargs = {"eval_freq": 1, "n_eval_episodes": 1, "log_path": tmp_path, "verbose": 0}
    make_agent().learn(8, EvalCallback(env, best_model_save_path=tmp_path, **kwargs))
    assert "best_model.zip is from step 16, which this run has not reached yet; it is now " in capsys.readouterr().err
    assert ACER.load(tmp_path / "best_model-000000000016").num_timesteps == 16
    assert ACER.load(tmp_path / "best_model").num_timesteps <= 8


def test_evaluation_does_not_disturb_training() -> None:
    alone, watched = make_agent(), make_agent()
    alone.learn(40)
    watched.learn(40, EvalCallback(gym.make("CartPole-v1"), n_eval_episodes=1, eval_freq=6, deterministic=False))
    assert_equal(parameters(alone), parameters(watched))


def test_progress_is_shown(agent: ACER, capsys: pytest.CaptureFixture[str]) -> None:
    agent.learn(16, ProgressBarCallback())
    assert "50.0%  8/16 steps" in capsys.readouterr().err


def test_normalisation_stays_as_it_is_in_evaluation() -> None:
    agent = make_agent(normalize_observations=True)
    agent.learn(16)
    normalized = agent.get_vec_normalize_env()
    assert normalized is not None
    returns, _ = evaluate_policy(agent, gym.make("CartPole-v1"), 2, seed=1, return_episode_rewards=True)
    before = agent.action_probability(np.ones(4, np.float32))
    # The environment's wrapper is left out: the same episodes, and the same statistics.
    assert evaluate_policy(agent, gym.make("CartPole-v1"), 2, seed=1, return_episode_rewards=True)[0] == returns
    evaluate_policy(agent, normalized, 2)
    np.testing.assert_array_equal(agent.action_probability(np.ones(4, np.float32)), before)
