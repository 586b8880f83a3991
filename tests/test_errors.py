from acer_tf.errors import InputError, nearest


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
