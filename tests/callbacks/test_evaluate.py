from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from acer_tf.callbacks import BaseCallback, CallbackList, EvalCallback, EveryNTimesteps, StopTrainingOnRewardThreshold
from acer_tf.errors import InputError
from tests.callbacks.scripted_agent import ScriptedAgent
from tests.counter import Counter, counters

SKILL = {4: 0, 8: 1, 12: 0, 16: 1, 20: 1}
"""Evaluated every 2 calls of 2 environments; Counter(2) pays 20, and 3 more for a skill of 1."""


def evaluated(tmp_path: Path, agent: ScriptedAgent | None = None, **kwargs: Any) -> EvalCallback:
    callback = EvalCallback(
        Counter(2), n_eval_episodes=2, eval_freq=2, log_path=tmp_path, best_model_save_path=tmp_path / "best", **kwargs
    )
    (agent or ScriptedAgent(skill=SKILL)).learn(2, callback)
    return callback


def test_evaluations_are_kept_as_arrays(tmp_path: Path) -> None:
    callback = evaluated(tmp_path)
    with np.load(tmp_path / "evaluations.npz") as file:
        assert file["timesteps"].tolist() == [4, 8, 12, 16, 20]
        assert file["results"].tolist() == [[20, 20], [23, 23], [20, 20], [23, 23], [23, 23]]
        assert file["ep_lengths"].tolist() == [[3, 3]] * 5
    assert (callback.best_mean_reward, callback.last_mean_reward) == (23, 23)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "evaluations.npz"]


def test_the_best_is_the_first_with_the_highest_mean(tmp_path: Path) -> None:
    evaluated(tmp_path)
    assert (tmp_path / "best" / "best_model.zip").read_text() == "8"


def test_a_mean_that_is_no_number_is_no_best(tmp_path: Path) -> None:
    evaluated(tmp_path, ScriptedAgent(skill={4: 0, 8: np.nan, 12: 1, 16: 0, 20: 0}))
    assert (tmp_path / "best" / "best_model.zip").read_text() == "12"


def test_something_else_is_called_at_every_new_best(tmp_path: Path) -> None:
    seen: list[int] = []
    evaluated(tmp_path, callback_on_new_best=lambda here, _: seen.append(here["self"].num_timesteps))
    assert seen == [4, 8]


def test_prints_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluated(tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "evaluation at step 4: return 20.00 ± 0.00, length 3.0",
        "the best mean return so far",
        "evaluation at step 8: return 23.00 ± 0.00, length 3.0",
        "the best mean return so far",
    ]
    evaluated(tmp_path / "silent", verbose=0)
    assert capsys.readouterr().out == ""


def test_training_ends_at_a_threshold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = ScriptedAgent(skill=SKILL)
    evaluated(tmp_path, agent, callback_on_new_best=StopTrainingOnRewardThreshold(22.5, verbose=1))
    assert agent.num_timesteps == 8
    assert "the mean return 23.00 has reached 22.50" in capsys.readouterr().out
    agent = ScriptedAgent(skill=SKILL)
    evaluated(tmp_path, agent, callback_on_new_best=CallbackList([StopTrainingOnRewardThreshold(23)]))
    assert agent.num_timesteps == 8
    agent = ScriptedAgent(skill=SKILL)
    evaluated(tmp_path, agent, callback_on_new_best=StopTrainingOnRewardThreshold(23.5))
    assert agent.num_timesteps == 20


def test_a_threshold_alone_is_an_error() -> None:
    with pytest.raises(InputError, match="reward_threshold is '490'; expected a number"):
        StopTrainingOnRewardThreshold("490")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="StopTrainingOnRewardThreshold does not work alone; pass it to EvalCallback"):
        ScriptedAgent().learn(1, StopTrainingOnRewardThreshold(1))
    with pytest.raises(InputError, match="StopTrainingOnRewardThreshold does not work alone; pass it to EvalCallback"):
        ScriptedAgent().learn(1, EveryNTimesteps(1, StopTrainingOnRewardThreshold(1)))


def test_a_training_that_goes_on_keeps_rows_and_the_best(tmp_path: Path) -> None:
    agent = ScriptedAgent(skill=SKILL | {24: 0, 28: 1})
    evaluated(tmp_path, agent)
    agent.num_timesteps = 16  # say the last rows came after the checkpoint
    evaluated(tmp_path, agent)
    with np.load(tmp_path / "evaluations.npz") as file:
        assert file["timesteps"].tolist() == [4, 8, 12, 16, 20, 24, 28, 32, 36]
    assert (tmp_path / "best" / "best_model.zip").read_text() == "8"


def test_rows_and_the_best_of_an_agent_that_begins_to_count_anew_stay(tmp_path: Path) -> None:
    agent = ScriptedAgent(skill={4: 9, 8: 3, 12: 3, 16: 3, 20: 3})
    callback = evaluated(tmp_path, agent)
    best = callback.best_mean_reward
    agent.num_timesteps, agent.skill = 0, {}
    agent.learn(4, callback)
    assert callback.best_mean_reward == best
    assert (tmp_path / "best" / "best_model.zip").read_text() == "4"
    with np.load(tmp_path / "evaluations.npz") as file:
        assert file["timesteps"].tolist() == 2 * [4, 8, 12, 16, 20] + [24, 28, 32, 36, 40]
        assert file["results"][0].tolist() == [best, best]


def test_a_new_training_begins_a_new_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluated(tmp_path)
    callback = evaluated(tmp_path, ScriptedAgent())
    assert "5 evaluations after step 0 are dropped" in capsys.readouterr().out
    assert callback.best_mean_reward == 20
    assert (tmp_path / "best" / "best_model.zip").read_text() == "4"
    ScriptedAgent().learn(1, callback)
    assert callback.evaluations_timesteps == [2 + 2, 8] == np.load(tmp_path / "evaluations.npz")["timesteps"].tolist()


def test_environments_are_seeded_from_the_agents_seed(tmp_path: Path) -> None:
    def seeds(seed: int | None) -> list[int | None]:
        env = Counter(2)
        ScriptedAgent(seed=seed).learn(1, EvalCallback(env, n_eval_episodes=1, eval_freq=2, verbose=0))
        return env.seeds

    first = seeds(0)
    assert first == seeds(0) != seeds(1)
    assert len(set(first) - {None}) == 2  # another one for every evaluation
    assert set(seeds(None)) == {None}


def test_renders_if_asked() -> None:
    env = Counter(2)
    ScriptedAgent().learn(1, EvalCallback(env, n_eval_episodes=2, eval_freq=5, verbose=0))
    assert env.renders == 0
    ScriptedAgent().learn(1, EvalCallback(env, n_eval_episodes=2, eval_freq=5, verbose=0, render=True))
    assert env.renders == 6


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    np.savez(tmp_path / "evaluations.npz", other=np.zeros(3))
    with pytest.raises(InputError, match="holds no evaluations; choose another log_path"):
        evaluated(tmp_path)
    np.savez(tmp_path / "evaluations.npz", timesteps=[4], results=[[1.0] * 5], ep_lengths=[[1] * 5])
    with pytest.raises(InputError, match="has rows of 5 episodes, but n_eval_episodes is 2; choose another log_path"):
        evaluated(tmp_path)
    for timesteps, results, lengths in ((4, [[1.0] * 2], [[1] * 2]), ([4], 1.0, [[1] * 2]), ([4], [[1.0] * 2], [1])):
        np.savez(tmp_path / "evaluations.npz", timesteps=timesteps, results=results, ep_lengths=lengths)
        with pytest.raises(InputError, match="holds no evaluations; choose another log_path"):
            evaluated(tmp_path)


def test_an_environment_of_other_spaces_is_refused_before_training() -> None:
    agent = ScriptedAgent()
    with pytest.raises(InputError, match=r"^eval_env's observation space is a Box of shape .* the agent's is Box"):
        agent.learn(1, EvalCallback(gymnasium.make("CartPole-v1")))
    assert agent.num_timesteps == 0


def test_bad_input() -> None:
    for eval_freq in (0, -1):
        with pytest.raises(InputError, match=f"eval_freq is {eval_freq}; expected a whole number >= 1"):
            EvalCallback(counters(1), eval_freq=eval_freq)
    with pytest.raises(InputError, match=r"give environments: acer_tf\.envs\.make\.make_vec_env\('CartPole-v1'\)"):
        EvalCallback("CartPole-v1")
    with pytest.raises(InputError, match="the callback is an int"):
        EvalCallback(counters(1), 3)
    assert isinstance(EvalCallback(counters(1), BaseCallback()).callback, BaseCallback)
