import copy
import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from acer_tf.agent import ACER
from acer_tf.agent.run_logger import log_folder
from acer_tf.callbacks import BaseCallback, CheckpointCallback, EvalCallback
from acer_tf.envs.make import make_vec_env
from acer_tf.errors import InputError
from acer_tf.plot import main as plot
from acer_tf.storage.lock import locked
from tests.counter import Counter, counters
from tests.event_files import read, read_settings
from tests.small_agents import assert_same, tiny, vec_env
from tests.zips import members, write_members


def rows(path: Path) -> list[dict[str, str]]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def column(path: Path, name: str) -> list[float]:
    return [float(row[name]) for row in rows(path)]


def test_runs_are_numbered(tmp_path: Path) -> None:
    for is_new in (False, False, True):
        folder = log_folder(str(tmp_path / "tb"), "ACER", is_new)
        assert folder.is_dir() and folder == tmp_path / "tb" / f"ACER_{1 + is_new}"
    for name in ("ACER_1", "ACER_10", "ACER_x", "PACER_30", "ACER_2"):
        (tmp_path / name).mkdir()
    log = str(tmp_path)
    assert log_folder(log, "ACER", True).name == "ACER_11"
    assert log_folder(log, "ACER", False).name == "ACER_11"
    assert log_folder(log, "A.ER", True).name == "A.ER_1"


def test_a_name_may_have_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert log_folder("~/tb", "exp/one", True) == tmp_path / "tb" / "exp" / "one_1"
    assert log_folder("~/tb", "exp/one", False) == tmp_path / "tb" / "exp" / "one_1", "the same run goes on"
    assert log_folder("~/tb", "exp/one", True) == tmp_path / "tb" / "exp" / "one_2"


def test_a_run_goes_on_where_its_agent_was(tmp_path: Path) -> None:
    first, second = (log_folder(str(tmp_path), "ACER", True) for _ in range(2))
    assert log_folder(str(tmp_path), "ACER", False, first) == first
    assert log_folder(str(tmp_path), "ACER", False) == second
    assert log_folder(str(tmp_path), "other", False, first).name == "other_1"
    assert log_folder(str(tmp_path / "elsewhere"), "ACER", False, first) == tmp_path / "elsewhere" / "ACER_1"


def test_a_folder_that_another_has_made_in_the_meantime_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ACER_1").mkdir()
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    assert log_folder(str(tmp_path), "ACER", True) == tmp_path / "ACER_2"


def test_a_folder_that_cannot_be_made_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for log in (tmp_path / "file", tmp_path / "file" / "log"):
        with pytest.raises(InputError, match=r"file.* cannot be written \(.+\); choose another tensorboard_log"):
            log_folder(str(log), "ACER", True)


def counting(log: Path, **kwargs: Any) -> ACER:
    """Episodes of 1 and 2 steps."""
    return tiny(env=counters(2), tensorboard_log=log, **kwargs)


def test_files_of_a_run_are_those_of_the_commands_and_go_on(tmp_path: Path) -> None:
    agent, folder = counting(tmp_path), tmp_path / "ACER_1"
    agent.learn(20, log_interval=1)
    names = ("progress.csv", "progress.jsonl", "episodes.csv", "monitor.csv")
    before = {name: (folder / name).read_text() for name in names}
    assert column(folder / "progress.csv", "total_timesteps") == [0, 10]
    assert [json.loads(line)["time/total_timesteps"] for line in before["progress.jsonl"].splitlines()] == [0, 10]
    assert column(folder / "episodes.csv", "steps") == [10] * 7 + [20] * 8
    assert sorted(column(folder / "episodes.csv", "length")) == [1] * 10 + [2] * 5
    assert column(folder / "monitor.csv", "r") == column(folder / "episodes.csv", "return")

    counting(tmp_path).learn(10)  # has a folder of its own
    agent.learn(20, log_interval=1, reset_num_timesteps=False)
    agent.learn(10, log_interval=1, reset_num_timesteps=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ACER_1", "ACER_2"]
    for name, text in before.items():
        assert (folder / name).read_text().startswith(text)
    assert column(folder / "progress.csv", "total_timesteps") == [0, 10, 20, 30, 40]
    assert sorted(set(column(folder / "episodes.csv", "steps"))) == [10, 20, 30, 40, 50]
    assert len(rows(folder / "monitor.csv")) == len(rows(folder / "episodes.csv")) == 25 + 12
    assert [step for step, _ in read(folder)["train/loss"]] == [0, 10, 20, 30, 40]

    agent.learn(10, log_interval=1)
    assert column(tmp_path / "ACER_3" / "progress.csv", "total_timesteps") == [0]


def test_a_loaded_agent_goes_on_in_the_last_folder(tmp_path: Path) -> None:
    counting(tmp_path / "tb").learn(10, log_interval=1).save(tmp_path / "agent")
    agent = ACER.load(tmp_path / "agent", counters(2), tensorboard_log=tmp_path / "tb")
    agent.learn(10, log_interval=1, reset_num_timesteps=False)
    assert column(tmp_path / "tb" / "ACER_1" / "progress.csv", "total_timesteps") == [0, 10]


def test_seconds_of_training_go_on_in_a_new_process(tmp_path: Path) -> None:
    counting(tmp_path).learn(10).save(tmp_path / "agent")
    monitor = tmp_path / "ACER_1" / "monitor.csv"
    with monitor.open("a") as file:
        file.write("1.0,1,3600.5\n")
    before = len(rows(monitor))
    agent = ACER.load(tmp_path / "agent", counters(2), tensorboard_log=tmp_path)
    agent.learn(10, reset_num_timesteps=False).learn(10, reset_num_timesteps=False)
    seconds = column(monitor, "t")[before:]
    assert len(seconds) > 10 and seconds == sorted(seconds) and 3600.5 <= seconds[0] <= seconds[-1] < 3800
    agent.set_env(counters(2))  # with a clock of its own
    agent.learn(10, reset_num_timesteps=False)
    assert column(monitor, "t")[-1] >= seconds[-1]


def test_no_file_says_where_is_written(tmp_path: Path) -> None:
    """A stranger's agent would choose a folder."""
    agent = counting(tmp_path / "tb")
    agent.save(tmp_path / "agent")
    content = members(tmp_path / "agent.zip")
    data = json.loads(content["data.json"])
    assert "tensorboard_log" not in data["settings"]
    data["settings"]["tensorboard_log"] = str(tmp_path / "chosen")
    write_members(tmp_path / "agent.zip", content | {"data.json": json.dumps(data).encode()})
    loaded = ACER.load(tmp_path / "agent", counters(2)).learn(10)
    assert loaded.tensorboard_log is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.zip"]
    assert copy.deepcopy(agent).tensorboard_log == agent.tensorboard_log


class Record(BaseCallback):
    """Records twice the number of agent steps, in the second segment for the first time."""

    def _on_step(self) -> None:
        if self.num_timesteps > 10:
            self.logger.record("custom/twice", 2 * self.num_timesteps)


def test_callbacks_record_numbers_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent, folder = counting(tmp_path, verbose=1), tmp_path / "ACER_1"
    agent.learn(20, Record(), log_interval=1)
    agent.learn(10, log_interval=1, reset_num_timesteps=False)
    assert [row["custom/twice"] for row in rows(folder / "progress.csv")] == ["nan", "40", "nan"]
    lines = [json.loads(line) for line in (folder / "progress.jsonl").read_text().splitlines()]
    assert [line.get("custom/twice") for line in lines] == [None, 40, None]
    assert read(folder)["custom/twice"] == [(10, 40)]
    headers = [line.split() for line in capsys.readouterr().out.splitlines() if "steps/s" in line]
    assert [header[-1] for header in headers] == ["replay", "custom/twice", "replay"]
    assert plot([str(folder), "--metric", "custom/twice", "--out", str(tmp_path / "twice.png")]) == 0


def test_an_agent_that_has_not_learned_yet_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    for number in (1, 2):
        counting(tmp_path).learn(10, log_interval=1, reset_num_timesteps=False)
        assert column(tmp_path / f"ACER_{number}" / "progress.csv", "total_timesteps") == [0]


def test_statistics_of_another_agent_are_left_alone(tmp_path: Path) -> None:
    counting(tmp_path / "tb").learn(10, log_interval=1).save(tmp_path / "agent")
    file = tmp_path / "tb" / "ACER_1" / "progress.csv"
    text = file.read_text()
    agent = ACER.load(tmp_path / "agent", counters(2), trust_region=False, tensorboard_log=tmp_path / "tb")
    with pytest.raises(InputError, match=r"progress\.csv has one header for all rows; missing in some: .*average_kl"):
        agent.learn(10, log_interval=1, reset_num_timesteps=False)
    assert file.read_text() == text


def test_a_folder_in_which_somebody_trains_is_refused(tmp_path: Path) -> None:
    agent = counting(tmp_path).learn(10)
    with locked(tmp_path / "ACER_1"), pytest.raises(InputError, match="ACER_1 is locked by process"):
        agent.learn(10, reset_num_timesteps=False)
    assert agent.learn(10, reset_num_timesteps=False).num_timesteps == 20


def test_episodes_are_written_too_when_a_callback_ends_training(tmp_path: Path) -> None:
    agent = counting(tmp_path)
    agent.learn(100, lambda _, __: agent.num_timesteps < 14)
    assert agent.num_timesteps == 14
    assert column(tmp_path / "ACER_1" / "episodes.csv", "steps") == [10] * 7 + [14] * 3
    assert len(rows(tmp_path / "ACER_1" / "monitor.csv")) == 10


def test_a_run_is_plotted_by_its_folder(tmp_path: Path) -> None:
    tiny(env=Counter(1), tensorboard_log=tmp_path).learn(40)
    assert plot([str(tmp_path / "ACER_1"), "--out", str(tmp_path / "curve.png"), "--smooth", "20"]) == 0
    lines = (tmp_path / "curve.csv").read_text().splitlines()[1:]
    assert [line.split(",")[:2] for line in lines] == [["ACER_1", "20.0"], ["ACER_1", "40.0"]]
    assert (tmp_path / "curve.png").stat().st_size > 0


def test_tensorboard_shows_the_settings_of_an_agent(tmp_path: Path) -> None:
    tiny(env=Counter(1), tensorboard_log=tmp_path, gamma=0.5, policy_kwargs={"num_layers": 1}).learn(40, log_interval=1)
    hparams, text = read_settings(tmp_path / "ACER_1")
    assert (hparams["gamma"], hparams["policy_kwargs"]) == (0.5, "{'num_layers': 1}")
    assert yaml.safe_load(text).items() >= {"policy": "mlp", "gamma": 0.5, "policy_kwargs": {"num_layers": 1}}.items()


def test_games_count_their_frames_and_monitor_files_name_the_environment(tmp_path: Path) -> None:
    env = make_vec_env("PongNoFrameskip-v4", 1, max_episode_frames=40)
    tiny("cnn_small", env, tensorboard_log=tmp_path, policy_kwargs={}).learn(15, log_interval=1)
    assert read(tmp_path / "ACER_1")["time/frames"] == [(0, 0), (5, 20), (10, 40)]
    header = json.loads((tmp_path / "ACER_1" / "monitor.csv").read_text().splitlines()[0][1:])
    assert header["env_id"] == "PongNoFrameskip-v4"
    counting(tmp_path).learn(10, log_interval=1)
    assert "time/frames" not in read(tmp_path / "ACER_2")


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny(env=counters(2)).learn(10)
    assert list(tmp_path.iterdir()) == []


class Watches(BaseCallback):
    """Looks at everything and acts on nothing."""

    def _on_step(self) -> None:
        self.model.predict(np.zeros((1, 4), np.float32), deterministic=True)
        self.logger.record("own/steps", self.num_timesteps)


@pytest.fixture(scope="module")
def alone() -> ACER:
    return tiny(replay_ratio=2).learn(200, log_interval=1000)


@pytest.mark.parametrize("kind", ["logs", "callbacks", "without tensorboard"])
def test_what_is_learned_does_not_depend_on_who_watches(
    alone: ACER, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "without tensorboard":
        monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.event_pb2", None)
    log = None if kind == "callbacks" else tmp_path / "tb"
    watched = tiny(replay_ratio=2, tensorboard_log=log, verbose=0 if kind == "callbacks" else 1)
    evaluation = EvalCallback(vec_env(), eval_freq=10, n_eval_episodes=1, log_path=tmp_path, verbose=0)
    callbacks = [Watches(), evaluation, CheckpointCallback(20, tmp_path)] if kind == "callbacks" else None
    watched.learn(200, callbacks, log_interval=1)
    assert_same(alone, watched)
    assert len(list(tmp_path.rglob("events.out*"))) == (kind == "logs")
    assert len(list(tmp_path.rglob("progress.csv"))) == (kind != "callbacks")
