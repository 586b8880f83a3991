from typing import Any

import pytest

from acer_tf.cli.network_flags import network_arguments
from acer_tf.errors import InputError
from acer_tf.run import PARSER


def read(words: list[str]) -> dict[str, Any]:
    return network_arguments(words, PARSER.names, "mlp")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2), ("1e2", 100.0), ("1e-3", 0.001), ("True", True), ("false", False), ("None", None), ("tanh", "tanh"),
        ("[16, [8, 4]]", [16, [8, 4]]), ("b'x'", "b'x'"), ("3j", "3j"),
    ],
)  # fmt: skip
def test_values_are_read_as_those_of_files_are(text: str, value: Any) -> None:
    for words in ([f"--activation={text}"], ["--activation", text]):
        (read_as,) = read(words).values()
        assert (read_as, type(read_as)) == (value, type(value))


def test_names_may_have_hyphens() -> None:
    assert read(["--num_layers=2", "--num-hidden", "64"]) == {"num_layers": 2, "num_hidden": 64}


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("--layer_norm", True), ("--layer-norm True", True), ("--layer_norm=no", False), ("--layer_norm false", False),
        ("--no_layer_norm", False), ("--no-layer-norm", False), ("--layer_norm --no_layer_norm", False),
    ],
)  # fmt: skip
def test_switches_are_given_as_those_of_commands(words: str, value: bool) -> None:
    assert read(words.split()) == {"layer_norm": value}
    assert read([*words.split(), "--num_hidden", "32"]) == {"layer_norm": value, "num_hidden": 32}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["foo"], "unexpected word 'foo'"),
        (["--num_layers"], "--num_layers has no value; expected --num_layers=VALUE"),
        (["--num_layers", "--num_hidden", "3"], "^--num_layers has no value; expected --num_layers=VALUE"),
        (
            ["--no_num_layers"],
            "^--no_num_layers is not a flag, nor an argument of network 'mlp'; the nearest is --num_lay",
        ),
        (["--no_layer_norm", "3"], "^unexpected word '3'"),
        (["no_layer_norm"], "^unexpected word 'no_layer_norm'"),
        (["--num_evn", "3"], "--num_evn is not a flag, nor an argument of network 'mlp'; the nearest is --num_env"),
        (["--rprop_alhpa=1"], "the nearest is --rprop_alpha"),
        (["--totl_timesteps=3"], "the nearest is --total_timesteps"),
        (["--netwrok=cnn"], "the nearest is --network"),
        (["--="], "unexpected word '--='"),
        (["--activation=[relu"], r"^--activation=\[relu is not valid YAML: .* expected ',' or '\]'"),
    ],
)
def test_bad_words_are_input_errors(words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(words)
