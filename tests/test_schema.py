import dataclasses
import fractions
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pytest
from msgspec import Meta

from acer_tf.errors import InputError
from acer_tf.schema import Count, Fraction, Number, Positive, Text, read, to_python, validate_fields, validated


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (np.int64(3), Count, 3),
        (1e6, Count, 1_000_000),
        (2**62, Count, 2**62),
        (None, Count | None, None),
        (np.float32(0.5), Fraction, 0.5),
        (1, Fraction, 1.0),
        (np.longdouble(0.5), Fraction, 0.5),
        (fractions.Fraction(1, 2), Fraction, 0.5),
        (type("Float", (float,), {})(0.5), Fraction, 0.5),
        (-1e30, Number, -1e30),
        (np.bool_(True), bool, True),
        ({"a": np.int64(1), 2: 0.5}, Mapping[str, Number], {"a": 1.0, "2": 0.5}),
        ({"a": [np.int64(1)]}, Mapping[str, Any], {"a": [1]}),
    ],
)
def test_values_become_those_of_their_type(value: object, kind: Any, expected: object) -> None:
    found: Any = validated("it", value, kind)
    assert found == expected and type(found) is type(expected)
    if isinstance(expected, dict):
        assert [type(item) for item in found.values()] == [type(item) for item in expected.values()]


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (1.5, Count, "it is 1.5; expected a whole number >= 1."),
        (True, Count, "it is True; expected a whole number >= 1."),
        (np.int64(0), Count | None, "it is np.int64(0); expected a whole number >= 1, or None."),
        (1e20, Count | None, "it is 1e+20; expected a whole number from 1 to 2**63 - 1, or None."),
        (1e39, Positive, "it is 1e+39; expected a finite number > 0."),
        (math.nan, Number, "it is nan; expected a number."),
        ("1", Number, "it is '1'; expected a number."),
        ("\ud800", Number, r"it is '\ud800'; expected a number."),
        (10**400, Fraction, f"it is {10**199}; expected a number between 0 and 1."),
        (0, bool, "it is 0; expected True or False."),
        (3, Text, "it is 3; expected text."),
        ("d", Literal["a", "b", "c"], "it is 'd'; expected a, b or c."),
        (1, Literal["a"], "it is 1; expected a."),
        ([], Mapping[str, Number], "it is []; expected values by name."),
        ({"a": "b"}, Mapping[str, Number], "it of a is 'b'; expected a number."),
    ],
)
def test_others_are_refused_in_one_sentence(value: object, kind: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        validated("it", value, kind)
    assert str(caught.value) == message


def test_numbers_of_numpy_become_pythons_at_any_depth() -> None:
    found = to_python({"a": [np.int64(1), (np.float64(0.5), "x")], "b": np.bool_(False), "c": print})
    assert found == {"a": [1, (0.5, "x")], "b": False, "c": print}
    assert [type(value) for value in (found["a"][0], found["a"][1][0], found["b"])] == [int, float, bool]


def test_fields_are_validated_by_their_annotations() -> None:
    @dataclasses.dataclass(frozen=True)
    class Made:
        count: Count = 1
        other: object = None

        def __post_init__(self) -> None:
            validate_fields(self, {"count": "n"})

    assert type(Made(np.int64(2), other=np.int64(2)).count) is int  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^n is 0; expected a whole number >= 1\.$"):
        Made(0)


class Made(NamedTuple):
    name: str
    steps: Count
    text: Text = "none"
    share: Fraction = 0.5
    file: Annotated[Path | None, Meta(description="a path")] = None


def test_a_mapping_becomes_an_object() -> None:
    assert read("file", {"steps": 2e3, "text": " a\n"}, Made, name="x") == Made("x", 2000, "a", 0.5)
    assert read("file", None, Made, {"steps": 3, "share": 0.1}, name="x") == Made("x", 3, "none", 0.1)
    assert read("file", {"steps": 1}, Made, {"steps": 3}, name="x").steps == 1
    assert read("file", {"steps": 1, "file": "a"}, Made, name="x").file == Path("a")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1], "file is [1]; expected settings by name."),
        ({"stesp": 1}, "file: stesp is not a setting; the nearest are steps, "),
        ({"steps": 1, "name": "y"}, "file: name is not a setting; expected steps, text, "),
        ({}, "file: steps is missing."),
        ({"steps": None}, "file: steps is missing."),
        ({"steps": 1, "share": 2}, "file: share is 2; expected a number between 0 and 1."),
        ({"steps": 1, "file": 2}, "file: file is 2; expected a path."),
    ],
)
def test_a_mapping_that_does_not_fit(values: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read("file", values, Made, name="x")
    assert str(caught.value).startswith(message)
