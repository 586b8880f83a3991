from pathlib import Path
from typing import Any

import gymnasium
import keras
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.agent import ACER
from acer_tf.callbacks import BaseCallback, EvalCallback, StopTrainingOnRewardThreshold
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.evaluation import evaluate_policy
from tests.counter import Counter
from tests.small_agents import assert_same, episode_lengths, tiny


def test_learning_in_parts_is_learning_at_once() -> None:
    settings = {
        "lr_schedule": "constant",
        "replay_ratio": 1,
        "policy": "MlpLstmPolicy",
        "policy_kwargs": {"n_lstm": 3, "layers": [4]},
    }
    whole, parts = tiny(**settings).learn(120), tiny(**settings)
    parts.learn(40)
    parts.learn(30, reset_num_timesteps=False)
    assert parts.num_timesteps == 70
    parts.learn(50)  # counts anew, but environments, replay and random streams go on
    assert parts.num_timesteps == 50
    assert_same(whole, parts)


def test_steps_are_counted_from_the_number_that_is_assigned() -> None:
    agent = tiny().learn(20)
    agent.num_timesteps = 0
    assert agent.learn(10, reset_num_timesteps=False).num_timesteps == 10


@pytest.mark.parametrize("how", ["the agent's vector environment", "the environment itself", "another wrapper"])
def test_episodes_begin_anew_after_others_played_in_the_environment(how: str) -> None:
    single = Counter(6)
    agent = tiny(env=single)
    agent.learn(5)  # two steps before the end
    theirs = {
        "the agent's vector environment": agent.get_env(),
        "the environment itself": single,
        "another wrapper": gymnasium.wrappers.TimeLimit(single, 100),
    }[how]
    evaluate_policy(agent, theirs, 1)
    assert episode_lengths(agent, 15) == [7, 7]


def test_episodes_begin_anew_after_another_agent_played_in_the_environment() -> None:
    env = SyncVectorEnv([lambda: Counter(6)], autoreset_mode=AutoresetMode.SAME_STEP)
    first, second = tiny(env=env).learn(5), tiny(env=env)
    second.learn(10)
    assert episode_lengths(first, 15) == [7, 7]
    evaluate_policy(second, env, 1)
    assert episode_lengths(second, 10) == [7, 7]


class Flawed(Counter):
    """Fails once, in its third step."""

    def __init__(self, failure: BaseException | float) -> None:
        super().__init__(6)
        self.failure: BaseException | float | None = failure

    def step(self, action: int) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        if self.t == 3 and self.failure is not None:
            failure, self.failure = self.failure, None
            if isinstance(failure, BaseException):
                raise failure
            return np.full(1, failure, np.float32), reward, terminated, truncated, info
        return obs, reward, terminated, truncated, info


@pytest.mark.parametrize(
    ("failure", "error", "message"),
    [
        (float("nan"), InputError, "gave an observation that is not a finite number"),
        (OSError("no"), EnvironmentFailedError, "OSError: no"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_after_an_error_episodes_begin_anew(failure: Any, error: type[BaseException], message: str | None) -> None:
    agent = tiny(env=Flawed(failure))
    with pytest.raises(error, match=message):
        agent.learn(20)
    assert episode_lengths(agent, 15) == [7, 7]


def test_a_learn_that_is_refused_changes_nothing() -> None:
    agent, twin = tiny().learn(20), tiny().learn(20)
    for callback, message in (
        (StopTrainingOnRewardThreshold(5), "does not work alone; pass it to EvalCallback"),
        (EvalCallback(agent.get_env()), "the environment is being used for training"),
        (lambda one: True, "callback"),
    ):
        with pytest.raises(InputError, match=message):
            agent.learn(20, callback)
        assert agent.num_timesteps == 20
    assert_same(agent.learn(10, reset_num_timesteps=False), twin.learn(10, reset_num_timesteps=False))
    assert agent.num_timesteps == 30


def test_callbacks_cannot_follow_overlap() -> None:
    agent, twin = (tiny(overlap=True, replay_ratio=1).learn(20) for _ in range(2))
    with pytest.raises(InputError, match="overlap collects steps while updates run, where callbacks cannot follow"):
        agent.learn(20, Recorder())
    assert_same(agent.learn(20), twin.learn(20))


@pytest.mark.parametrize("optimizer", ["rmsprop", keras.optimizers.Adam()])
def test_a_model_that_is_set_up_anew_is_the_one_that_learns(optimizer: Any) -> None:
    agent = tiny(optimizer=optimizer).learn(20)
    agent.setup_model()
    before = agent.get_parameters()
    agent.learn(20)
    assert any((array != before[name]).any() for name, array in agent.get_parameters().items())


def test_whole_numbers_may_be_written_as_floats() -> None:
    agent = tiny().learn(2e1, log_interval=1.0)  # type: ignore[arg-type]
    assert agent.num_timesteps == 20
    with pytest.raises(InputError, match=r"total_timesteps is 20\.5; expected a whole number"):
        agent.learn(20.5)  # type: ignore[arg-type]


def test_evaluation_elsewhere_leaves_episodes_alone() -> None:
    alone, watched = tiny(), tiny()
    alone.learn(20).learn(20)
    watched.learn(20)
    evaluate_policy(watched, gymnasium.make("CartPole-v1"), 1)
    assert_same(alone, watched.learn(20))


def test_training_and_evaluation_cannot_go_on_in_one_environment() -> None:
    agent = tiny()
    message = "the environment is being used for training; evaluate in a separate one"
    with pytest.raises(InputError, match=message):
        agent.learn(10, EvalCallback(agent.get_env(), eval_freq=1000))
    with pytest.raises(InputError, match=message):
        agent.learn(10, lambda here, _: evaluate_policy(here["self"], here["self"].env, 1))
    assert np.isfinite(evaluate_policy(agent, agent.env, 1)[0])


def test_the_schedule_goes_on_or_begins_anew() -> None:
    seen: list[float] = []
    agent = tiny(lr_schedule=lambda fraction: seen.append(fraction) or 1.0)
    assert seen.pop() == 0  # whether it is one is found out at once
    agent.learn(40)
    assert seen == [0, 0.25, 0.5, 0.75]
    agent.learn(40, reset_num_timesteps=False)
    assert seen[4:] == [0.5, 0.625, 0.75, 0.875]
    agent.learn(20)
    assert seen[8:] == [0, 0.5]


class Recorder(BaseCallback):
    """Writes down what is called, and stops at a number of steps."""

    def __init__(self, stop_at: int = 10**9) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.steps: list[int] = []
        self.stop_at = stop_at

    def _on_training_start(self) -> None:
        self.calls.append("training start")

    def _on_rollout_start(self) -> None:
        self.calls.append("rollout start")

    def _on_step(self) -> bool:
        self.steps.append(self.num_timesteps)
        assert self.num_timesteps == self.model.num_timesteps
        assert self.locals["rewards"].shape == self.locals["dones"].shape == (2,)
        return self.num_timesteps < self.stop_at

    def _on_rollout_end(self) -> None:
        self.calls.append("rollout end")

    def _on_training_end(self) -> None:
        self.calls.append("training end")


def test_callbacks_are_told_of_everything_and_change_nothing() -> None:
    recorder, plain = Recorder(), tiny().learn(40, log_interval=1)
    told = tiny().learn(40, log_interval=1, callback=recorder)
    assert recorder.calls == ["training start", *["rollout start", "rollout end"] * 4, "training end"]
    assert recorder.steps == list(range(2, 42, 2))
    assert_same(plain, told)


def test_a_callback_ends_training_within_a_segment() -> None:
    recorder, agent = Recorder(stop_at=26), tiny()
    agent.learn(1000, log_interval=1, callback=recorder)
    assert recorder.steps[-1] == 26 and recorder.calls[-2:] == ["rollout start", "training end"]
    assert agent.num_timesteps == 26, "steps of the unfinished segment count"
    assert agent.model.updates == 2, "but nothing is learned from them"
    agent.learn(20, log_interval=1, reset_num_timesteps=False)
    assert agent.num_timesteps == 46
    stats = recorder.locals["episode_stats"].state_dict()
    assert stats["lengths"].sum() + stats["last_lengths"].sum() == 46, "and so do its rewards"


def test_functions_and_lists_are_callbacks() -> None:
    seen: list[int] = []
    recorder = Recorder()
    agent = tiny()
    agent.learn(10, callback=[recorder, lambda variables, _: seen.append(variables["self"].num_timesteps)])
    assert seen == recorder.steps
    with pytest.raises(InputError, match="the callback is an int; expected a BaseCallback"):
        agent.learn(40, callback=3)


def test_episodes_statistics_and_progress_go_where_they_should(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = tiny(verbose=1, tensorboard_log=tmp_path / "tb")
    agent.learn(40, log_interval=2, tb_log_name="run", progress_bar=True)
    captured = capsys.readouterr()
    assert captured.out.count("entropy") == 1 and captured.out.count("\n") == 3
    assert "100.0%" not in captured.out
    assert "40 steps" in captured.err
    agent.learn(10, tb_log_name="run")
    agent.learn(10, tb_log_name="run", reset_num_timesteps=False)
    assert sorted(path.name for path in (tmp_path / "tb").iterdir()) == ["run_1", "run_2"]
    assert all(any(path.iterdir()) for path in (tmp_path / "tb").iterdir())
    agent.verbose = 2
    capsys.readouterr()
    agent.learn(10, tb_log_name="run")
    out = capsys.readouterr().out
    assert out.count("| total_timesteps") == 1 and "| mean_episode_length" in out
    agent.verbose = 0
    agent.learn(10, tb_log_name="run")
    assert capsys.readouterr().out == ""


def test_learn_needs_whole_numbers_and_an_environment(agent: ACER, tmp_path: Path) -> None:
    for argument in ("total_timesteps", "log_interval"):
        with pytest.raises(InputError, match=f"{argument} is 0; expected a whole number >= 1"):
            agent.learn(**{"total_timesteps": 10, argument: 0})
    agent.save(tmp_path / "agent")
    with pytest.raises(InputError, match="there is no environment to learn in; give one with set_env"):
        ACER.load(tmp_path / "agent").learn(10)
