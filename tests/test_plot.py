from pathlib import Path

import cv2
import pytest

from acer_tf.plot import main


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "Some-v0"
    folder.mkdir(parents=True)
    (folder / "episodes.csv").write_text("steps,return,length,env\n100,1.0,5,0\n500,2.0,5,1\n1000,6.0,5,0\n")
    return folder


def test_draws_a_picture_and_its_numbers(tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "curve.png"
    assert main([str(run), str(run / "episodes.csv"), "--out", str(out), "--smooth", "500"]) == 0
    assert cv2.imread(str(out)) is not None
    assert (tmp_path / "curve.csv").read_text().splitlines() == [
        "label,steps,mean_return,episodes",
        "Some-v0,500.0,1.5,2",
        "Some-v0,1000.0,6.0,1",
        "episodes.csv,500.0,1.5,2",
        "episodes.csv,1000.0,6.0,1",
    ]
    assert str(out) in capsys.readouterr().out


def test_bins_are_a_hundredth_of_the_longest_run_unless_told(tmp_path: Path, run: Path) -> None:
    assert main([str(run), "--out", str(tmp_path / "a.png"), "--label", "mine"]) == 0
    rows = (tmp_path / "a.csv").read_text().splitlines()[1:]
    assert rows == ["mine,100.0,1.0,1", "mine,500.0,2.0,1", "mine,1000.0,6.0,1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "a.jpg"], "expected a.png"),
        (["--label", "x", "y"], "got 2 labels for 1 runs"),
        (["--smooth", "0"], "expected more than 0"),
        (["--out", "absent/a.png"], "cannot be written"),
    ],
)
def test_bad_arguments_are_one_line_and_status_2(
    run: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(run)
    assert main([".", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1


def test_never_overwrites_the_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (run / "episodes.csv").read_text()
    assert main([str(run), "--out", str(run / "episodes.png")]) == 2
    assert (run / "episodes.csv").read_text() == before
    assert "holds something else" in capsys.readouterr().err


def test_no_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "a run at least" in capsys.readouterr().err
