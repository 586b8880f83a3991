import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.wrappers import PassiveEnvChecker

from acer_tf.errors import (
    GYMNASIUM_EXTRAS,
    LONGEST,
    EnvironmentFailedError,
    ExitStatus,
    InputError,
    environment_errors,
    require,
    type_in_words,
    was_stopped,
    with_own_extra,
)

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"


def test_input_error_is_an_ordinary_value_error() -> None:
    assert issubclass(InputError, ValueError)


@pytest.mark.parametrize(
    ("message", "own"),
    [
        (
            'MuJoCo is not installed, run `pip install "gymnasium[mujoco]"`',
            'MuJoCo is not installed; install it with: pip install -e ".[mujoco]".',
        ),
        (
            "Box2D is not installed, you can install it by run `pip install swig` followed by "
            '`pip install "gymnasium[box2d]"`',
            'Box2D is not installed; install it with: pip install -e ".[box2d]".',
        ),
        (
            'pygame is not installed, run `pip install "gymnasium[toy_text]"`',
            'pygame is not installed; install it with: pip install -e ".[video]".',
        ),
        ("run `pip install pygame`", "run `pip install pygame`"),
        ('JAX is not installed, run `pip install "gymnasium[jax]"`',) * 2,
    ],
)
def test_missing_packages_are_installed_by_extras_of_this_package(message: str, own: str) -> None:
    assert with_own_extra(message) == own
    with pytest.raises(EnvironmentFailedError if own == message else InputError), environment_errors():
        raise gymnasium.error.DependencyNotInstalled(message)


@pytest.mark.parametrize(
    ("error", "told"), [(AssertionError(), "AssertionError"), (ValueError("no fuel"), "ValueError: no fuel")]
)
def test_what_an_environment_raised_is_told_with_its_text_if_it_has_one(error: Exception, told: str) -> None:
    with pytest.raises(EnvironmentFailedError) as caught, environment_errors():
        raise error
    assert str(caught.value) == f"an environment raised {told}"


@pytest.mark.parametrize(
    ("value", "words"),
    [(np.zeros(1), "an ndarray"), (np.uint8(1), "a uint8"), (1, "an int"), ("", "a str"), (None, "None")],
)
def test_types_have_their_article(value: object, words: str) -> None:
    assert type_in_words(value) == words


def test_the_extras_exist() -> None:
    setup = (PAGE.parents[1] / "setup.py").read_text(encoding="utf-8")
    assert all(f'"{extra}": ' in setup for extra in GYMNASIUM_EXTRAS.values())


def test_every_status_is_documented_and_no_other() -> None:
    section = PAGE.read_text().partition("## Exit statuses")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| ([\d, ]+) \|", section, flags=re.MULTILINE)
    assert [int(number) for cell in cells for number in cell.split(",")] == [status.value for status in ExitStatus]


@pytest.mark.parametrize(
    ("returncode", "is_stop"),
    [(129, True), (130, True), (143, True), (-1, True), (-2, True), (-15, True), (0, False), (1, False), (-9, False)],
)
def test_a_command_was_stopped_if_it_says_so_or_a_signal_to_stop_ended_it(returncode: int, is_stop: bool) -> None:
    assert was_stopped(returncode) is is_stop


def test_a_very_long_message_keeps_its_beginning_and_its_end() -> None:
    message = f"preset mine.yml: lr is {'x' * 100_000}; expected a number."
    shown = str(InputError(message))
    assert shown.startswith("preset mine.yml: lr is xxx") and shown.endswith("xxx; expected a number.")
    assert len(shown) == LONGEST + 5 and str(InputError(message[:LONGEST])) == message[:LONGEST]


def test_a_package_that_is_missing_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("pytest", "tests need", "test")
    (tmp_path / "chess").mkdir()  # a mere folder of the name is no package
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("chess", "checkers"):
        with pytest.raises(InputError) as error:
            require(module, "games need", "games")
        assert str(error.value) == f'games need {module}; install it with: pip install -e ".[games]".'


class Informs(gymnasium.Env[Any, Any]):
    observation_space, action_space = Discrete(2), Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return 0, None


def test_what_gymnasiums_checks_refuse_is_one_sentence() -> None:
    env = PassiveEnvChecker(Informs())
    message = (
        r"^gymnasium refuses the environment: The second element returned by `env\.reset\(\)` was not a dictionary"
    )
    with pytest.raises(InputError, match=message), environment_errors():
        env.reset()
    with (
        pytest.raises(EnvironmentFailedError, match=r"^an environment raised AssertionError: mine$"),
        environment_errors(),
    ):
        raise AssertionError("mine")
