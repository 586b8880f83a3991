from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.experiments.findings import find
from acer_tf.experiments.index import check_index, read_results, rows, write_index
from acer_tf.experiments.plan import plan
from acer_tf.experiments.reading import experiment_names, load_experiment
from acer_tf.experiments.results import check_same, read, write
from acer_tf.trials.execution import Execution
from tests.experiments.samples import experiment, result

ROOT = Path(__file__).parents[2]


def test_results_are_those_of_the_experiments_steps_ordered_by_seed(tmp_path: Path) -> None:
    short = result(1.0, 3)
    short = short._replace(facts={**short.facts, "steps": 10})
    write(tmp_path, [result(1.0, 10), result(1.0, 9), short, result(1.0, 3, "c")], (0.5, 1.0))
    found = read_results(tmp_path, experiment())
    assert [*found] == [("a", "CartPole-v1"), ("b", "CartPole-v1")]
    assert [r.facts["seed"] for r in found["a", "CartPole-v1"]] == [9, 10]
    assert found["b", "CartPole-v1"] == []


def test_the_page_lists_every_experiment_and_links_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "README.md").touch()
    write_index(tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    for name in experiment_names():
        shown = "[zoo](zoo/README.md)" if name == "zoo" else name
        assert f"| {shown} | {load_experiment(name).claim} (" in text
    assert "| 0 of 20 | about 56 min | not run |" in text
    write_index(tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == text


def test_the_page_links_the_searches_if_there_are_some(tmp_path: Path) -> None:
    write_index(tmp_path)
    assert "searches.md" not in (tmp_path / "README.md").read_text(encoding="utf-8")
    (tmp_path / "searches.md").touch()
    write_index(tmp_path)
    assert "[searches.md](searches.md)" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_time_is_what_was_spent_and_what_is_left(tmp_path: Path) -> None:
    def time(*seconds: float) -> str:
        found = [result(1.0, seed) for seed in range(len(seconds))]
        found = [r._replace(facts={**r.facts, "seconds": s}) for r, s in zip(found, seconds, strict=True)]
        ((_, _, time, _, _),) = rows([find(experiment(seeds=2), {("a", "CartPole-v1"): found})])
        return time

    assert time() == "about 1 min"  # 10 s a run of a, 20 s one of b
    assert time(36_000) == "10 h spent, about 10 h left"
    assert time(600, 1200) == "30 min spent, about 1 min left"


def test_a_page_of_somebody_else_is_kept(tmp_path: Path) -> None:
    check_index(tmp_path)
    (tmp_path / "README.md").write_text("# My thesis")
    with pytest.raises(InputError, match="was not written by acer reproduce; choose another folder with --results"):
        check_index(tmp_path)
    with pytest.raises(InputError, match="was not written by"):
        write_index(tmp_path)
    assert (tmp_path / "README.md").read_text() == "# My thesis"


def test_results_in_the_repository_are_of_the_experiments_as_they_are() -> None:
    """A change of an experiment's settings would orphan what has been run."""
    folder = ROOT / "docs" / "results"
    for name in (name for name in experiment_names() if (folder / name).is_dir()):
        e = load_experiment(name)
        found = read(folder / name)
        for planned in plan(e, e.seeds, Path("runs"), Execution()):
            if planned.key in found:
                check_same(folder / name, found[planned.key], planned)
