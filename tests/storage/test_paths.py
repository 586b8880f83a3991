import os
from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.evaluation.video import check_video
from acer_tf.plots.style import require_format
from acer_tf.report import RunReport
from acer_tf.storage.agent_file import with_suffix
from acer_tf.storage.paths import check_name, free_path, path_text, user_path


def test_a_free_path_is_numbered_before_its_suffix(tmp_path: Path) -> None:
    for suffix in ("", ".mp4"):
        for name in ("run-0.5", "run-0.5-2", "run-0.5-3"):
            assert free_path(tmp_path / "run-0.5", suffix) == tmp_path / f"{name}{suffix}"
            (tmp_path / f"{name}{suffix}").touch()


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_path("~/runs/one") == user_path(Path("~/runs/one")) == tmp_path / "runs/one"
    assert [user_path(path) for path in ("~nobody-of-this-name/x", "a/~", "")] == [
        Path("~nobody-of-this-name/x"),
        Path("a/~"),
        Path(),
    ]


def test_what_is_no_path_is_told() -> None:
    with pytest.raises(InputError, match=r"^a path is None; expected text or a pathlib\.Path\.$"):
        user_path(None)  # type: ignore[arg-type]


def test_bytes_that_are_no_text_are_escaped() -> None:
    assert path_text(Path(os.fsdecode(b"runs/\xff \xc3\xa9"))) == "runs/\\udcff é"


@pytest.mark.parametrize("path", [".", "/", ""])
def test_a_file_needs_a_name(path: str) -> None:
    with pytest.raises(InputError, match="is a folder; expected the name of a file"):
        check_name(Path(path))
    for check in (require_format, check_video, with_suffix, lambda path: RunReport((), path).write()):
        with pytest.raises(InputError, match="expected the name of a file"):
            check(Path(path))
