import sys

import pytest

from acer_tf.cli.output import print_table


def test_a_table_leaves_nothing_out_in_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    print_table(("name", "text"), [("some/environment-with-a-long-id", "of two words")])
    _, *rows = capsys.readouterr().out.splitlines()
    assert rows == ["some/environment  of two words", "-with-a-long-id"]
