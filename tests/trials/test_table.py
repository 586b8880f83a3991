from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.trials.scheduler import Trial
from acer_tf.trials.table import COLUMNS, SweepTable, summary


def row(name: str, seed: int, status: str, mean: str) -> dict[str, str]:
    return {"name": name, "seed": str(seed), "status": status, "steps": "10", "episodes": "2", "mean_return": mean}


def test_a_table_that_cannot_be_written_is_written_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = SweepTable(tmp_path / "sweep.csv")
    first, second = (Trial("CartPole-v1", seed, tmp_path / str(seed), ("acer_tf.run",)) for seed in (0, 1))
    (tmp_path / "sweep.csv").mkdir()
    table.update(first, "failed")
    assert "sweep.csv cannot be written (Is a directory); it will be tried again" in capsys.readouterr().err
    (tmp_path / "sweep.csv").rmdir()
    table.update(second, "failed")
    assert [row["seed"] for row in SweepTable(tmp_path / "sweep.csv").rows([first, second])] == ["0", "1"]


def test_the_summary_is_over_seeds_that_are_done() -> None:
    rows = [
        row("a", 0, "done", "1"),
        row("a", 1, "failed", "90"),
        row("b", 0, "stopped", "2"),
        row("a", 2, "done", "3"),
        row("a", 3, "done", "nan") | {"episodes": "0"},
    ]
    assert summary(rows).splitlines() == [
        "name  seed  status   steps  episodes  mean_return",
        "a     0     done     10     2         1",
        "a     1     failed   10     2         90",
        "b     0     stopped  10     2         2",
        "a     2     done     10     2         3",
        "a     3     done     10     0         nan",
        "a: 2.0 +- 1.4 over 2 seeds",
    ]
    assert summary(rows[:1]).splitlines()[-1] == "a: 1.0 over 1 seed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,seed\na,1\n", "lacks a column steps or episodes or mean_return; .* choose another folder with --out"),
        (
            f"{','.join(COLUMNS)}\na,0,done,1,1,high,f,c\n",
            "has a cell under steps or episodes or mean_return that is not",
        ),
        (f"{','.join(COLUMNS)}\n{'a' * 140_000}", r"cannot be read \(field larger than field limit"),
    ],
)
def test_a_table_of_something_else_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "sweep.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        SweepTable(tmp_path / "sweep.csv")


def test_only_the_same_command_that_ended_well_is_done(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "seed-0"
    folder.mkdir(parents=True)
    (folder / "episodes.csv").write_text("steps,return\n" + "".join(f"{i},{i}.5\n" for i in range(1, 301)))
    trial = Trial("a", 0, folder, ("acer_tf.run", "--env", "A B"))
    written = SweepTable(tmp_path / "sweep.csv").update(trial, "stopped")
    assert (written["steps"], written["episodes"], written["mean_return"]) == ("300", "300", "251")
    (folder / "checkpoints" / "step-000000000320").mkdir(parents=True)  # twenty steps into the next episode
    assert SweepTable(tmp_path / "sweep.csv").update(trial, "stopped")["steps"] == "320"
    unfinished = trial._replace(folder=tmp_path / "a" / "seed-1")  # still in its first episode
    (unfinished.folder / "checkpoints" / "step-000000000040").mkdir(parents=True)
    begun = SweepTable(tmp_path / "sweep.csv").update(unfinished, "stopped")
    assert (begun["steps"], begun["episodes"], begun["mean_return"]) == ("40", "0", "nan")
    assert not SweepTable(tmp_path / "sweep.csv").is_done(trial)
    SweepTable(tmp_path / "sweep.csv").update(trial, "done")
    read = SweepTable(tmp_path / "sweep.csv")
    assert read.is_done(trial)
    assert not read.is_done(trial._replace(command=("acer_tf.run", "--env", "C")))
    folder.rename(tmp_path / "elsewhere")
    assert not read.is_done(trial)
    other = trial._replace(folder=tmp_path / "b" / "seed-0")
    assert not read.is_done(other)
    read.update(other, "failed")  # rows that are not asked for again stay
    assert [row["status"] for row in SweepTable(tmp_path / "sweep.csv").rows([trial, other])] == ["done", "failed"]
