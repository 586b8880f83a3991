from typing import Any

import pytest

from acer_tf.cli.env_kwargs import env_kwargs
from acer_tf.cli.parsing import parse
from acer_tf.errors import InputError
from acer_tf.training.job import GymnasiumSettings


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["gravity:5.0", "continuous:true"], {"gravity": 5.0, "continuous": True}),
        (["gravity=-3", "name=a:b", "rate:1e-3"], {"gravity": -3, "name": "a:b", "rate": 0.001}),
        (["size:[1, 2]", "goal:{x: 1}"], {"size": [1, 2], "goal": {"x": 1}}),
        (["{gravity: 5.0, name: moon}"], {"gravity": 5.0, "name": "moon"}),
        (['{"gravity": 5.0}'], {"gravity": 5.0}),
        (["name:null", "other:None"], {"name": None, "other": None}),
        (['version:"001"', "at:1:30", "day:2001-01-01"], {"version": "001", "at": "1:30", "day": "2001-01-01"}),
        (["{rate: 1e-3}"], {"rate": 0.001}),
    ],
)
def test_words_and_mappings(words: list[str], arguments: dict[str, Any]) -> None:
    assert env_kwargs(words) == arguments
    assert (
        parse("acer_tf.run", GymnasiumSettings, ["--env_kwargs", *words, "--reward_scale", "2"]).env_kwargs == arguments
    )


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("gravity", "'gravity' has no value; expected name:value, such as gravity:5.0"),
        ("gravity:[1", r"'\[1' is not valid YAML"),
        ("x:!!python/object/apply:os.getcwd []", "is not valid YAML: could not determine a constructor"),
        ("x:" + "[" * 10_000, "is nested too deeply"),
        ("{a: &x [*x]}", "the alias .x stands for something that contains it"),
        ("{1: 2}", "expected names and values"),
        (":5", "expected names and values"),
    ],
)
def test_anything_else_is_refused(word: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        env_kwargs([word])


def test_without_the_flag_there_are_none() -> None:
    assert parse("acer_tf.run", GymnasiumSettings, []).env_kwargs is None
