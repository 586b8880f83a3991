from collections import Counter

import pytest

from benchmarks import in_turns, medians


def test_points_take_turns_in_processes_and_each_is_measured_once_a_round(capsys: pytest.CaptureFixture[str]) -> None:
    assert in_turns(Counter, ["aab", "c", "aab"], 2) == {"aab": [{"a": 2, "b": 1}] * 2, "c": [{"c": 1}] * 2}
    assert capsys.readouterr().out == "round 1 of 2 is done\nround 2 of 2 is done\n"


def test_medians_are_of_each_number() -> None:
    assert medians([{"x": 1.0, "y": 3.0}, {"x": 9.0, "y": 2.0}, {"x": 5.0, "y": 1.0}]) == {"x": 5.0, "y": 2.0}
