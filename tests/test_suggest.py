import sys
from pathlib import Path

import pytest

from acer_tf import suggest
from acer_tf.configs.tasks import tasks
from acer_tf.suggest import main

MODULE = """
import gymnasium, numpy

class {name}(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, ({shape},), numpy.float32)
    action_space = gymnasium.spaces.{actions}
    steps = 0

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self.observation_space.sample(), {{}}

    def step(self, action):
        self.steps += 1
        return self.observation_space.sample(), {reward}, self.steps == {length}, False, {{}}

gymnasium.register("{name}-v0", {name})
"""


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggest, "SECONDS", 0.2)
    monkeypatch.setattr(sys, "argv", ["acer", "suggest"])


def own_env(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, actions: str, length: object, reward: str = "1.0"
) -> str:
    text = MODULE.format(name=name, shape=3, actions=actions, length=length, reward=reward)
    (folder / f"{name.lower()}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    return f"{name.lower()}:{name}-v0"


def test_a_task_with_results_gets_its_preset_and_what_it_reached(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["LunarLander-v3"]) == 0
    out = capsys.readouterr().out
    (task,) = [task for task in tasks() if task.env == "LunarLander-v3"]
    assert out.startswith("LunarLander-v3: vectors, discrete actions, ")
    assert "\n    acer run --preset LunarLander-v3 --env LunarLander-v3\n" in out
    assert f"it reached {task.after[0]:.4g} after 1 minute, " in out
    assert f"{task.score:.4g} at the end, after {task.minutes:.3g} minutes on two cores" in out


def test_what_takes_less_than_a_minute_is_told_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["InvertedPendulum-v5"]) == 0
    (task,) = [task for task in tasks() if task.env == "InvertedPendulum-v5"]
    assert f"it reached {task.score:.4g} at the end, after {60 * task.minutes:.0f} seconds" in capsys.readouterr().out


def test_an_environment_of_ones_own_gets_the_preset_of_a_task_that_is_like_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    env = own_env(tmp_path, monkeypatch, "Suggested", "Discrete(2)", 22)
    assert main([env]) == 0
    out = capsys.readouterr().out
    assert "an episode of random play lasts 22 steps and returns 22." in out
    assert "The nearest task with results is CartPole-v1" in out
    assert f"\n    acer run --preset CartPole-v1 --env {env}\n" in out


def test_continuous_actions_get_a_preset_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    env = own_env(tmp_path, monkeypatch, "Endless", "Box(-1, 1, (2,), numpy.float32)", 10**9)
    monkeypatch.setattr(suggest, "LONGEST", 0.2)
    assert main([env]) == 0
    out = capsys.readouterr().out
    assert "an episode of random play is not over after " in out
    (task,) = [task for task in tasks() if f"The nearest task with results is {task.env}: " in out]
    assert task.traits.actions == "continuous"
    assert f"--preset {task.preset} " in out


def test_an_atari_game_gets_a_preset_of_images(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["space_invaders"]) == 2  # no id
    assert "SpaceInvaders" in capsys.readouterr().err
    assert main(["SpaceInvaders"]) == 0
    assert "    acer run-atari --preset " in capsys.readouterr().out


def test_images_with_continuous_actions_get_a_network_for_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["CarRacing-v3"]) == 0
    out = capsys.readouterr().out
    assert "No preset has learned continuous actions from images." in out
    command = out.split("\n    acer run ")[1].splitlines()[0]
    assert command.endswith("--env CarRacing-v3 --network cnn --no_normalize_observations")


def test_an_error_of_the_environment_keeps_its_traceback_and_ends_with_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    env = own_env(tmp_path, monkeypatch, "Failing", "Discrete(2)", "(1 / 0)")
    assert main([env]) == 1
    error = capsys.readouterr().err
    assert "failing.py" in error and "ZeroDivisionError" in error.splitlines()[-1] and error.count("Traceback") == 1


def test_a_reward_that_is_no_number_is_refused_as_in_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    env = own_env(tmp_path, monkeypatch, "Nan", "Discrete(2)", 30, reward='float("nan")')
    assert main([env]) == 2
    assert capsys.readouterr().err.endswith("error: environment 0 gave a reward that is not a finite number.\n")


@pytest.mark.parametrize(
    ("started", "command"), [("acer", "acer run"), ("/site/acer_tf/__main__.py", "python -m acer_tf run")]
)
def test_the_command_is_started_as_this_one_and_has_its_arguments(
    started: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    assert main(["CartPole-v1", "--env_kwargs", "{sutton_barto_reward: yes}"]) == 0
    words = "--preset CartPole-v1 --env CartPole-v1 --env_kwargs sutton_barto_reward:true"
    assert f"\n    {command} {words}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "end"), [([], "it."), (["--env_kwargs", "sutton_barto_reward:true"], "it, without these arguments.")]
)
def test_arguments_make_it_another_task(words: list[str], end: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["CartPole-v1", *words]) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"The preset CartPole-v1 has been trained on {end}"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["LunarLander"], "LunarLander-v3"),
        (["no_such_module:Env-v0"], "no_such_module"),
        (["CartPole-v1", "--env_kwargs", "gravity"], "has no value"),
        (["CartPole-v1", "--env_kwargs", "nonsense:1"], "nonsense"),
    ],
)
def test_wrong_input(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and expected in error and error.count("\n") == 1
