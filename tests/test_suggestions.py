import pytest

from acer_tf.suggestions import nearest, suggestion


def test_nearest_come_best_first_and_ignore_case() -> None:
    choices = ["linear", "constant", "middle_drop", "double_middle_drop"]
    assert nearest("Midle_Drop", choices) == ["middle_drop", "double_middle_drop", "linear"]
    assert nearest("CONSTANT", choices, n=1) == ["constant"]
    assert nearest("brekout", ["Pong", "Breakout"], n=1) == ["Breakout"]


def test_nothing_is_suggested_for_what_nothing_resembles() -> None:
    assert nearest("xyzzy", ["Taxi-v3", "Pong"]) == []
    assert nearest("a", []) == []


@pytest.mark.parametrize(
    ("choices", "end"),
    [
        (["gamma", "lr"], "; the nearest are gamma, lr"),
        (["lr", "c", "delta"], "; expected lr, c or delta"),
        (["lr"], "; expected lr"),
        ([], ""),
        ([f"x{i}" for i in range(9)], "; --help lists them"),
    ],
)
def test_the_end_of_the_message_that_a_name_does_not_exist(choices: list[str], end: str) -> None:
    assert suggestion("gama", iter(choices), "--help lists them") == end
    assert end.endswith("them") or suggestion("gama", choices) == end
