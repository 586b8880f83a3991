import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from acer_tf import ACER
from tests.faults.processes import TINY, command, training
from tests.saved import steps
from tests.small_agents import vec_env


def results(folder: Path) -> dict[str, bytes]:
    """What must not depend on what happened on the way."""
    return {name: (folder / name).read_bytes() for name in ("model.zip", "episodes.csv")}


def finish(folder: Path, words: list[str] | None = None, **flags: Any) -> dict[str, bytes]:
    with training(folder, words, **flags) as run:
        assert run.end() == 0, run.said
    return results(folder)


def newest(folder: Path) -> int:
    return steps(folder / "checkpoints")[-1]


@pytest.mark.timeout(400)
def test_a_killed_and_terminated_run_ends_as_the_undisturbed_one(tmp_path: Path) -> None:
    flags = {"num_timesteps": 1200, "checkpoint_every": 200, "replay_ratio": 2}
    folder = tmp_path / "run"
    with training(tmp_path / "undisturbed", **flags) as undisturbed:
        with training(folder, **flags) as run:
            run.wait_for_checkpoint(200)
            time.sleep(random.Random(1).uniform(0, 0.2))
            run.kill()
        assert undisturbed.end() == 0, undisturbed.said
    expected = results(undisturbed.folder)
    assert expected["episodes.csv"].count(b"\n") > 10
    published = newest(folder)
    assert 200 <= published < 1200

    with training(folder, **flags) as run:
        assert int(run.wait_for(r"resumed at step ([\d,]+)").replace(",", "")) == published
        with run.paused():  # or it could be done before the second one asks
            with training(folder, **flags) as second:
                assert second.end() == 69
                assert f"{folder} is locked by process {run.process.pid}" in second.said
            run.process.send_signal(signal.SIGTERM)
        assert run.end() == 128 + signal.SIGTERM, run.said
        stopped = int(run.wait_for(r"stopped at step ([\d,]+)").replace(",", ""))
    assert newest(folder) == stopped

    words = run.resume_command()
    assert words[0] == sys.executable or Path(words[0]).exists()
    assert finish(folder, words) == expected


LEARN = """
import sys
from acer_tf.callbacks import CheckpointCallback
from tests.small_agents import tiny, vec_env
print("learning", flush=True)
tiny().learn(10**7, CheckpointCallback(50, sys.argv[1]))
"""


def test_what_callbacks_saved_is_left_when_learn_is_killed(tmp_path: Path) -> None:
    """The class writes nothing else; what is loaded goes on learning from there."""
    with training(tmp_path, [sys.executable, "-c", LEARN, str(tmp_path)]) as run:
        run.wait_for("learning")
        while len(list(tmp_path.glob("rl_model_*"))) < 3:
            assert run.process.poll() is None, run.said
            time.sleep(0.01)
        run.kill()
    saved = {int(path.stem.split("_")[2]): path for path in tmp_path.glob("rl_model_*")}
    assert sorted(saved) == [100 * i for i in range(1, len(saved) + 1)]
    agent = ACER.load(saved[max(saved)], vec_env())
    assert agent.num_timesteps == max(saved)
    assert agent.learn(20, reset_num_timesteps=False).num_timesteps == max(saved) + 20


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("network", [{}, {"network": "lstm", "nlstm": 4}])
def test_fifty_kills_during_saves_too(tmp_path: Path, network: dict[str, Any]) -> None:
    kills = 50 if not network else 10
    tiny = {name: value for name, value in TINY.items() if not network or not name.startswith("num_")} | {"num_env": 2}
    every = 2 * 5  # a checkpoint after every iteration: most of the time goes into saving
    flags = {"env": "CartPole-v1", "num_timesteps": kills * 20 * every, "checkpoint_every": every} | network
    expected = finish(tmp_path / "undisturbed", command(tmp_path / "undisturbed", **(tiny | flags)))
    folder, at, published, count = tmp_path / "run", random.Random(1), 0, 0
    words = command(folder, **(tiny | flags))
    while count < kills:
        with training(folder, words) as run:
            if published:
                assert int(run.wait_for(r"resumed at step ([\d,]+)").replace(",", "")) == published
            run.wait_for_checkpoint(published + every * at.randint(0, 6))
            time.sleep(at.uniform(0, 0.1))
            run.kill()
        published = newest(folder)
        count += 1
    assert published < flags["num_timesteps"], "the last kill came after the end"
    assert finish(folder, words) == expected


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("network", ["cnn", "cnn_lstm"])
def test_a_killed_atari_run_ends_as_the_undisturbed_one(tmp_path: Path, network: str) -> None:
    flags = {
        "env": "BreakoutNoFrameskip-v4", "network": network, "num_env": 2, "nsteps": 5, "buffer_size": 200, "seed": 1,
        "replay_start": 50, "num_timesteps": 400, "checkpoint_every": 100, "log_interval": 10,
    }  # fmt: skip
    expected = finish(tmp_path / "undisturbed", command(tmp_path / "undisturbed", **flags))
    folder = tmp_path / "run"
    with training(folder, command(folder, **flags)) as run:
        run.wait_for_checkpoint(200)
        run.kill()
    published = newest(folder)
    assert 200 <= published < 400
    with training(folder, command(folder, **flags)) as run:
        assert int(run.wait_for(r"resumed at step ([\d,]+)").replace(",", "")) == published
        run.process.send_signal(signal.SIGTERM)
        assert run.end() in (128 + signal.SIGTERM, 0), run.said
    assert finish(folder, command(folder, **flags)) == expected
