from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import yaml

from acer_tf.cli.parsing import parse
from acer_tf.cli.play import PlayFlags
from acer_tf.cli.trained import find_agent, find_trained
from acer_tf.config import MAX_EPISODE_FRAMES
from acer_tf.errors import InputError
from acer_tf.storage.agent_file import write_agent


def write_run(folder: Path, **settings: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.yml").write_text(yaml.safe_dump(settings))
    write_agent(folder / "model.zip", {"num_timesteps": 0}, {})
    return folder


def test_a_run_folder_says_what_was_played(tmp_path: Path) -> None:
    run = write_run(tmp_path, env="PongNoFrameskip-v4", max_episode_frames=2000)
    trained = find_trained(run, None)
    assert (trained.name, *trained[1:3]) == (str(run / "model.zip"), "PongNoFrameskip-v4", 2000)
    env = trained.make_env(3)
    assert env.num_envs == 3 and env.single_observation_space.shape == (84, 84, 4)


def test_another_environment_may_be_given(tmp_path: Path) -> None:
    trained = find_trained(write_run(tmp_path, env="CartPole-v1"), "Acrobot-v1")
    assert trained.env_id == "Acrobot-v1"


def test_a_file_needs_an_environment(tmp_path: Path) -> None:
    file = tmp_path / "agent.zip"
    write_agent(file, {}, {})
    trained = find_trained(file, "CartPole-v1")
    assert (trained.name, *trained[1:3]) == (str(file), "CartPole-v1", MAX_EPISODE_FRAMES)
    with pytest.raises(InputError, match=r"agent\.zip does not say which environment it plays; give it with --env\."):
        find_trained(file, None)
    (run := tmp_path / "run").mkdir()
    assert find_trained(write_run(run, env="CartPole-v1") / "model.zip", None).env_id == "CartPole-v1"


def test_a_typed_environment_may_come_from_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_module.py").write_text(
        "import gymnasium\ngymnasium.register('Own-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    run = write_run(tmp_path / "run", env="own_module:Own-v0", env_kwargs={"sutton_barto_reward": True})
    with pytest.raises(InputError, match=r"run names the environment own_module:Own-v0, whose .* --env own_module:Own"):
        PlayFlags(run).find()
    try:
        found = PlayFlags(run, env="own_module:Own-v0").find()
        assert (found.env_id, found.env_kwargs) == ("Own-v0", {"sutton_barto_reward": True})
        assert PlayFlags(run).find() == found  # it has been imported
    finally:
        gymnasium.registry.pop("Own-v0", None)


def test_frames_of_a_game_that_is_observed_and_rendered(tmp_path: Path) -> None:
    trained = find_trained(write_run(tmp_path, env="BreakoutNoFrameskip-v4", max_episode_frames=0), None)
    env = trained.make_env(1, "rgb_array")
    env.reset(seed=0)
    (screen,) = env.render() or ()
    assert np.shape(screen) == (210, 160, 3)
    env.close()


def test_arguments_of_the_environment_are_those_of_the_run_or_typed(tmp_path: Path) -> None:
    saved = {"gravity": -5.0, "enable_wind": True, "config": {"lanes": [2, 3], "kind": "two-way road", "seed": None}}
    run = write_run(tmp_path, env="LunarLander-v3", env_kwargs=saved)
    assert find_trained(run, None).env_kwargs == PlayFlags(run).find().env_kwargs == saved
    assert find_trained(run, "CartPole-v1").env_kwargs is None
    assert PlayFlags(run, env_kwargs={"gravity": -2.0}).find().env_kwargs == {"gravity": -2.0}
    assert parse("evaluate", PlayFlags, [str(run), "--env_kwargs", "gravity:-3.0"]).env_kwargs == {"gravity": -3.0}


@pytest.mark.parametrize(
    "saved",
    [
        {"render_mode": "human"},
        {"xml_file": "/tmp/evil.xml"},
        {"xml_file": "ant.xml"},
        {"config": {"vehicles": ["highway_env.vehicle.behavior.IDMVehicle"]}},
        {"config": {"a.b:c": 1}},
        {"text": "a" * 65},
    ],
)
def test_a_file_chooses_no_window_no_path_and_no_code(tmp_path: Path, saved: dict[str, Any]) -> None:
    run = write_run(tmp_path, env="CartPole-v1", env_kwargs=saved)
    (name,) = saved
    with pytest.raises(InputError, match=f"the file has {name}=.*: pass the arguments with --env_kwargs"):
        find_trained(run, None)
    assert find_trained(run, None, env_kwargs=saved).env_kwargs == saved


def test_the_ending_of_a_file_may_be_left_out(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "model.zip").rename(run / "mine.zip")
    assert find_trained(run / "mine", "CartPole-v1").name == str(run / "mine.zip")


def test_a_file_comes_before_an_agent_of_its_name_that_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_trained(Path("cartpole"), "CartPole-v1").name == "cartpole"
    write_agent(tmp_path / "cartpole.zip", {}, {})
    assert find_trained(Path("cartpole"), "CartPole-v1").name == find_agent(Path("cartpole")).name == "cartpole.zip"


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a single agent; to choose a checkpoint, give a run folder"):
        find_trained(Path("cartpole"), None, 5)
    with pytest.raises(InputError, match="nowhere does not exist; expected a run folder, a checkpoint, a file"):
        find_trained(Path("nowhere"), None)
    with pytest.raises(InputError, match="holds no agent; expected a run folder, a checkpoint, or a file that ACER"):
        find_trained(tmp_path, None)
    with pytest.raises(InputError, match=r"^a{300} cannot be read \(File name too long\)\.$"):
        find_trained(Path("a" * 300), None)
    with pytest.raises(
        InputError, match="environment 'Breakot' does not exist; the nearest are BreakoutNoFrameskip-v4"
    ):
        find_trained(write_run(tmp_path / "a"), "Breakot")
    with pytest.raises(InputError, match=r"'Gone-v0' does not exist.* registers it, give MODULE:Gone-v0\."):
        find_trained(write_run(tmp_path / "b", env="Gone-v0"), None)
    run = write_run(tmp_path / "c")
    (run / "config.yml").write_text("a: [")
    with pytest.raises(InputError, match=r"config\.yml is not valid YAML"):
        find_trained(run, None)
