import pytest

from acer_tf.errors import InputError
from acer_tf.storage.yaml_text import LARGEST, parse_settings


def test_names_and_values_are_read() -> None:
    assert parse_settings("it", "gamma: 0.99\nnetwork: ä\nsizes: [1, 2]\n".encode()) == {
        "gamma": 0.99,
        "network": "ä",
        "sizes": [1, 2],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: " + b"[" * 5000 + b"]" * 5000, "it is nested too deeply"),
        (b"a: " + b"{b: " * 5000 + b"}" * 5000, "it is nested too deeply"),
        (b"a: [", "it is not valid YAML: while parsing"),
        (b"\xff\xfea", "it is not valid YAML"),
        (b"\x00\x01", "it is not valid YAML"),
        (b"a: 2000-99-99", "it is not valid YAML: month must be in 1..12"),
        (b"a: !!python/object/apply:os.getpid []", "it is not valid YAML: could not determine a constructor"),
        (b"[1]", "it holds a list; expected settings by name"),
        (b"", "it holds a NoneType"),
        (b"#" * (LARGEST + 1), "it has more than 1 MiB"),
    ],
)
def test_anything_else_is_one_sentence(text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        parse_settings("it", text)
    assert "\n" not in str(error.value)
