from pathlib import Path

import pytest

from benchmarks.original import main


def test_a_folder_without_the_original_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "does not hold baselines 0.1.5" in capsys.readouterr().err
