import csv
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.experiments.collecting import collect
from acer_tf.experiments.plan import plan
from acer_tf.experiments.reading import experiment_names, load_experiment
from acer_tf.experiments.results import CURVES, SEEDS, Returns, check_same, read, write
from acer_tf.trials.execution import Execution
from benchmarks import beside_others
from tests.experiments.samples import planned, result, run

ROOT = Path(__file__).parents[2]
RETURNS = [1.0, 2.0, 6.0, 4.0, 5.0]
WINDOW = (0.5, 1.0)
KEY = ("a", "A/B-v0", 3)


def test_files_hold_what_was_written(tmp_path: Path) -> None:
    run(tmp_path, [1 / 3, 1e6 / 7, *RETURNS], steps=700, versions={"python": "3.11"}, lost_replay=[9], commit="12e4")
    settings = {"max_grad_norm": None, "lr": 7e-4, "overlap": True, "env_kwargs": {"a": [1, "x"]}, "note": "3", "b": ""}
    kept = collect(planned(tmp_path, 700))
    assert kept is not None
    kept = kept._replace(facts={**kept.facts, "settings": settings})
    write(tmp_path / "x", [kept], WINDOW)
    found = read(tmp_path / "x")[KEY]
    assert found.facts == kept.facts
    for written, array in zip(found.training, kept.training, strict=True):
        np.testing.assert_allclose(written, array, rtol=5e-6)
    assert "\na,A/B-v0,3,training,105,0.333333,1,63\n" in (tmp_path / "x" / CURVES).read_text()
    before = (tmp_path / "x" / CURVES).read_bytes(), (tmp_path / "x" / SEEDS).read_bytes()
    write(tmp_path / "x", [], WINDOW)
    assert before == ((tmp_path / "x" / CURVES).read_bytes(), (tmp_path / "x" / SEEDS).read_bytes())


def test_seeds_have_a_row_each_in_order_with_a_score_once_they_are_whole(tmp_path: Path) -> None:
    write(tmp_path, [result(5.0, 10), result(3.0, 9), result(4.0, 2, "b", trained=900)], WINDOW)
    with (tmp_path / SEEDS).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["variation"], row["seed"], row["score"]) for row in rows] == [
        *(("a", "9", "3.0"), ("a", "10", "5.0"), ("b", "2", ""))
    ]
    assert {row["settings.env"] for row in rows} == {"CartPole-v1"} and rows[0]["processor_seconds"] == ""


def test_a_longer_result_replaces_a_shorter_one_and_nothing_else_does(tmp_path: Path) -> None:
    key = ("a", "CartPole-v1", 0)
    for score, trained in ((1.0, 400), (2.0, 900), (3.0, 300)):
        write(tmp_path, [result(score, trained=trained)], WINDOW)
    write(tmp_path, [result(7.0, 1)], WINDOW)
    assert read(tmp_path)[key].facts["trained"] == 900 and read(tmp_path)[key].training.score(500, 1000) == 2
    other = result(4.0, trained=1000)
    changed = other._replace(facts={**other.facts, "settings": {"env": "CartPole-v1", "gamma": 0.5}})
    with pytest.raises(InputError, match=r"a, CartPole-v1, seed 0 .* different settings: gamma None \(now 0\.5\)"):
        write(tmp_path, [result(8.0, 2), changed], WINDOW)
    with pytest.raises(InputError, match=r"steps 1000 \(now 2000\); choose another --results"):
        write(tmp_path, [other._replace(facts={**other.facts, "steps": 2000})], WINDOW)
    assert [found.facts["trained"] for found in read(tmp_path).values()] == [900, 1000]


def test_a_result_is_checked_against_the_plan(tmp_path: Path) -> None:
    run(tmp_path, RETURNS)
    training = planned(tmp_path)
    kept = collect(training)
    assert kept is not None and kept.key == training.key == KEY
    check_same(tmp_path, kept, training)
    with pytest.raises(InputError, match=r"nsteps None \(now 5\); choose another --results"):
        check_same(tmp_path, kept, planned(tmp_path, nsteps=5))


@pytest.mark.parametrize(
    ("name", "whole", "broken", "message"),
    [
        (SEEDS, "a,CartPole-v1,0,1000", "a,CartPole-v1,x,1000", "row 1 of .* has seed 'x'; expected a result of"),
        (SEEDS, "variation,", "note,", "has variation None; expected a result of acer reproduce"),
        (SEEDS, ",6,1.0,5.0", "", "has episodes 1.0; expected a result"),
        (CURVES, ",250,0,1", ",250,?,1", "is not a number"),
        (
            CURVES,
            "a,CartPole-v1,0,training,1000,4,1,5\n",
            "",
            "has 5 of the 6 episodes of .*; the file is damaged",
        ),
        (CURVES, "mean_return", "mean", "lacks a column"),
        (CURVES, "kind", "sort", "lacks a column variation or environment or seed or kind"),
        (CURVES, ",250,0,1", ",inf,0,1", "has a cell under steps that is not a finite number"),
        (CURVES, ",250,0,1", ",250,1e308,1", "that is not between"),
        (SEEDS, "a,CartPole-v1,0,1000", "a,CartPole-v1," + "[" * 9000 + ",1000", r"has seed '\[\["),
        (SEEDS, "a,CartPole-v1,0,1000", "a,CartPole-v1,0," + "9" * 4000, "has steps 999"),
        (SEEDS, ",6,1.0,5.0", ",6,NaN,5.0", "has last_100 nan; expected a result"),
        (SEEDS, ",6,1.0,5.0", ",6,1.0,1e999", "has seconds inf; expected a result"),
    ],
)
def test_damaged_files_are_refused_and_kept(tmp_path: Path, name: str, whole: str, broken: str, message: str) -> None:
    write(tmp_path, [result(1.0)], WINDOW)
    text = (tmp_path / name).read_text()
    assert whole in text
    (tmp_path / name).write_text(text.replace(whole, broken))
    for use in (lambda: read(tmp_path), lambda: write(tmp_path, [result(1.0, 5)], WINDOW)):
        with pytest.raises(InputError, match=message):
            use()
    assert (tmp_path / name).read_text() == text.replace(whole, broken)
    (tmp_path / CURVES).unlink()
    with pytest.raises(InputError, match=r"curves\.csv does not exist"):
        read(tmp_path)


def test_a_folder_without_results_has_none(tmp_path: Path) -> None:
    assert read(tmp_path) == read(tmp_path / "absent") == {}


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each adds its results one by one, as the runs of an experiment end."""
    code = (
        "import sys; from pathlib import Path; from acer_tf.experiments.results import write;"
        "from tests.experiments.samples import result;"
        "[write(Path(sys.argv[1]), [result(1.0, seed)], (0.5, 1.0)) for seed in range(int(sys.argv[2]), 40, 2)]"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, tmp_path, str(first)]) for first in (0, 1)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert [key[2] for key in read(tmp_path)] == list(range(40))
    assert sorted(path.name for path in tmp_path.iterdir()) == [CURVES, SEEDS]


def test_what_a_killed_writer_left_is_gone_with_the_next_write(tmp_path: Path) -> None:
    write(tmp_path, [result(1.0)], WINDOW)
    (tmp_path / f".{SEEDS}-notes").touch()
    code = (
        "import os, signal, sys; from pathlib import Path; from acer_tf.storage.durable import replacing\n"
        "with replacing(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path / SEEDS]).returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 4
    write(tmp_path, [result(2.0, 1)], WINDOW)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f".{SEEDS}-notes", CURVES, SEEDS]
    assert len(read(tmp_path)) == 2


def test_a_window_is_open_below_closed_above_and_weighted_by_episodes() -> None:
    returns = Returns(*np.array([[10.0, 20.0, 30.0], [1.0, 2.0, 5.0], [1.0, 1.0, 3.0], [1.0, 2.0, 3.0]]))
    assert returns.score(10, 30) == pytest.approx((2 + 15) / 4)
    assert returns.score(0, 10) == 1
    assert np.isnan(returns.score(30, 40))


FOLDERS = {name: ROOT / "docs" / "results" / name for name in experiment_names()}
FOLDERS |= {str(file): file.with_suffix("") for file in (ROOT / "docs" / "results" / "searches").glob("*.yml")}


@pytest.mark.parametrize(
    "name", sorted(n for n, folder in FOLDERS.items() if folder.is_dir()), ids=lambda n: Path(n).stem
)
def test_results_in_the_repository_are_of_the_experiments_as_they_are(name: str) -> None:
    """A change of an experiment's settings, or of a preset's, would orphan what has been run."""
    e = load_experiment(name)
    found = read(FOLDERS[name])
    trainings = {training.key: training for training in plan(e, 60, Path("runs"), Execution())}
    own = {key: run for key, run in found.items() if name != beside_others.NAME or key[0] == beside_others.OURS}
    assert own.keys() <= trainings.keys()
    for key, trained in own.items():
        check_same(FOLDERS[name], trained, trainings[key])
