import csv
import errno
import os
import re
import shlex
import signal
from pathlib import Path

import optuna
import pytest
import yaml

from acer_tf import run
from acer_tf.config import CONTINUOUS
from acer_tf.configs.presets import load_preset
from acer_tf.search.results import write_preset
from acer_tf.sweep import main
from tests.faults.processes import training
from tests.faults.test_sweep import sweep_command

SPACE = """
lr: {low: 1e-4, high: 1e-2, log: true}
num_env: {low: 1, high: 3, int: true}
num_layers: {choices: [1, 2]}
"""


def words(tmp_path: Path, space: str = SPACE, *more: str) -> list[str]:
    (tmp_path / "space.yml").write_text(space)
    return ["--search", str(tmp_path / "space.yml"), "--out", str(tmp_path / "out"), "--envs", "CartPole-v1", *more]


@pytest.mark.parametrize(
    ("space", "more", "message"),
    [
        ("lrr: {low: 1, high: 2}", "", "lrr cannot be set in a file; the nearest are lr,"),
        ("gamma: {low: 0.9, high: 1.1}", "", "gamma 1.1 cannot work: gamma is 1.1; expected a number between 0 and 1."),
        ("nlstm: {choices: [64]}", "", "nlstm 64 cannot work: --nlstm is not a flag, nor an argument of network 'mlp'"),
        ("network: {choices: [mlp, lstn]}", "", "network lstn cannot work: network 'lstn' does not exist"),
        ("num_env: {low: 1, high: 2}", "", "num_env 1.382 cannot work: --num_env: expected a whole number"),
        ("seed: {choices: [1]}", "", "seed cannot be set in a file"),
        (SPACE, "--lr 0.1", "lr is set by another flag of this command; leave out one of them."),
        (SPACE, "--trials 0", "trials is 0; expected a whole number >= 1."),
        (SPACE, "--sampler tpee", "--sampler: expected one of tpe, random, got 'tpee'."),
        (SPACE, "--envs CartPole-v1 Acrobot-v1", "a search needs one environment or preset"),
    ],
)
def test_what_cannot_work_is_one_sentence_and_starts_nothing(
    tmp_path: Path, space: str, more: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words(tmp_path, space), *more.split()]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_journal_waits_for_room_has_its_status(
    tmp_path: Path, signum: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def on_a_full_disk(self: object, logs: object) -> None:
        os.kill(os.getpid(), signum)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(optuna.storages.journal.JournalFileBackend, "append_logs", on_a_full_disk)
    assert main(words(tmp_path)) == 128 + signum
    out, error = capsys.readouterr()
    assert "search.journal cannot be written (No space left on device); go on later." in error
    assert "\nresume with: " in f"\n{out}"


def test_flags_of_a_search_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--envs", "CartPole-v1", "--trials", "3"]) == 2
    assert capsys.readouterr().err == "error: --trials has no effect without --search FILE.\n"


def test_what_no_preset_holds_is_to_be_given_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"env": "Ant-v5", "network": "mlp", "num_layers": 1, "gamma": 0.9, "segments_per_update": 4}
    settings |= vars(CONTINUOUS)
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.yml").write_text(yaml.safe_dump(settings | {"env_kwargs": {"xml_file": "./own.xml"}}))
    left = write_preset(tmp_path / "best.yml", run, "best of two")
    assert "segments_per_update" in left and not left & {"gamma", "num_layers", "network"}
    assert "best.yml leaves env_kwargs out (" in capsys.readouterr().err
    assert load_preset(str(tmp_path / "best.yml")).config["gamma"] == 0.9


@pytest.mark.slow
def test_a_search_ends_with_a_preset_a_table_and_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--trials", "2", "--seeds", "1", "--total_timesteps", "120", "--nsteps", "5", "--gamma", "0.9"]
    assert main(words(tmp_path, SPACE, *flags)) == 0
    printed, out = capsys.readouterr().out, tmp_path / "out"
    with (out / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["state"] for row in rows] == ["complete", "complete"]
    for number, row in enumerate(rows):
        episodes = list(csv.DictReader((out / f"trial-00{number}" / "seed-0" / "episodes.csv").open()))
        mean = sum(float(e["return"]) for e in episodes) / len(episodes)
        assert float(row["mean_return"]) == pytest.approx(mean, rel=1e-4)
    best = max(range(2), key=lambda number: float(rows[number]["mean_return"]))
    assert f"best: trial {best}, mean return {rows[best]['mean_return']}" in printed

    of_preset = run.read(["--preset", str(out / "best.yml")])
    (line,) = re.findall(
        r"^command: .*?(--env .*(?:\n  .*)*)", (out / f"trial-00{best}/seed-0/config.yml").read_text(), re.M
    )
    of_trial = run.read(shlex.split(line))
    assert of_preset.config == of_trial.config
    assert of_preset.config.gamma == 0.9
    assert of_preset.config.lr == float(rows[best]["lr"])
    environment = of_preset.environment
    assert (environment.env, environment.num_env) == ("CartPole-v1", int(rows[best]["num_env"]))
    assert of_preset.network_kwargs == of_trial.network_kwargs
    for picture in ("history", "importances", "slices"):
        assert (out / f"{picture}.png").read_bytes().startswith(b"\x89PNG")

    assert main(words(tmp_path, SPACE, *flags)) == 0  # nothing is left to do
    assert "2 begun before" in capsys.readouterr().out
    assert main(words(tmp_path, SPACE.replace("1e-4", "1e-5"), *flags)) == 2
    assert "holds a search with another space; choose another folder with --out." in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_a_killed_search_goes_on_with_the_same_trials(tmp_path: Path) -> None:
    (tmp_path / "space.yml").write_text("lr: {low: 1e-4, high: 1e-2, log: true}\n")
    out = tmp_path / "out"
    search = {"search": tmp_path / "space.yml", "trials": 3, "seeds": 1, "workers": 2, "pruner": "none"}
    command = sweep_command(out, 6000, **search)
    first = out / "trial-000" / "seed-0"
    with training(first, command) as sweep:
        sweep.wait_for_checkpoint(1000)
        sweep.kill()
    (tried,) = re.findall(r"--lr=\S+", (first / "config.yml").read_text())
    with training(first, command) as sweep:
        sweep.wait_for_checkpoint(2000)
        sweep.process.send_signal(signal.SIGINT)
        assert sweep.end() == 130, sweep.said
    with training(first, command) as sweep:
        assert sweep.end() == 0, sweep.said
    with (out / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["state"] for row in rows] == ["complete"] * 3
    assert f"--lr={rows[0]['lr']}" == tried
    assert len({row["lr"] for row in rows}) == 3
    log = first.with_suffix(".log").read_text()
    assert log.count("resumed at step") == 2 and "done at step 6,000" in log
    assert not list(out.glob("trial-003"))
