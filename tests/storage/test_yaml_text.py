import math
from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.storage.yaml_text import LARGEST, load_settings, parse_settings, settings_path


def test_names_and_values_are_read() -> None:
    assert parse_settings("it", "gamma: 0.99\nnetwork: ä\nsizes: [1, 2]\n".encode()) == {
        "gamma": 0.99,
        "network": "ä",
        "sizes": [1, 2],
    }


LAUGHS = b"a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 13)
)
"""Twelve levels of ten aliases each."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: " + b"[" * 5000 + b"]" * 5000, "it is nested too deeply"),
        (b"a: " + b"{b: " * 5000 + b"}" * 5000, "it is nested too deeply"),
        (b"a: [", "it is not valid YAML: while parsing"),
        (b"\xff\xfea", "it is not valid YAML"),
        (b"\x00\x01", "it is not valid YAML"),
        (b"a: !!timestamp 2000-01-01", "it is not valid YAML: could not determine a constructor"),
        (b"a: !!binary aGk=", "it is not valid YAML: could not determine a constructor"),
        (b"a: !!set {b}", "it is not valid YAML: could not determine a constructor"),
        (b"a: !!int 1" + b":10" * 300_000, "it is not valid YAML: a number has 900001 characters"),
        (b"a: 0x" + b"f" * 5000, "it is not valid YAML: a number has 5002 characters"),
        (b"a: 1" + b"0" * 5000 + b".0", "it is not valid YAML: a number has 5003 characters"),
        (b"a: 9223372036854775808", "it is not valid YAML: a whole number has 64 bits"),
        (b"a: 0x_", "it is not valid YAML: invalid literal"),
        (b'a: "\\ud800"', r"it is not valid YAML: 'utf-8' codec can't encode character '\\ud800'"),
        (b"a: [" + b"1," * 500_000 + b"]", "it is not valid YAML: it holds more than 10,000 values"),
        (LAUGHS, "it is not valid YAML: it holds more than 10,000 values"),
        (
            b"a: &a {x: 1}\nb: &b {<<: [" + b"*a," * 9999 + b"]}",
            "it is not valid YAML: it holds more than 10,000 values",
        ),
        (b"a: &x [*x]", r"it is not valid YAML: the alias \*x stands for something that contains it"),
        (b"a: !!python/object/apply:os.getpid []", "it is not valid YAML: could not determine a constructor"),
        (b"[1]", "it holds a list; expected settings by name"),
        (b"", "it is empty"),
    ],
)
def test_anything_else_is_one_sentence(text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        parse_settings("it", text)
    assert "\n" not in str(error.value)


def test_numbers_with_exponents_are_numbers_in_files_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text("a: 7e-4\nb: [1e6, -2.5E+3, .5e1]\nc: '1e6'\nd: e6\ne: 1.5.2\n")
    found = load_settings("it", path)
    assert found == {"a": 7e-4, "b": [1e6, -2500, 5], "c": "1e6", "d": "e6", "e": "1.5.2"}
    assert parse_settings("it", b"commit: 12e45")["commit"] == "12e45"


def test_minutes_and_dates_are_text_at_once() -> None:
    text = b"1" + b":10" * 300_000
    assert parse_settings("it", b"a: 2000-01-01\nb: 1:10\nc: " + text) == {
        **{"a": "2000-01-01", "b": "1:10"},
        "c": text.decode(),
    }


def test_numbers_are_those_of_yaml() -> None:
    text = b"[0, -12, +3, 1_000, 0x1F, 0b11, 017, 1.5, -.5e+3, 2., 1e3, .inf, -.INF, 9223372036854775807]"
    found = parse_settings("it", b"a: " + text)["a"]
    assert found == [0, -12, 3, 1000, 31, 3, 15, 1.5, "-.5e+3", 2.0, "1e3", math.inf, -math.inf, 2**63 - 1]
    assert parse_settings("it", b"a: .5e+3\nb: 1e999") == {"a": 500, "b": "1e999"}


def test_aliases_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text("a: &name text\nb: *name\nc: &c {x: [1]}\nd: {<<: *c, y: *c}\n")
    expected = {"a": "text", "b": "text", "c": {"x": [1]}, "d": {"x": [1], "y": {"x": [1]}}}
    assert load_settings("it", path) == expected
    assert parse_settings("it", path.read_bytes()) == expected


def test_a_file_that_is_too_large_or_missing(tmp_path: Path) -> None:
    (tmp_path / "large.yml").write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(InputError, match=r"large.yml has more than 1 MiB\.$"):
        load_settings("it", tmp_path / "large.yml")
    with pytest.raises(InputError, match=r"none.yml cannot be read \(No such file or directory\)\.$"):
        load_settings("it", tmp_path / "none.yml")


def test_names_stand_for_files_that_ship(tmp_path: Path) -> None:
    (tmp_path / "paper.yml").write_text("a: 1")
    assert settings_path("preset", "paper", tmp_path) == tmp_path / "paper.yml"
    assert settings_path("preset", "here/paper.yaml", tmp_path) == Path("here/paper.yaml")
    with pytest.raises(InputError, match=r"^preset 'papr' does not exist; the nearest are paper\.$"):
        settings_path("preset", "papr", tmp_path)
