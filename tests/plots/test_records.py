from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.plots.records import read_records
from tests.plots.samples import write_run


def test_a_run_is_known_by_its_files(tmp_path: Path) -> None:
    finished = write_run(tmp_path / "a", [1.0, 2.0], env="A-v0", network="mlp", lr=0.1, seed=3)
    (finished / "model.zip").touch()
    (finished / "evaluations.csv").write_text("steps,mean_return\n100,7\n")
    running = write_run(tmp_path / "b", [], env="A-v0", network="mlp", lr=0.2)
    first, second = read_records([finished, running], ("seed",))
    assert (first.env, first.setting, first.score) == ("A-v0", "lr=0.1", 1.5)
    assert (first.seconds, first.is_finished) == (120, True)
    assert first.evaluations is not None and first.evaluations.values.tolist() == [7]
    assert (second.setting, second.score, second.seconds, second.is_finished) == ("lr=0.2", None, None, False)
    assert second.episodes is None and second.evaluations is None


def test_the_score_is_that_of_the_last_hundred_episodes(tmp_path: Path) -> None:
    (record,) = read_records([write_run(tmp_path / "a", [0.0] * 50 + [3.0] * 100, env="A-v0")], ())
    assert record.score == 3


def test_a_run_that_has_only_begun_has_its_settings(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", [1.0], env="A-v0")
    for name in ("episodes.csv", "monitor.csv"):
        (folder / name).unlink()
    assert read_records([folder], ())[0].settings == {"env": "A-v0"}


def test_other_folders_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run; expected the folder of one"):
        read_records([tmp_path], ())


def test_a_folder_of_runs_stands_for_all_of_them(tmp_path: Path) -> None:
    for seed in (0, 1):
        write_run(tmp_path / "sweep" / f"seed-{seed}", [1.0] * seed, env="A-v0", seed=seed)
    first, second = read_records([tmp_path / "sweep"], ("seed",))
    assert (first.score, second.score) == (None, 1.0)
