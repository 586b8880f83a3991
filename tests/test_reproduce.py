import csv
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acer_tf import run
from acer_tf.experiments.results import CURVES, SEEDS, Result, read
from acer_tf.plots.series import read_returns
from acer_tf.reproduce import keep, main, try_to_keep
from acer_tf.system.provenance import commit
from tests.experiments.samples import planned, write_tiny
from tests.experiments.samples import run as run_of_sample

FLAGS = "--num_env 2 --nsteps 5 --buffer_size 500 --replay_start 100 --replay_ratio 1 --num_layers=1"


class Place:
    """An experiment and its folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out"
        self.results = folder / "results"
        self.words = [write_tiny(folder), "--out", str(self.out), "--results", str(self.results)]

    def run_folder(self, variation: str) -> Path:
        return self.out / variation / "CartPole-v1" / "seed-4"

    def result(self, variation: str) -> Result:
        return read(self.results / "tiny")[variation, "CartPole-v1", 4]

    @property
    def files(self) -> dict[str, bytes]:
        return {name: (self.results / "tiny" / name).read_bytes() for name in (SEEDS, CURVES)}

    def lose(self, variation: str) -> None:
        """Deletes the rows of a variation."""
        for name, content in self.files.items():
            kept = [line for line in content.splitlines(keepends=True) if not line.startswith(f"{variation},".encode())]
            (self.results / "tiny" / name).write_bytes(b"".join(kept))

    @property
    def page(self) -> str:
        return (self.results / "tiny" / "README.md").read_text(encoding="utf-8")

    def copy(self, folder: Path, *parts: str) -> "Place":
        """The same experiment elsewhere, with some of its folders."""
        for part in parts:
            shutil.copytree(self.folder / part, folder / part)
        return Place(folder)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """An experiment of two trainings, one of which was run before, in the folder where a sweep would have run it."""
    place = Place(tmp_path_factory.mktemp("experiment"))
    words = (
        f"--env CartPole-v1 --seed 4 --logdir {place.run_folder('a')} --total_timesteps 2e3 --verbose 0 {FLAGS}".split()
    )
    assert run.main(words) == 0
    changed = (place.run_folder("a") / "model.zip").stat().st_mtime_ns
    assert main(place.words) == 0
    assert (place.run_folder("a") / "model.zip").stat().st_mtime_ns == changed
    return place


def test_a_run_that_was_there_is_adopted_and_the_missing_one_is_run(done: Place) -> None:
    assert sorted(path.name for path in done.out.iterdir() if path.is_dir()) == ["a", "b"]
    for variation in ("a", "b"):
        steps, returns = read_returns(done.run_folder(variation))
        kept = done.result(variation)
        assert kept.facts["processor_seconds"] > 0.5 and kept.facts.get("commit") == commit()
        assert kept.is_whole and kept.training.episodes.sum() == len(returns)
        assert kept.training.score(0, 2000) == pytest.approx(returns.mean(), rel=1e-4)
        assert kept.training.score(1000, 2000) == pytest.approx(returns[steps > 1000].mean(), rel=1e-4)
    with (done.out / "sweep.csv").open() as file:
        assert [line.split(",")[0] for line in file][1:] == ["b CartPole-v1"]


def test_the_report_has_verdicts_scores_and_seeds(done: Place) -> None:
    page = done.page
    assert "**2 of 2 runs are complete; criteria: 1 of 2 reproduced, 1 not reproduced.**" in page
    assert "| a reaches 1 with every seed, from 90 % to 100 % of the run | CartPole-v1 |" in page
    score = done.result("a").training.score(1800, 2000)
    assert f"| CartPole-v1 | a | 1 of 1 | {score:.4g} | {score:.4g} |  | 0." in page
    assert "* Seeds: 4." in page and "![Mean raw return over agent steps](curves.png)" in page
    assert (done.results / "tiny" / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_results_are_enough_where_the_run_folders_are_not(
    done: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = done.copy(tmp_path, "results")
    assert main(place.words) == 0
    assert "tiny: 2 runs, 2 of them in" in capsys.readouterr().out
    assert not place.out.exists()
    assert place.page.split("\n    python")[0] == done.page.split("\n    python")[0]


def test_a_missing_result_is_made_of_its_run_folder(done: Place, tmp_path: Path) -> None:
    place = done.copy(tmp_path, "results", "out")
    place.lose("b")
    assert main([*place.words, "--report_only"]) == 0
    assert place.files == done.files


def test_a_report_is_written_without_tensorflows_greeting(tmp_path: Path) -> None:
    words = ["presets-classic", "--report_only", "--out", str(tmp_path / "out"), "--results", str(tmp_path / "results")]
    command = [sys.executable, "-m", "acer_tf.reproduce", *words]
    shown = subprocess.run(command, capture_output=True, text=True)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "0 of 15 runs are complete" in shown.stdout


def test_a_report_of_a_part_says_so(done: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = done.copy(tmp_path, "results")
    place.lose("b")
    assert main([*place.words, "--report_only"]) == 0
    assert "1 of 2 runs are complete" in capsys.readouterr().out
    assert "**1 of 2 runs are complete; criteria: 1 of 2 reproduced, 1 incomplete.**" in place.page
    assert (
        "| b reaches 1000 with every seed, from 90 % to 100 % of the run | CartPole-v1 | 0 of 1 seeds | incomplete |"
        in place.page
    )


def test_results_and_runs_of_other_settings_are_refused(
    done: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = done.copy(tmp_path, "results", "out")
    other = [write_tiny(tmp_path, flags={"nsteps": 7}), *place.words[1:]]
    before = place.files
    assert main([*other, "--report_only"]) == 2
    error = capsys.readouterr().err
    assert "a, CartPole-v1, seed 4 in " in error
    assert "seeds.csv has different settings: buffer_size 500 (now None), nsteps 5 (now 7)" in error
    shutil.rmtree(place.results)
    assert main([*other, "--report_only"]) == 2
    assert "has different settings: buffer_size 500 (now None)" in capsys.readouterr().err
    assert not place.results.exists() and before == done.files


def test_a_result_that_cannot_be_written_ends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_of_sample(tmp_path, [1.0, 2.0])
    (tmp_path / "results").touch()
    try_to_keep(tmp_path / "results", planned(tmp_path), (0.9, 1.0))
    error = capsys.readouterr().err
    assert "run is not kept yet: " in error and "cannot be written" in error
    (tmp_path / "results").unlink()
    try_to_keep(tmp_path / "results", planned(tmp_path), (0.9, 1.0))
    assert read(tmp_path / "results")["a", "A/B-v0", 3].facts["trained"] == 200


def test_scores_follow_the_window_of_the_experiment(tmp_path: Path) -> None:
    run_of_sample(tmp_path, [1.0, 2.0, 3.0, 4.0, 5.0])
    scores = []
    for trainings, window in (([planned(tmp_path)], (0.8, 1.0)), ([], (0.0, 0.4))):
        keep(tmp_path / "results", trainings, window)
        with (tmp_path / "results" / SEEDS).open(newline="") as file:
            scores += [row["score"] for row in csv.DictReader(file)]
    assert scores == ["5.0", "1.5"]


def test_files_of_somebody_else_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The results of mine/tiny.yml in the folder above it would be in mine."""
    place = Place(tmp_path)
    folder = tmp_path / "results" / "tiny"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("# My thesis\n")
    (folder / "curves.csv").write_text("steps,mean_return\n")
    assert main([*place.words, "--report_only"]) == 2
    assert f"{folder} holds files that acer reproduce did not write; choose another" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "curves.csv"]
    (tmp_path / "results" / "README.md").write_text("# Results of my thesis\n")
    (folder / "README.md").write_text("# Tiny\n")
    assert main([*place.words, "--report_only"]) == 2
    assert "README.md was not written by acer reproduce" in capsys.readouterr().err


def test_a_file_of_ones_own_with_the_name_of_an_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(write_tiny(tmp_path)).rename(tmp_path / "zoo.yml")
    assert main([str(path), "--report_only"]) == 2
    assert "zoo.yml has the name of an experiment of this package, which keeps its results" in capsys.readouterr().err


def test_the_page_has_the_command_that_goes_on(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write_tiny(tmp_path, steps_per_second=0.1)
    assert main([*place.words, "--steps", "500", "--report_only"]) == 0
    assert "left: about 2.8 hours." in place.page  # of two runs of 500 steps
    folders = ["--results", str(place.results), "--out", str(place.out)]
    words = shlex.join([*place.words[:1], "--steps", "500", *folders])
    assert f"python -m acer_tf.reproduce {words}\n" in place.page


def test_nothing_has_been_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = Place(tmp_path)
    assert main([*place.words, "--report_only"]) == 0
    assert "**0 of 2 runs are complete; criteria: 0 of 2 reproduced, 2 incomplete.**" in place.page
    assert "curves.png" not in place.page
    capsys.readouterr()
    assert main(["--list", "--results", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (minatar,) = (line for line in lines if line.startswith("minatar-original "))
    assert minatar.split("  ")[0] == "minatar-original" and minatar.split()[-5:] == ["0", "of", "25", "not", "run"]
    assert "5 environments, 1 variation, 5 seeds, 300k steps" in minatar and "about 89 min" in minatar


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "no experiment is given; expected one of ablation, action-masks"),
        ("zooo", "experiment 'zooo' does not exist; the nearest are zoo"),
        ("zoo --seeds 0", "seeds is 0; expected a whole number >= 1"),
        ("zoo --workers 0", "workers is 0; expected a whole number >= 1"),
        ("zoo --steps 5", "needs a folder of its own: --results DIR"),
        ("zoo --variations zo", "zoo has no variation 'zo'; the nearest are zoo"),
        ("zoo --sedes 3", "--sedes is not a flag; the nearest is --seeds"),
    ],
)
def test_bad_input_is_one_sentence(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_what_the_page_needs_is_known_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    place = Place(tmp_path)
    assert main(place.words) == 2
    assert 'reports need jinja2; install it with: pip install -e ".[plots]".' in capsys.readouterr().err
    assert not place.out.exists() and not place.results.exists()
