import re
from pathlib import Path

from acer_tf.errors import ExitStatus, InputError, nearest

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"


def test_input_error_is_an_ordinary_value_error() -> None:
    assert issubclass(InputError, ValueError)


def test_nearest_come_best_first_and_ignore_case() -> None:
    choices = ["linear", "constant", "middle_drop", "double_middle_drop"]
    assert nearest("Midle_Drop", choices) == ["middle_drop", "double_middle_drop", "linear"]
    assert nearest("CONSTANT", choices, n=1) == ["constant"]
    assert nearest("brekout", ["Pong", "Breakout"], n=1) == ["Breakout"]


def test_nearest_of_something_else_still_offers_choices() -> None:
    assert len(nearest("#", ["a", "b"])) == 2
    assert nearest("a", []) == []


def test_every_status_is_documented_and_no_other() -> None:
    section = PAGE.read_text().partition("## Exit statuses")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| ([\d, ]+) \|", section, flags=re.MULTILINE)
    assert [int(number) for cell in cells for number in cell.split(",")] == [status.value for status in ExitStatus]
