from typing import Any

import pytest

from acer_tf.cli.network_flags import network_arguments
from acer_tf.errors import InputError
from acer_tf.run import PARSER


def read(words: list[str]) -> dict[str, Any]:
    return network_arguments(words, PARSER.names, "mlp")


def test_network_arguments_are_literals_or_text() -> None:
    words = ["--num_layers=2", "--num-hidden", "64", "--layer_norm=True", "--activation", "1e-3"]
    assert read(words) == {
        "num_layers": 2,
        "num_hidden": 64,
        "layer_norm": True,
        "activation": 0.001,
    }


@pytest.mark.parametrize("text", ["{1, 2}", "b'x'", "3j", "{(1, 2): 3}"])
def test_what_settings_cannot_hold_is_text(text: str) -> None:
    assert read([f"--activation={text}"]) == {"activation": text}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["foo"], "'foo' belongs to no flag"),
        (["--num_layers"], "--num_layers has no value; expected --num_layers=VALUE"),
        (["--num_evn", "3"], "--num_evn is not a flag, nor an argument of network 'mlp'; the nearest is --num_env"),
        (["--rprop_alhpa=1"], "the nearest is --rprop_alpha"),
        (["--totl_timesteps=3"], "the nearest is --total_timesteps"),
        (["--netwrok=cnn"], "the nearest is --network"),
        (["--="], "belongs to no flag"),
    ],
)
def test_bad_words_are_input_errors(words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(words)
