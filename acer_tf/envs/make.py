"""Makes vector environments from ids, classes and functions."""

import contextlib
import functools
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from acer_tf.config import MAX_EPISODE_FRAMES, Config, Preprocessing
from acer_tf.envs.adapt import checked_env
from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.check import check_vec_env
from acer_tf.envs.closing import close_quietly
from acer_tf.envs.conventions import environment_seeds
from acer_tf.envs.ids import check_env_id, is_atari
from acer_tf.envs.rendering import follow_robot, make_drawn, mujoco_prepared
from acer_tf.envs.vector import ParallelEnvs, SerialEnvs
from acer_tf.envs.wrap import training_env
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import EnvironmentFailedError, InputError, environment_errors, with_own_extra
from acer_tf.schema import Count, CountOrZero, validated
from acer_tf.suggestions import suggestion

Source = EnvSpec | Callable[..., gymnasium.Env[Any, Any]]
"""An id's entry in gymnasium's registry, which a worker's registry may lack; or a class or function."""
Wrapper = Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[Any, Any]]
VECTORIZATIONS = ("sync", "async")
OF_ARGUMENTS = re.compile(
    "unexpected keyword argument|required (positional|keyword-only) argument|positional arguments"
)
"""Python's messages when a function does not take the arguments that it is given."""
ATARI_STACK = 4
"""Frames in an Atari observation."""
SB_EQUIVALENTS = {
    "monitor_dir": "ACER(..., tensorboard_log=folder) writes monitor.csv",
    "monitor_kwargs": "ACER(..., tensorboard_log=folder) writes monitor.csv",
    "start_index": "another seed makes other environments",
    "vec_env_cls": 'vectorization="async" gives each environment a process of its own',
    "vec_env_kwargs": 'vectorization="async" gives each environment a process of its own',
    "wrapper_kwargs": "wrapper_class may be functools.partial(wrapper, **wrapper_kwargs)",
}
"""Equivalents of arguments to Stable Baselines' function of the same name."""


def make_env(env_id: str, env_kwargs: Mapping[str, Any] | None = None) -> gymnasium.Env[Any, Any]:
    """Makes a single environment, with gymnasium's own observations, actions and rewards; not for Atari.

    Raises:
        InputError: the id is not accepted, or the environment cannot be made with these arguments.
        EnvironmentFailedError: it raised any other error while being made.
    """
    check_env_id(env_id)
    kwargs = env_kwargs or {}
    with environment_errors():
        return make_single(gymnasium.spec(env_id), kwargs)


def make_vec_env(
    env_id: str | Callable[..., gymnasium.Env[Any, Any]],
    n_envs: int = 1,
    seed: int | None = None,
    *,
    num_workers: int | None = None,
    max_episode_frames: int | None = MAX_EPISODE_FRAMES,
    render_mode: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    vectorization: str = "sync",
    wrapper_class: Wrapper | None = None,
    first: gymnasium.Env[Any, Any] | None = None,
    **unknown: Any,
) -> VectorEnv[Any, Any, Any]:
    """Makes a vector environment to train or to play in.

    Atari games are wrapped as baselines wraps them, with four frames stacked. All other environments have gymnasium's
    own observations, actions and rewards.

    Args:
        env_id: an id that `check_env_id` accepts, Atari games as `<Game>NoFrameskip-v4`; or a class or function that
            makes an environment.
        n_envs: number of environments, N.
        seed: seed of the environments until they are reset with another, as by an agent that learns in them.
        num_workers: processes for Atari; 0 steps all games in this process, None uses one per processor, but at most N.
        max_episode_frames: raw frames after which an Atari game is cut, four per agent step; None or 0 means no limit.
        render_mode: as in gymnasium: with `rgb_array`, `render` returns images; `human` opens a window for each
            environment. Each environment that is drawn runs in a separate process, whatever `vectorization` is, except
            for images of Atari games.
        env_kwargs: arguments of the environment; not for Atari.
        vectorization: sync steps all environments in this process, one after the other; async steps each in a separate
            process, which pays if a step takes a millisecond or more. Results are the same. Not for Atari.
        wrapper_class: wraps each environment; not for Atari.
        first: an environment that `make_env` made with the same id and arguments, to become one of these; with async it
            is closed.
        **unknown: arguments of Stable Baselines that have an equivalent here; the error names it.

    Raises:
        InputError: the id is not accepted, ACER cannot train in the environment, a number is out of range, or the
            environment has no such render mode or does not take the arguments.
        EnvironmentFailedError: an environment raised an error while being made, or its process died.
    """
    for name in unknown:
        raise InputError(f"make_vec_env takes no argument {name}; {_instead_of(name)}.")
    if isinstance(env_id, str):
        check_env_id(env_id)
    elif isinstance(env_id, gymnasium.Env | VectorEnv):
        raise InputError(
            "make_vec_env got an environment; expected an id, or a class or function that makes one. ACER takes "
            "environments as they are."
        )
    n_envs = validated("n_envs", n_envs, Count)
    num_workers = validated("num_workers", num_workers, CountOrZero | None)
    max_episode_frames = validated("max_episode_frames", max_episode_frames, CountOrZero | None)
    if vectorization not in VECTORIZATIONS:
        raise InputError(f"vectorization is '{vectorization}'; expected {' or '.join(VECTORIZATIONS)}.")
    env: VectorEnv[Any, Any, Any]
    if isinstance(env_id, str) and is_atari(env_id):
        others = {"env_kwargs": env_kwargs, "wrapper_class": wrapper_class, "vectorization": vectorization != "sync"}
        if given := [name for name, value in others.items() if value]:
            raise InputError(
                f"'{env_id}' is wrapped as in baselines and has processes of its own (num_workers); leave "
                f"{' and '.join(given)} out."
            )
        pool = AtariPool(
            env_id, n_envs, num_workers=num_workers, max_episode_frames=max_episode_frames, render_mode=render_mode
        )
        env = FrameStack(pool, ATARI_STACK)
    else:
        kwargs = {**(env_kwargs or {}), **({} if render_mode is None else {"render_mode": render_mode})}
        source = gymnasium.spec(env_id) if isinstance(env_id, str) else env_id
        with environment_errors():
            env = RecordEpisodeStatistics(_make_own(source, kwargs, wrapper_class, n_envs, vectorization, first))
    if seed is not None:
        with environment_errors():
            env.reset(seed=environment_seeds(env, seed))
    return env


def make_training_env(
    env_id: str,
    num_env: int,
    *,
    normalize_observations: bool = Preprocessing.normalize_observations,
    normalize_rewards: bool = Preprocessing.normalize_rewards,
    reward_scale: float = Preprocessing.reward_scale,
    gamma: float = Config.gamma,
    **arguments: Any,
) -> FrameStack:
    """Makes environments to train in: `make_vec_env` with further arguments, in the wrappers of `training_env`.

    Raises:
        InputError: see `make_vec_env` and `training_env`.
    """
    return training_env(
        make_vec_env(env_id, validated("num_env", num_env, Count), **arguments),
        normalize_observations=normalize_observations,
        normalize_rewards=normalize_rewards,
        reward_scale=reward_scale,
        gamma=gamma,
    )


def make_registered(make: Callable[..., VectorEnv[Any, Any, Any]], spec: EnvSpec, **arguments: Any) -> Any:
    """Registers an id, which another process may lack, and calls a function that makes its environments.

    Args:
        make: makes the environments.
        spec: the id's entry in gymnasium's registry.
        **arguments: arguments of `make`.
    """
    gymnasium.registry.setdefault(spec.id, spec)
    return make(spec.id, **arguments)


def make_single(source: Source, kwargs: Mapping[str, Any], wrapper: Wrapper | None = None) -> gymnasium.Env[Any, Any]:
    """Makes an environment, in this process or in a worker.

    Raises:
        InputError: it cannot be made with these arguments.
    """
    with _making(_name(source), kwargs):
        if isinstance(source, EnvSpec):
            with mujoco_prepared(source, is_drawn=_render_mode(source, kwargs) is not None):
                env = checked_env(gymnasium.make(source, **kwargs))
                follow_robot(env, kwargs)
        else:
            env = checked_env(source(**kwargs))
        return env if wrapper is None else wrapper(env)


def _render_mode(source: Source, kwargs: Mapping[str, Any]) -> Any:
    """Returns how the environment is drawn, according to its arguments or to those with which it is registered."""
    registered = source.kwargs if isinstance(source, EnvSpec) else {}
    return {**registered, **kwargs}.get("render_mode")


def _name(source: Source) -> str:
    return source.id if isinstance(source, EnvSpec) else getattr(source, "__name__", "of its own")


def _instead_of(name: str) -> str:
    """Returns what to write instead of an argument that `make_vec_env` does not have."""
    if name in SB_EQUIVALENTS:
        return SB_EQUIVALENTS[name]
    return suggestion(name, inspect.signature(make_vec_env).parameters).removeprefix("; ")


def _make_own(
    source: Source,
    kwargs: Mapping[str, Any],
    wrapper: Wrapper | None,
    n_envs: int,
    vectorization: str,
    first: gymnasium.Env[Any, Any] | None,
) -> SerialEnvs | ParallelEnvs:
    """Makes environments that are not Atari games."""
    make = functools.partial(make_single, source, kwargs, wrapper)
    render_mode = _render_mode(source, kwargs)
    env: SerialEnvs | ParallelEnvs
    if vectorization == "sync" and render_mode is None:
        env = SerialEnvs([make if first is None else lambda: first, *[make] * (n_envs - 1)])
    else:
        if first is not None:
            close_quietly(first)
        if render_mode is not None:
            make = functools.partial(make_drawn, dict(os.environ), make)
        env = ParallelEnvs([make] * n_envs)
    try:
        if render_mode not in (None, env.render_mode):
            raise InputError(f"environment '{_name(source)}' cannot be rendered as {render_mode}.")
        check_vec_env(env)
    except InputError:
        close_quietly(env)
        raise
    return env


@contextlib.contextmanager
def _making(env_id: str, kwargs: Mapping[str, Any]) -> Iterator[None]:
    """Re-raises gymnasium's errors about invalid arguments as InputError."""
    try:
        yield
    except EnvironmentFailedError:
        raise
    except (gymnasium.error.Error, ImportError) as error:
        raise InputError(f"environment '{env_id}' cannot be made: {with_own_extra(str(error))}") from error
    except TypeError as error:
        # Any other TypeError is an error in the environment's code, whose traceback is needed.
        if not (kwargs and OF_ARGUMENTS.search(str(error))):
            raise
        if kwargs.keys() == {"render_mode"}:
            raise InputError(f"environment '{env_id}' cannot be rendered: {error}") from error
        raise InputError(f"environment '{env_id}' cannot be made with {dict(kwargs)}: {error}") from error
