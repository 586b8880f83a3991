from pathlib import Path

import cv2
import pytest

from acer_tf.plot import main
from tests.plots.samples import write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "Some-v0"
    folder.mkdir(parents=True)
    (folder / "episodes.csv").write_text("steps,return,length,env\n100,1.0,5,0\n500,2.0,5,1\n1000,6.0,5,0\n")
    return folder


def rows(path: Path) -> list[str]:
    return path.read_text().splitlines()[1:]


def seeds(tmp_path: Path, returns: list[float], **settings: object) -> list[str]:
    """Folders of runs that reach these returns."""
    names = [tmp_path / f"run-{len(list(tmp_path.glob('run-*'))) + i}" for i in range(len(returns))]
    return [
        str(write_run(name, [0.0, value], **settings, seed=seed))
        for seed, (name, value) in enumerate(zip(names, returns, strict=True))
    ]


def test_draws_a_picture_and_its_numbers(tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "curve.png"
    assert main([str(run), str(run / "episodes.csv"), "--out", str(out), "--smooth", "500"]) == 0
    assert cv2.imread(str(out)) is not None
    assert (tmp_path / "curve.csv").read_text().splitlines() == [
        "label,steps,mean_return,episodes,seeds,deviation,environment",
        "Some-v0,500.0,1.5,2,1,nan,",
        "Some-v0,1000.0,6.0,1,1,nan,",
        "episodes.csv,500.0,1.5,2,1,nan,",
        "episodes.csv,1000.0,6.0,1,1,nan,",
    ]
    assert capsys.readouterr().out == f"drew 2 curves: {out}, {tmp_path / 'curve.csv'}\n"


def test_bins_are_a_hundredth_of_the_longest_run_unless_told(tmp_path: Path, run: Path) -> None:
    assert main([str(run), "--out", str(tmp_path / "a.svg"), "--label", "mine"]) == 0
    assert rows(tmp_path / "a.csv") == [f"mine,{x}.0,{y},1,1,nan," for x, y in ((100, 1.0), (500, 2.0), (1000, 6.0))]
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


def test_metric_axis_and_references_are_chosen(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [1.0, 2.0], env="PongNoFrameskip-v4", network="cnn")
    (folder / "progress.csv").write_text("total_timesteps,entropy\n100,1.5\n200,1.25\n")
    command = [str(folder), "--out", str(tmp_path / "a.pdf")]
    assert main([*command, "--metric", "entropy", "--x", "frames", "--smooth", "400"]) == 0
    assert rows(tmp_path / "a.csv") == [
        "cnn,400.0,1.5,1,1,nan,PongNoFrameskip-v4",
        "cnn,800.0,1.25,1,1,nan,PongNoFrameskip-v4",
    ]
    assert main([*command, "--x", "minutes", "--reference", "human", "random"]) == 0
    assert rows(tmp_path / "a.csv")[1] == "cnn,2.0,2.0,1,1,nan,PongNoFrameskip-v4"


def test_a_reference_is_not_replaced(tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    earlier = tmp_path / "a.csv"
    assert main([str(run), "--out", str(tmp_path / "a.svg"), "--label", "paper"]) == 0
    before = earlier.read_text()
    assert main([str(run), "--out", str(tmp_path / "a.png"), "--reference", str(earlier)]) == 2
    assert "a.png would replace the reference of that name" in capsys.readouterr().err
    assert earlier.read_text() == before


def test_seeds_of_a_setting_become_one_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = seeds(tmp_path, [1.0, 2.0, 6.0], env="CartPole-v1", network="mlp", lr=0.1)
    few = seeds(tmp_path, [7.0, 9.0], env="CartPole-v1", network="mlp", lr=0.2)
    assert main([*many, *few, "--out", str(tmp_path / "curve.png"), "--smooth", "100"]) == 0
    assert rows(tmp_path / "curve.csv") == [
        "lr=0.1,100.0,0.0,3,3,0.0,CartPole-v1",
        "lr=0.1,200.0,3.0,3,3,2.6457513110645907,CartPole-v1",
        "lr=0.2,100.0,0.0,2,2,0.0,CartPole-v1",
        "lr=0.2,200.0,8.0,2,2,1.4142135623730951,CartPole-v1",
    ]
    assert capsys.readouterr().err == "fewer than 3 seeds say little: CartPole-v1 lr=0.2 (2)\n"


def test_labels_group_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = seeds(tmp_path, [1.0, 2.0, 3.0, 4.0], env="CartPole-v1", network="mlp")
    assert main([*runs, "--out", str(tmp_path / "a.png"), "--label", "x", "x", "x", "y"]) == 0
    labels = {row.split(",")[0] for row in rows(tmp_path / "a.csv")}
    assert labels == {"x", "y"}
    assert "y (1)" in capsys.readouterr().err


def test_a_pattern_that_matches_the_logs_of_a_sweep_draws_its_runs(tmp_path: Path) -> None:
    (run,) = seeds(tmp_path, [1.0], env="CartPole-v1", network="mlp")
    log = Path(f"{run}.log")
    log.write_text("steps 100\n")
    assert main([run, str(log), "--out", str(tmp_path / "a.png"), "--label", "x"]) == 0
    assert {row.split(",")[0] for row in rows(tmp_path / "a.csv")} == {"x"}


def test_runs_of_one_curve_may_differ_in_where_and_how_they_ran(tmp_path: Path) -> None:
    runs = [
        *seeds(tmp_path, [1.0], env="A-v0", network="mlp", cores=2, versions={"numpy": "1"}, keep_every=5, threads=1),
        *seeds(tmp_path, [2.0], env="A-v0", network="mlp", cores=4, versions={"numpy": "2"}, logdir="x", command="y"),
    ]
    assert main([*runs, "--out", str(tmp_path / "a.png")]) == 0
    assert {row.split(",")[0] for row in rows(tmp_path / "a.csv")} == {"mlp"}


def test_interval_estimates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = seeds(tmp_path, [2.0, 4.0, 6.0, 8.0], env="CartPole-v1", network="mlp")
    assert main([*runs, "--out", str(tmp_path / "a.png"), "--rliable"]) == 0
    lines = (tmp_path / "a-intervals.csv").read_text().splitlines()
    assert lines[0] == "label,aggregate,estimate,low,high"
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["mlp", name, "2.5"] for name in ("IQM", "median of environments", "mean")
    ]
    for line in lines[1:]:
        estimate, low, high = map(float, line.split(",")[2:])
        assert 1 <= low < estimate < high <= 4
    assert cv2.imread(str(tmp_path / "a-intervals.png")) is not None
    assert "mlp: IQM 2.5 [" in capsys.readouterr().out


def test_two_seeds_have_no_interval_and_this_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = seeds(tmp_path, [2.0, 4.0], env="CartPole-v1", network="mlp")
    assert main([*runs, "--out", str(tmp_path / "a.svg"), "--rliable"]) == 0
    printed = capsys.readouterr()
    assert "mlp: IQM 1.5 (no interval below 3 seeds) raw return\n" in printed.out
    assert "fewer than 3 seeds say little" in printed.err
    assert "mlp,IQM,1.5,nan,nan" in rows(tmp_path / "a-intervals.csv")
    assert (tmp_path / "a-intervals.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "a.jpg"], "expected one of a.png, a.svg, a.pdf"),
        (["--label", "x", "y"], "got 2 labels for 1 run; expected one each"),
        (["--smooth", "0"], "expected a number above 0"),
        (["--smooth", "inf"], "expected a number above 0"),
        (["--x", "frames"], "is not an Atari game"),
        (["--metric", "entropi"], "progress.csv does not exist"),
        (["--metric", "entropy", "--reference", "human"], "is for returns"),
        (["--metric", "eval", "--rliable"], "uses the last training episodes of each run; leave --metric out"),
        (["--reference", "human"], "needs an Atari game"),
        (["--out", "episodes.csv/a.png"], "cannot be written"),
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
    assert "holds something other than curves" in capsys.readouterr().err


def test_no_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("error: RUNS is missing: ")
