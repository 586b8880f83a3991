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


def test_numbers_with_exponents_are_numbers_in_files_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text("a: 7e-4\nb: [1e6, -2.5E+3, .5e1]\nc: '1e6'\nd: e6\ne: 1.5.2\n")
    found = load_settings("it", path)
    assert found == {"a": 7e-4, "b": [1e6, -2500, 5], "c": "1e6", "d": "e6", "e": "1.5.2"}
    assert parse_settings("it", b"commit: 12e45")["commit"] == "12e45"


def test_an_alias_may_not_multiply_what_a_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text("a: &name text\nb: *name\n")
    assert load_settings("it", path) == {"a": "text", "b": "text"}
    for text in ("a: &x [1]\nb: [*x, *x]", "a: &x {b: 1}\nc: {<<: *x}", "a: &x [*x]"):
        path.write_text(text)
        with pytest.raises(InputError, match=r"^it is not valid YAML: the alias \*x stands for more than one value\.$"):
            load_settings("it", path)


def test_a_file_that_is_too_large_or_missing(tmp_path: Path) -> None:
    (tmp_path / "large.yml").write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(InputError, match="it has more than 1 MiB"):
        load_settings("it", tmp_path / "large.yml")
    with pytest.raises(InputError, match=r"^it cannot be read \(No such file or directory\)\.$"):
        load_settings("it", tmp_path / "none.yml")


def test_names_stand_for_files_that_ship(tmp_path: Path) -> None:
    (tmp_path / "paper.yml").write_text("a: 1")
    assert settings_path("preset", "paper", tmp_path) == tmp_path / "paper.yml"
    assert settings_path("preset", "here/paper.yaml", tmp_path) == Path("here/paper.yaml")
    with pytest.raises(InputError, match=r"^preset 'papr' does not exist; the nearest are paper\.$"):
        settings_path("preset", "papr", tmp_path)
