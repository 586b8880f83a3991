import json
import math

import numpy as np
import pytest

from acer_tf.recordings.comparison import Case, Quantity, absolute, exact, relative, scalar

INF, NAN = math.inf, math.nan


def test_relative_is_the_largest_difference_over_the_largest_value() -> None:
    assert relative([1.0, -3.5, 0.0], [1.0, -4.0, 0.1]) == pytest.approx(0.5 / 4)
    assert relative([0.25, 0.0], [0.0, 0.0]) == 0.25
    assert relative(np.zeros((2, 3)), np.zeros(6)) == 0


def test_scalar_is_softened_near_zero() -> None:
    assert scalar(0.0, 0.001) == pytest.approx(0.5)
    assert scalar([1.0, 2.002], [1.0, 2.0]) == pytest.approx(0.002 / 2.001)


def test_absolute_is_the_largest_difference() -> None:
    assert absolute([1.0, 100.0], [1.5, 100.25]) == 0.5


@pytest.mark.parametrize("measure", [relative, scalar, absolute, exact])
@pytest.mark.parametrize(
    ("ours", "recorded", "error"),
    [
        ([1.0, INF], [1.0, INF], 0),
        ([1.0, -INF], [1.0, INF], INF),
        ([NAN, 1.0], [NAN, 1.0], 0),
        ([NAN, 1.0], [1.0, 1.0], INF),
        ([1.0, 1.0], [NAN, 1.0], INF),
        ([INF, 1.0], [NAN, 1.0], INF),
        ([1.0], [1.0, 1.0], INF),
        ([], [1.0], INF),
    ],
)
def test_what_is_not_finite_equals_only_its_like(measure, ours: list, recorded: list, error: float) -> None:
    assert measure(np.array(ours), np.array(recorded)) == error


def test_exact_minds_shape_and_dtype() -> None:
    one = np.ones((2, 3), np.float32)
    assert exact(one, one.copy()) == 0
    assert exact(one, one + 0.5) == 0.5
    assert exact(one, one.astype(np.float64)) == INF
    assert exact(one, one.reshape(3, 2)) == INF


def test_worst_is_the_largest_beside_its_tolerance() -> None:
    mild, bad, exact_one = Quantity("mild", 0.5, 1.0), Quantity("bad", 0.02, 0.01), Quantity("exact", 0.0, 0.0)
    assert Case("a", "model", "fail", (exact_one, mild, bad)).worst is bad
    assert Case("a", "model", "fail", (bad, Quantity("bits", 1e-9, 0.0))).worst.name == "bits"
    assert Case("a", "curves", "skipped").worst is None
    assert not Quantity("nan", NAN, 1.0).passed


def test_infinite_errors_are_text_in_json() -> None:
    case = Case("a", "model", "fail", (Quantity("q", INF, 1e-4),))
    assert json.loads(json.dumps(case.as_json(), allow_nan=False)) == {
        "case": "a",
        "kind": "model",
        "status": "fail",
        "worst": {"quantity": "q", "error": "inf", "tolerance": 1e-4},
    }
