from typing import Any

import pytest

from acer_tf.envs.saved_kwargs import check_saved_kwargs
from acer_tf.errors import InputError


def test_numbers_and_short_words_are_taken() -> None:
    check_saved_kwargs({"gravity": -5.0, "enable_wind": True, "map_name": "8x8", "goal": None, "limits": [1, {"a": 2}]})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("xml_file", "./own.xml"), ("xml_file", "/etc/passwd"), ("entry_point", "os.system"), ("entry", "os:system")],
        *[("files", ["a", ["../b"]]), ("nested", {"a": {"b.c": 1}}), ("text", "a" * 65), ("render_mode", "human")],
    ],
)
def test_paths_code_and_windows_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"the file has {name}=.*: pass the arguments with --env_kwargs"):
        check_saved_kwargs({"gravity": 1, name: value})
