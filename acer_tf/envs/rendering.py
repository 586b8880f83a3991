"""Rendering: environments that are drawn run in processes without TensorFlow; the others load no OpenGL.

TensorFlow's LLVM and the LLVM of Mesa's drivers crash in the same process.
"""

import contextlib
import ctypes.util
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorEnv

from acer_tf.errors import EnvironmentFailedError, InputError, with_own_extra

Made = TypeVar("Made")

GL = "MUJOCO_GL"
"""Environment variable that selects how MuJoCo draws."""
WITHOUT_DISPLAY = {"egl": "EGL", "osmesa": "OSMesa"}
"""Values of `MUJOCO_GL` that need no display, fastest first, and the libraries that they require."""
FLOOR = 1000.0
"""Metres from the start to the edges of the floor; a cheetah runs 400 in an episode."""


def has_display() -> bool:
    """Returns whether a window can be opened: on Linux, whether an X or a Wayland server is configured."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def make_drawn(variables: Mapping[str, str], make: Callable[..., Made], *args: Any, **kwargs: Any) -> Made:
    """Makes environments that will be drawn in this process, a worker.

    Args:
        variables: environment variables of the process that started this one; variables that they do not set are set
            for pictures without a display.
        make: makes the environments.
        *args: arguments of `make`.
        **kwargs: arguments of `make`.
    """
    os.environ.clear()
    os.environ.update(variables)
    if not has_display():
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
        way = next((way for way, library in WITHOUT_DISPLAY.items() if ctypes.util.find_library(library)), None)
        if way is not None and not os.environ.get(GL):
            os.environ[GL] = way
    return make(*args, **kwargs)


def rendered(env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]) -> Any:
    """Renders an environment, or a vector environment.

    Raises:
        InputError: it cannot be rendered.
        EnvironmentFailedError: a process of an environment has failed.
    """
    try:
        return env.render()
    except (InputError, EnvironmentFailedError):
        raise
    except Exception as error:  # from any drawing library, such as MuJoCo's own without OpenGL
        reason = " ".join(with_own_extra(str(error)).split()).rstrip(".")
        way = f"; set {GL} to egl, osmesa or, with a display, glfw" if "mujoco" in sys.modules else ""
        raise InputError(f"the environment cannot be rendered: {reason}{way}.") from error


@contextlib.contextmanager
def mujoco_prepared(spec: EnvSpec, is_drawn: bool) -> Iterator[None]:
    """Keeps MuJoCo from loading OpenGL needlessly, and from printing hints, in a block that makes an environment.

    Warnings about an unstable simulation are still shown, but no longer written to the current folder too.
    """
    if not any(name in str(spec.entry_point) for name in ("mujoco", "dm_control")):
        yield
        return
    way = os.environ.get(GL)
    if not is_drawn:
        os.environ[GL] = "disable"
    try:
        with contextlib.suppress(ImportError):
            import mujoco  # type: ignore[import-untyped]

            mujoco.set_mju_user_warning(_log)
        yield
    finally:
        os.environ.pop(GL, None)
        os.environ.update({} if way is None else {GL: way})


def follow_robot(env: gymnasium.Env[Any, Any], kwargs: Mapping[str, Any]) -> None:
    """Selects the camera of MuJoCo's model that follows the robot, if there is one and the arguments choose no other.

    gymnasium's default camera does not move, and robots run out of its picture.
    """
    renderer = getattr(env.unwrapped, "mujoco_renderer", None)
    if renderer is None or kwargs.keys() & {"camera_id", "camera_name", "default_camera_config"}:
        return
    import mujoco

    camera = mujoco.mj_name2id(renderer.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
    if camera >= 0:
        _widen_floor(renderer.model)
        renderer.camera_id = camera
        renderer.default_cam_config = {"type": mujoco.mjtCamera.mjCAMERA_FIXED, "fixedcamid": camera}  # for a window


def _widen_floor(model: Any) -> None:
    """Extends the drawn floor as far as robots run, with its squares unchanged; for contacts it is endless anyway."""
    import mujoco

    floor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, "floor")
    if floor >= 0 and (material := model.geom_matid[floor]) >= 0 and model.geom_size[floor, :2].all():
        model.mat_texrepeat[material] *= FLOOR / model.geom_size[floor, :2]
        model.geom_size[floor, :2] = FLOOR


def _log(warning: str) -> None:
    is_hint = "deprecated" in warning
    logging.getLogger(__name__).log(logging.DEBUG if is_hint else logging.WARNING, "MuJoCo: %s", warning)
