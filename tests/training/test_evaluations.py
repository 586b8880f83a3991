import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf import ACER
from acer_tf.config import MAX_EPISODE_STEPS
from acer_tf.envs.atari.game import FRAMES_PER_STEP, MAX_EPISODE_FRAMES
from acer_tf.evaluation.episodes import Played, evaluate_policy
from acer_tf.logs.files import file_logger
from acer_tf.logs.logger import Logger
from acer_tf.run import main
from acer_tf.storage.checkpoint import step_folder
from acer_tf.training.evaluations import Evaluations
from acer_tf.training.job import EvaluationSettings
from tests import event_files
from tests.faults.processes import TINY
from tests.small_agents import everything, tiny, vec_env

EVALUATED = {"eval_every": 200, "eval_episodes": 3}


def train(folder: Path, **flags: Any) -> Path:
    settings = TINY | {"num_timesteps": 600, "checkpoint_every": 200, "replay_ratio": 2, "log_interval": 10} | flags
    words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    assert main([*words, "--logdir", str(folder)]) == 0
    return folder


def evaluations(
    agent: ACER, logger: Logger, folder: Path, deterministic: bool = False, max_episode_steps: int = 0
) -> Evaluations:
    settings = EvaluationSettings(100, 2, deterministic, max_episode_steps)
    return Evaluations(agent, logger, vec_env, settings, 1, folder)


def test_the_limit_of_the_command_is_that_of_the_function() -> None:
    assert EvaluationSettings().eval_max_episode_steps == MAX_EPISODE_STEPS == MAX_EPISODE_FRAMES // FRAMES_PER_STEP


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "evaluations.csv").open()))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("runs") / "evaluated", **EVALUATED)


def test_training_does_not_depend_on_evaluations(run: Path, tmp_path: Path) -> None:
    """To the byte, streams of predictions and all."""
    without = train(tmp_path / "run")
    for name in ("model.zip", "episodes.csv"):
        assert (run / name).read_bytes() == (without / name).read_bytes()
    assert not (without / "evaluations.csv").exists() and not (without / "best.zip").exists()


def test_the_curve_is_in_every_log_and_the_best_agent_is_kept(run: Path) -> None:
    found = rows(run)
    assert [(row["steps"], row["episodes"]) for row in found] == [("200", "3"), ("400", "3"), ("600", "3")]
    means = [float(row["mean_return"]) for row in found]
    assert [float(row["mean_length"]) for row in found] == pytest.approx(means, abs=1e-5)  # CartPole pays 1 a step
    lines = [json.loads(line) for line in (run / "progress.jsonl").read_text().splitlines()]
    logged = [(line["time/total_timesteps"], line["eval/mean_return"]) for line in lines if "eval/mean_return" in line]
    assert logged == [(step, pytest.approx(mean, abs=1e-5)) for step, mean in zip((200, 400, 600), means, strict=True)]
    points = event_files.read(run / "tb")["eval/mean_return"]
    assert points == [(step, pytest.approx(mean, rel=1e-6)) for step, mean in zip((200, 400, 600), means, strict=True)]
    best = ACER.load(run / "best.zip")
    assert best.num_timesteps == 200 * (1 + int(np.argmax(means)))
    then = ACER.load(step_folder(run / "checkpoints", best.num_timesteps))
    np.testing.assert_equal(everything(best), everything(then))


def test_a_resumed_run_has_the_same_curve_and_the_same_best(run: Path, tmp_path: Path) -> None:
    """Rows after the checkpoint are there once, and the best so far is known."""
    again = shutil.copytree(run, tmp_path / "run")
    for step in (400, 600):
        shutil.rmtree(step_folder(again / "checkpoints", step))
    train(again, **EVALUATED)
    for name in ("evaluations.csv", "best.zip", "model.zip"):
        assert (again / name).read_bytes() == (run / name).read_bytes(), name


def test_the_best_of_steps_that_are_lost_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As after a kill: best.zip is of an agent that no checkpoint has."""
    agent = tiny()
    agent.num_timesteps = 400
    agent.save(tmp_path / "best.zip")
    lost = (tmp_path / "best.zip").read_bytes()
    resumed = evaluations(agent, file_logger(tmp_path, None), tmp_path)
    resumed.load_state_dict({"step": 400, "best": 5.0})
    assert (tmp_path / "best.zip").read_bytes() == lost and resumed.state_dict() == {"step": 400, "best": 5.0}
    resumed.load_state_dict({"step": 200, "best": 5.0})
    assert "best.zip is from step 400, which this run has not reached yet; it is now " in capsys.readouterr().err
    assert (tmp_path / "best-000000000400.zip").read_bytes() == lost and not (tmp_path / "best.zip").exists()
    assert resumed.state_dict() == {"step": 200, "best": None}


def test_an_evaluation_that_was_abandoned_stays_due(tmp_path: Path) -> None:
    """As SIGTERM abandons one: nothing is written, the checkpoint says so, and the next process makes up for it."""
    agent = tiny()
    before, results = everything(agent), []
    agent.num_timesteps = 250
    for name, states in (("at once", []), ("abandoned", [{"step": 0, "best": None}])):
        (tmp_path / name).mkdir()
        logger = file_logger(tmp_path / name, None)
        made = [evaluations(agent, logger, tmp_path / name) for _ in "ab"]
        if states:
            made[0].if_due(lambda: False)
            assert made[0].state_dict() == states[0] and not (tmp_path / name / "evaluations.csv").exists()
        made[1].load_state_dict(made[0].state_dict())
        made[1].if_due(lambda: True)
        made[1].if_due(lambda: pytest.fail("not due"))
        results.append((tmp_path / name / "evaluations.csv").read_bytes())
        assert made[1].state_dict() == {"step": 250, "best": float(rows(tmp_path / name)[0]["mean_return"])}
        logger.close()
    assert results[0] == results[1] and results[0].count(b"\n") == 2
    np.testing.assert_equal(everything(agent), before)


def test_a_mean_that_is_no_number_is_no_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, returns = tiny(), iter([np.nan, 1.0, np.nan, 0.5])
    found = evaluations(agent, Logger(), tmp_path)
    monkeypatch.setattr(found, "_evaluate", lambda *_: [Played(0, next(returns), 3, False)])
    best = []
    for step in (100, 200, 300, 400):
        agent.num_timesteps = step
        found.if_due(lambda: True)
        best.append(found.state_dict()["best"])
    assert best == [None, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("is_killed", [False, True])
def test_the_best_agent_waits_until_it_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_killed: bool
) -> None:
    """A worse agent never takes its place, nor does the end of the process lose it."""
    agent, best = tiny(), tmp_path / "best.zip"
    logger = file_logger(tmp_path, None)
    course = evaluations(agent, logger, tmp_path)
    means = iter([5.0, 12.0, 7.0])
    monkeypatch.setattr(course, "_evaluate", lambda *_: [Played(0, next(means), 9)])
    agent.num_timesteps = 100
    course.if_due(lambda: True)
    best.unlink()
    best.mkdir()  # in the way
    agent.num_timesteps = 200
    course.if_due(lambda: True)
    assert "best.zip cannot be written (Is a directory); it is kept in memory." in capsys.readouterr().err
    if is_killed:
        again = evaluations(agent, logger, tmp_path)
        again.load_state_dict(course.state_dict())
        monkeypatch.setattr(again, "_evaluate", course._evaluate)
        course = again
    with pytest.raises(IsADirectoryError):
        course.write()
    best.rmdir()
    agent.num_timesteps = 300
    course.if_due(lambda: True)
    logger.close()
    assert ACER.load(best).num_timesteps == 200
    assert course.state_dict() == {"step": 300, "best": 12.0}


def test_actions_are_sampled_unless_the_most_probable_ones_are_wanted(tmp_path: Path) -> None:
    agent = tiny()
    agent.num_timesteps = 250
    of_env = int(np.random.SeedSequence([1, 250], spawn_key=(0,)).generate_state(2)[0])
    expected, _ = evaluate_policy(agent, vec_env(), n_eval_episodes=2, deterministic=True, seed=of_env)
    means = {}
    for deterministic in (False, True):
        folder = tmp_path / str(deterministic)
        folder.mkdir()
        logger = file_logger(folder, None)
        evaluations(agent, logger, folder, deterministic).if_due(lambda: True)
        logger.close()
        means[deterministic] = float(rows(folder)[0]["mean_return"])
    assert means[True] == expected != means[False]


def test_episodes_that_were_cut_are_counted_in_the_output_and_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = tiny()
    agent.num_timesteps = 250
    logger = file_logger(tmp_path, None)
    evaluations(agent, logger, tmp_path, max_episode_steps=5).if_due(lambda: True)
    logger.close()
    assert [(row["mean_length"], row["cut"]) for row in rows(tmp_path)] == [("5.0", "2")]
    assert "(2 of 2 episodes cut after 5 steps), the best so far" in capsys.readouterr().out
    line = json.loads((tmp_path / "progress.jsonl").read_text().splitlines()[-1])
    assert line["eval/cut"] == 2


def test_a_file_without_the_column_goes_on_without_it(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.csv"
    path.write_text("steps,episodes,mean_return,std_return,mean_length\n100,2,1.0,0.0,9.0\n")
    logger = file_logger(tmp_path, None)
    logger.load_state_dict({path.name: path.stat().st_size})
    agent = tiny()
    agent.num_timesteps = 250
    evaluations(agent, logger, tmp_path, max_episode_steps=5).if_due(lambda: True)
    logger.close()
    assert [row["steps"] for row in rows(tmp_path)] == ["100", "250"]
    assert all(None not in row for row in rows(tmp_path)), "as many numbers as names"
