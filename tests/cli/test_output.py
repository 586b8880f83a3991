import sys
from pathlib import Path

import pytest

from acer_tf.cli.output import print_table, write_json, writing
from acer_tf.errors import InputError


def test_a_file_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"x": [1]})
    assert (tmp_path / "a.json").read_text() == '{\n  "x": [\n    1\n  ]\n}\n'
    with pytest.raises(InputError, match=r"a\.json cannot be written \(File exists\); choose another file\."):
        write_json(tmp_path / "a.json" / "a.json", {})
    with pytest.raises(InputError, match="some cannot be written"), writing(Path("some")):
        raise OSError(28, "No space left on device")


def test_a_table_leaves_nothing_out_in_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    print_table(("name", "text"), [("some/environment-with-a-long-id", "of two words")])
    _, *rows = capsys.readouterr().out.splitlines()
    assert rows == ["some/environment  of two words", "-with-a-long-id"]
