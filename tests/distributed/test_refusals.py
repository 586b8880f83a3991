import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.agent import ACER
from acer_tf.envs.make import make_vec_env
from acer_tf.errors import InputError
from acer_tf.run import main
from acer_tf.run_atari import main as main_atari

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is an extra")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--actors", "2", "--overlap"], "overlap is for environments in this process"),
        (["--actors", "2", "--normalize_observations"], "normalize_observations keeps running moments"),
        (["--actors", "2", "--normalize_rewards"], "normalize_rewards keeps running moments"),
        (
            ["--actors", "2", "--checkpoint_every", "100", "--exact_resume"],
            "exact_resume needs segments in a fixed order",
        ),
        (["--actor_depth", "2"], "actor_depth is 2, but there are no collectors; give actors >= 1 as well"),
        (["--actors", "2", "--ray_address", "somewhere"], "ray_address is 'somewhere'; expected HOST:PORT"),
        (["--actors", "2", "--actor_depth", "0"], "actor_depth is 0; expected a whole number >= 1"),
    ],
)
def test_flags_that_cannot_work(
    flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--logdir", str(tmp_path / "run"), *flags]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and message in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_atari_has_the_same_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert main_atari(["--actors", "1", "--overlap"]) == 2
    assert "overlap is for environments in this process" in capsys.readouterr().err


def make(**arguments: Any) -> ACER:
    env = arguments.pop("env", "CartPole-v1")
    return ACER("mlp", env, buffer_size=100, replay_start=10, policy_kwargs={"num_layers": 1}, **arguments)


def test_environments_of_the_class(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected an id or a function that makes them, such as"):
        make(env=make_vec_env("CartPole-v1", 2), actors=1)
    with pytest.raises(InputError, match="overlap is for environments in this process"):
        make(actors=1, overlap=True)
    with pytest.raises(InputError, match="normalize_rewards keeps running moments"):
        make(actors=1, normalize_rewards=True)
    agent = make(env=lambda: make_vec_env("CartPole-v1", 3), actors=2, publish_every=4)
    assert (agent.actors, agent.publish_every, agent.n_envs) == (2, 4, 3)
    with pytest.raises(InputError, match="expected an id or a function"):
        agent.set_env(make_vec_env("CartPole-v1", 2))
    agent.set_env("CartPole-v1")
    assert agent.n_envs == 1
    agent.save(tmp_path / "agent")
    loaded = ACER.load(tmp_path / "agent")
    assert (loaded.actors, loaded.publish_every) == (0, 1), "they belong to a machine"
    np.testing.assert_array_equal(loaded.model.params[0], agent.model.params[0])
    preset = ACER.from_preset("zoo-CartPole-v1", actors=2, num_env=3)
    assert (preset.actors, preset.n_envs) == (2, 3)
