import importlib.util
import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import gymnasium
import numpy as np
import pytest

from acer_tf.envs.make import make_env, make_single, make_vec_env
from acer_tf.envs.rendering import GL, has_display, make_drawn, rendered
from acer_tf.errors import InputError
from tests.counter import Counter
from tests.registered import registered


class Telling(Counter):
    """Its picture tells which process draws it, and whether TensorFlow is in there."""

    def render(self) -> Any:
        facts = [os.getpid(), "tensorflow" in sys.modules, os.environ.get("ACER_TEST") == "seen"]
        return np.array(facts)


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_what_is_drawn_is_in_a_process_without_tensorflow(vectorization: str, monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("tensorflow")  # not by this module, which the other process imports, too
    monkeypatch.setenv("ACER_TEST", "seen")
    env = make_vec_env(Telling, 1, render_mode="rgb_array", env_kwargs={"k": 3}, vectorization=vectorization)
    env.reset(seed=0)
    ((pid, has_tensorflow, has_variables),) = env.render()
    env.close()
    assert pid != os.getpid() and not has_tensorflow and has_variables


def test_episodes_are_those_of_this_process() -> None:
    played = []
    for render_mode in (None, "rgb_array"):
        env = make_vec_env("CartPole-v1", 1, seed=3, render_mode=render_mode)
        played.append([env.step(np.array([step % 2]))[:4] for step in range(60)])
        env.close()
    np.testing.assert_equal(*played)


def variables_inside(**given: str) -> dict[str, str]:
    with mock.patch.dict(os.environ, {}):
        return make_drawn(given, lambda: dict(os.environ))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_pictures_need_no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: "lib" if name == "OSMesa" else None)
    assert variables_inside() == {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", GL: "osmesa"}
    assert variables_inside(MUJOCO_GL="egl", SDL_VIDEODRIVER="x")[GL] == "egl"
    assert variables_inside(DISPLAY=":7") == {"DISPLAY": ":7"}
    monkeypatch.setattr("ctypes.util.find_library", lambda name: "lib")
    assert variables_inside()[GL] == "egl"
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    assert GL not in variables_inside()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_a_display_is_one_of_x_or_wayland(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, "")
    assert not has_display()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert has_display()


class Dark(Counter):
    def render(self) -> Any:
        raise RuntimeError("no\nOpenGL here.")


def test_an_environment_that_cannot_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make_vec_env(Dark, 1, render_mode="rgb_array", env_kwargs={"k": 3})
    env.reset()
    with pytest.raises(InputError, match=r"^the environment cannot be rendered: no OpenGL here\.$"):
        env.render()
    env.close()
    monkeypatch.setitem(sys.modules, "mujoco", mock.Mock())
    with pytest.raises(InputError, match=r"no OpenGL here; set MUJOCO_GL to egl, osmesa or, with a display, glfw\.$"):
        rendered(Dark(3))


def test_a_missing_library_of_a_window_is_one_sentence() -> None:
    class Windowless(Counter):
        def reset(self, **kwargs: Any) -> Any:
            raise gymnasium.error.DependencyNotInstalled("pygame is not installed")

    env = make_vec_env(lambda render_mode: Windowless(3, render_mode), 1, render_mode="human")
    with pytest.raises(InputError, match=r"^the environment cannot be shown: pygame is not installed$"):
        env.reset()
    env.close()


def test_mujoco_loads_no_opengl_in_vain_and_prints_no_hints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mujoco")
    seen, make = [], gymnasium.make

    def noted(*args: Any, **kwargs: Any) -> Any:
        seen.append(os.environ[GL])
        return make(*args, **kwargs)

    monkeypatch.setattr(gymnasium, "make", noted)
    monkeypatch.setenv(GL, "osmesa")
    monkeypatch.chdir(tmp_path)
    make_env("HalfCheetah-v5").close()
    assert seen == ["disable"] and os.environ[GL] == "osmesa"
    assert capfd.readouterr() == ("", "") and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Walker2d-v5", "Swimmer-v4"])
def test_the_camera_follows_a_robot(env_id: str) -> None:
    pytest.importorskip("mujoco")
    renderer: Any = make_env(env_id).unwrapped.mujoco_renderer  # type: ignore[attr-defined]
    assert renderer.camera_id == renderer.default_cam_config["fixedcamid"] == 0
    assert renderer.model.cam_mode[0] == 2, "the model's camera no longer follows its centre of mass"


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Swimmer-v4"])
def test_the_floor_reaches_as_far_as_robots_run_and_nothing_else_changes(env_id: str) -> None:
    pytest.importorskip("mujoco")
    own, theirs = make_env(env_id), gymnasium.make(env_id)
    for env in (own, theirs):
        env.reset(seed=1)
        env.action_space.seed(1)
    model, before = (env.unwrapped.model for env in (own, theirs))  # type: ignore[attr-defined]
    plane, material = 0, model.geom_matid[0]
    assert model.geom_size[plane, :2].tolist() == [1000, 1000] > before.geom_size[plane, :2].tolist()
    squares = [m.mat_texrepeat[material] / m.geom_size[plane, :2] for m in (model, before)]  # per metre
    np.testing.assert_allclose(*squares, rtol=1e-6)
    for _ in range(200):
        (obs, reward, *_), (expected, their_reward, *_) = (env.step(env.action_space.sample()) for env in (own, theirs))
        np.testing.assert_array_equal(obs, expected)
        assert reward == their_reward


def test_a_camera_that_was_chosen_is_kept() -> None:
    pytest.importorskip("mujoco")
    chosen: Any = make_env("HalfCheetah-v5", {"camera_id": -1}).unwrapped
    assert chosen.mujoco_renderer.camera_id == -1
    still: Any = make_env("InvertedPendulum-v5").unwrapped
    assert still.mujoco_renderer.camera_id == -1 and "fixedcamid" not in still.mujoco_renderer.default_cam_config


def test_one_that_is_registered_to_be_drawn_is_in_a_process_of_its_own() -> None:
    with registered("Drawn-v0", Telling, k=1, render_mode="rgb_array"):
        env = make_vec_env("Drawn-v0", 1)
        env.reset(seed=0)
        ((pid, *_),) = env.render()
        env.close()
    assert pid != os.getpid()


@pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="MuJoCo is an extra")
@pytest.mark.parametrize(("given", "expected"), [({}, "disable"), ({"render_mode": "rgb_array"}, "egl")])
def test_what_mujoco_draws_with_is_left_to_those_that_are_drawn(
    given: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GL, "egl")
    found = []

    def mujoco(**kwargs: Any) -> Counter:
        found.append(os.environ[GL])
        return Counter(1, **kwargs)

    spec = gymnasium.envs.registration.EnvSpec("Robot-v0", entry_point=mujoco, kwargs=given)
    make_single(spec, {})
    assert found == [expected] and os.environ[GL] == "egl"
