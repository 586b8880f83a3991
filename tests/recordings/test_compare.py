from pathlib import Path
from typing import Any

import pytest

from acer_tf.errors import InputError
from acer_tf.recordings.compare import compare
from acer_tf.recordings.recorded import read
from tests.recordings.recordings import Arrays, altered


def test_cases_have_the_name_of_the_file(tmp_path: Path) -> None:
    case = compare(read(altered(tmp_path, "schedules", lambda arrays, config: None)))
    assert (case.name, case.kind, case.status) == ("another-name", "schedules", "pass")


def test_one_failed_quantity_fails_the_case(tmp_path: Path) -> None:
    def alter(arrays: Arrays, config: dict[str, Any]) -> None:
        arrays["value_steps/linear"][3] *= 1.001

    case = compare(read(altered(tmp_path, "schedules", alter)))
    assert (case.status, case.worst.name) == ("fail", "value_steps/linear")


def test_arrays_that_do_not_fit_are_bad_input(tmp_path: Path) -> None:
    def cut(arrays: Arrays, config: dict[str, Any]) -> None:
        arrays["retrace/0/v"] = arrays["retrace/0/v"][:-1]

    with pytest.raises(InputError, match=r"another-name.npz has arrays that do not fit its config or each other"):
        compare(read(altered(tmp_path, "small_math", cut)))


def test_nothing_to_compare_is_bad_input(tmp_path: Path) -> None:
    def drop(arrays: Arrays, config: dict[str, Any]) -> None:
        for key in [key for key in arrays if key.endswith("/w")]:
            arrays[f"0-{key}"] = arrays.pop(key)

    with pytest.raises(InputError, match="holds nothing to compare; expected a recording of kind ortho_init"):
        compare(read(altered(tmp_path, "ortho_init", drop)))
