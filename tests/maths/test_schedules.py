from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.maths.schedules import SCHEDULES, learning_rate

GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "schedules.npz")


@pytest.mark.parametrize("name", SCHEDULES)
def test_equals_what_baselines_recorded(name: str) -> None:
    actual = [learning_rate(7e-4, name, p) for p in GOLDEN["p"]]
    np.testing.assert_allclose(actual, GOLDEN[f"value_steps/{name}"], rtol=1e-12)


def test_all_of_baselines_schedules_are_there() -> None:
    recorded = {name.removeprefix("value_steps/") for name in GOLDEN.files if name.startswith("value_steps/")}
    assert set(SCHEDULES) == recorded


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("constant", [1, 1, 1, 1, 1]),
        ("linear", [1, 0.75, 0.5, 0.25, 0]),
        ("middle_drop", [1, 0.75, 0.075, 0.075, 0.075]),
        ("double_linear_con", [1, 0.5, 0.125, 0.125, 0.125]),
        ("double_middle_drop", [1, 0.75, 0.075, 0.075, 0.125]),
    ],
)
def test_values_at_quarters(name: str, values: list[float]) -> None:
    actual = [learning_rate(2.0, name, p) for p in (0, 0.25, 0.5, 0.75, 1)]
    np.testing.assert_allclose(actual, 2 * np.array(values))


def test_a_function_is_called_with_the_fraction() -> None:
    assert learning_rate(3.0, lambda p: p**2, 0.5) == 0.75


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), -1.0, None, "0.5", np.ones(2)])
def test_a_function_that_gives_no_rate_is_refused(factor: Any) -> None:
    with pytest.raises(InputError, match=r"gives .* after 50\.0% of training; expected a finite number >= 0"):
        learning_rate(3.0, lambda p: factor, 0.5)
