"""Trained agents that a user names: a run folder, a checkpoint, a file, or an agent that ships with this package."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from gymnasium.vector import VectorEnv

from acer_tf.config import MAX_EPISODE_FRAMES
from acer_tf.demos.cards import demo_file, demo_names, read_card
from acer_tf.envs.ids import check_env_id
from acer_tf.envs.make import make_vec_env
from acer_tf.envs.module_ids import bare_env_id, module_refused
from acer_tf.envs.saved_kwargs import check_saved_kwargs
from acer_tf.errors import InputError
from acer_tf.evaluation.episodes import Predictor
from acer_tf.storage.agent_file import with_suffix
from acer_tf.storage.durable import reading
from acer_tf.storage.run_folder import read_settings
from acer_tf.storage.saved_agents import Choice, SavedAgent, read_saved_agent
from acer_tf.suggestions import nearest
from acer_tf.system.tensorflow_import import quiet_tensorflow


class Trained(NamedTuple):
    """A trained agent that has been read but not built.

    Attributes:
        saved: the agent.
        env_id: id of the environment to play in.
        max_episode_frames: raw frames after which an Atari game is truncated, as in training.
        env_kwargs: arguments of the environment, as in training.
        settings: settings of its run, as far as known.
    """

    saved: SavedAgent
    env_id: str
    max_episode_frames: int | None
    env_kwargs: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = MappingProxyType({})

    @property
    def name(self) -> str:
        """Name of the agent: its file or checkpoint."""
        return self.saved.name

    def make_env(self, num_env: int, render_mode: str | None = None) -> VectorEnv[Any, Any, Any]:
        """Makes environments as in training, but with whole games and raw rewards."""
        return make_vec_env(
            self.env_id,
            num_env,
            max_episode_frames=self.max_episode_frames,
            render_mode=render_mode,
            env_kwargs=self.env_kwargs,
        )

    def load(self, env: VectorEnv[Any, Any, Any]) -> Predictor:
        """Builds the agent; imports TensorFlow.

        Raises:
            InputError: the agent cannot be built, or was trained on spaces other than the environment's.
        """
        with quiet_tensorflow():
            from acer_tf.agent import ACER

        return ACER.load(self.saved, env)


def find_trained(
    run: Path, env_id: str | None, checkpoint: Choice = "latest", env_kwargs: Mapping[str, Any] | None = None
) -> Trained:
    """Reads the agent of a run and finds its environment, without importing TensorFlow.

    Args:
        run: folder of a run or a checkpoint, a file that `ACER.save` wrote, or the name of an agent that ships with
            this package.
        env_id: environment to play in; None takes the run's.
        checkpoint: which agent of a run folder.
        env_kwargs: arguments of the environment; None takes the run's.

    Raises:
        InputError: the run or its agent does not exist or is damaged, the environment is unknown, or
            `check_saved_kwargs` refuses the run's arguments for it.
    """
    run = _with_ending(run)
    saved, ships = find_agent(run, checkpoint), not run.exists()
    settings = saved.settings
    if settings is None:
        settings = {} if ships else read_settings(run if run.is_dir() else run.parent) or {}
    if env_id is None:
        env_id = read_card(saved.name).env if ships else _env_id_of_run(run, settings)
    check_env_id(env_id)
    frames = settings.get("max_episode_frames", MAX_EPISODE_FRAMES)
    saved_kwargs = settings.get("env_kwargs")
    if env_kwargs is None and env_id == bare_env_id(str(settings.get("env"))) and isinstance(saved_kwargs, dict):
        check_saved_kwargs(saved_kwargs)
        env_kwargs = saved_kwargs
    return Trained(saved, env_id, frames if isinstance(frames, int) else None, env_kwargs, settings)


def find_agent(run: Path, checkpoint: Choice = "latest") -> SavedAgent:
    """Reads the agent of a run, or one that ships with this package; for the arguments, see `find_trained`.

    Raises:
        InputError: it does not exist or is damaged.
    """
    if (run := _with_ending(run)).exists():
        return read_saved_agent(run, checkpoint)
    name, names = str(run).lower(), demo_names()
    if name not in names:
        raise InputError(
            f"{run} does not exist; expected a run folder, a checkpoint, a file that ACER.save wrote, or an agent "
            f"that ships with this package ({', '.join(nearest(str(run), names) or names)})."
        )
    return read_saved_agent(demo_file(name), checkpoint)._replace(name=name)


def _with_ending(run: Path) -> Path:
    """Returns the path of an agent's file, with the ending added if it was left out, as `ACER.save` allows."""
    with reading(run):
        return file if not run.exists() and (file := with_suffix(run)).is_file() else run


def _env_id_of_run(run: Path, settings: Mapping[str, Any]) -> str:
    env_id = settings.get("env")
    if not isinstance(env_id, str):
        raise InputError(f"{run} does not say which environment it plays; give it with --env.")
    bare = bare_env_id(env_id)
    if bare != env_id:
        try:
            check_env_id(bare)
        except InputError as error:
            raise InputError(module_refused(str(run), env_id)) from error
    return bare
