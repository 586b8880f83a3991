import sys
from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.plots.pages import render


def test_values_are_escaped_in_html_only(tmp_path: Path) -> None:
    for suffix, shown in ((".html", "&lt;b&gt;"), (".md", "<b>")):
        template = tmp_path / f"page{suffix}"
        template.write_text("{% if value %}\n{{ value }}\n{% endif %}\n")
        assert render(template, value="<b>") == f"{shown}\n"


def test_missing_jinja_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match="reports need jinja2"):
        render(tmp_path / "page.md")
