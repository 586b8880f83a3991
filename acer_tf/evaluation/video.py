"""Records videos of an agent at play."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from acer_tf.config import MAX_EPISODE_STEPS
from acer_tf.envs.adapt import AnyEnv, as_vector_env
from acer_tf.envs.conventions import Player
from acer_tf.envs.rendering import GL, rendered
from acer_tf.errors import EnvironmentFailedError, InputError, install, type_in_words
from acer_tf.evaluation.episodes import Moment, Played, Predictor, play
from acer_tf.evaluation.explanation import Explainer
from acer_tf.evaluation.panel import Panel
from acer_tf.storage.durable import unfinished, writing
from acer_tf.storage.paths import check_name, user_path
from acer_tf.system.console import say

FRAMES_PER_SECOND = 30
"""For environments whose metadata has no render_fps."""


def record_video(
    agent: Predictor,
    env: AnyEnv,
    path: str | Path,
    n_episodes: int = 1,
    deterministic: bool = True,
    *,
    seed: int | None = None,
    explain: bool = False,
    max_episode_steps: int | None = MAX_EPISODE_STEPS,
) -> list[Played]:
    """Plays complete episodes and writes an mp4 file, with a frame before each agent step.

    The file appears only when it is complete. An existing file is replaced, and a message says so.

    Args:
        agent: anything with the method `predict` of Stable Baselines' agents.
        env: an environment made with `render_mode="rgb_array"`, or a vector environment of one.
        path: path of the file; its folder is created.
        n_episodes: number of episodes.
        deterministic: whether to take the most probable action instead of sampling from the policy.
        seed: seed of the environment; None continues its random stream.
        explain: whether to draw next to each frame what the agent makes of it; for agents with the method `explain`.
        max_episode_steps: agent steps after which an episode is cut; None or 0 means no limit.

    Returns:
        The episodes.

    Raises:
        InputError: the environment cannot be rendered, the file cannot be written, ffmpeg is not installed, or the
            agent cannot explain.
    """
    vector_env = as_vector_env(env)
    _require_single(vector_env)
    frames_per_second = vector_env.metadata.get("render_fps") or FRAMES_PER_SECOND
    with _video_file(user_path(path), frames_per_second) as append:
        picture = _pictures(agent, vector_env, explain)
        played = play(
            agent,
            vector_env,
            n_episodes,
            deterministic,
            lambda moment: append(picture(moment)),
            seed,
            max_episode_steps=max_episode_steps,
        )
        return [episode for ended in played for episode in ended]


def check_video(path: Path) -> None:
    """Checks that a video can be written there.

    Raises:
        InputError: the path does not end in .mp4, or ffmpeg is not installed.
    """
    check_name(path)
    if path.suffix != ".mp4":
        raise InputError(f"the video {path} is not an mp4 file; expected {path.with_suffix('.mp4')}.")
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError) as error:
        raise InputError(f"videos need imageio and ffmpeg; install them with: {install('video')}.") from error


def check_rendering(env: VectorEnv[Any, Any, Any]) -> None:
    """Checks that a video of the environment can be recorded: resets it and renders a frame.

    Raises:
        InputError: the environment cannot be rendered, has several copies, or is being trained on.
    """
    _require_single(env)
    Player().enter(env)
    env.reset()
    _frame(env)


def _pictures(agent: Predictor, env: VectorEnv[Any, Any, Any], explain: bool) -> Callable[[Moment], NDArray[np.uint8]]:
    """Returns a function that draws the step about to be made in an environment.

    Raises:
        InputError: the agent cannot explain what it does.
    """
    if not explain:
        return lambda _: _frame(env)
    if not isinstance(agent, Explainer):
        raise InputError(f"the agent is {type_in_words(agent)} without the method explain; leave explain out.")
    panel = Panel(env)
    return lambda moment: panel.draw(_frame(env), agent.explain(*moment[:3], **moment.masks), moment)


def _require_single(env: VectorEnv[Any, Any, Any]) -> None:
    if env.num_envs != 1:
        raise InputError(f"a video shows one environment; expected num_envs 1, not {env.num_envs}.")


@contextlib.contextmanager
def _video_file(path: Path, fps: float) -> Iterator[Callable[[NDArray[np.uint8]], None]]:
    check_video(path)
    import imageio.v2

    temporary = Path(f"{unfinished(path)}.mp4")  # the suffix determines the format
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # H.264 needs even sizes: odd sizes are scaled by a pixel. After an error, imageio's `with` closes nothing.
            writer = imageio.v2.get_writer(temporary, format="FFMPEG", fps=fps, macro_block_size=2)
            with contextlib.closing(writer):
                yield writer.append_data
            if path.exists():
                say(f"{path} is replaced")
            os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _frame(env: VectorEnv[Any, Any, Any]) -> NDArray[np.uint8]:
    try:
        pictures = rendered(env)
    except EnvironmentFailedError as error:
        raise InputError(f"the environment cannot be rendered: {error} If it is MuJoCo's, set {GL}.") from error
    frame = next(iter(pictures), None) if isinstance(pictures, Iterable) else None
    if not isinstance(frame, np.ndarray):
        raise InputError('the environment gives no pictures; make it with render_mode="rgb_array".')
    if frame.dtype != np.uint8 or frame.shape[2:] != (3,):
        raise InputError(
            f"the environment's pictures are of shape {frame.shape} and type {frame.dtype}; "
            "expected [height, width, 3] in uint8."
        )
    return frame
