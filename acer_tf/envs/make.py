"""Makes vector environments of an id: with their own actions and observations, or as the trainer steps them."""

import math
from typing import Any

import gymnasium
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from acer_tf.config import Config
from acer_tf.envs.atari.game import MAX_EPISODE_FRAMES
from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.check import check_vec_env
from acer_tf.envs.ids import check_env_id, is_atari
from acer_tf.envs.wrappers.box_actions import BoxActions
from acer_tf.envs.wrappers.flatten import flattened
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.normalize import NormalizeObservations, NormalizeRewards, ScaleRewards
from acer_tf.errors import InputError

ATARI_STACK = 4
"""Frames that the agent sees at once."""


def make_vec_env(
    env_id: str,
    num_env: int,
    *,
    max_episode_frames: int | None = MAX_EPISODE_FRAMES,
    render_mode: str | None = None,
) -> VectorEnv[Any, Any, Any]:
    """Makes `num_env` environments, to train or to play in: Atari as baselines wraps it, with four frames stacked.

    Any other has gymnasium's own observations, actions and rewards.

    Args:
        env_id: see `check_env_id`; Atari games as `<Game>NoFrameskip-v4`.
        num_env: number of environments, N.
        max_episode_frames: raw frames after which an Atari game is cut, four per agent step; None or 0 is no limit.
        render_mode: gymnasium's: `rgb_array` so that `render` returns pictures, `human` for a window each.

    Raises:
        InputError: an id that is not accepted, an environment that ACER cannot train on, a number that cannot work, or
            the environment has no such render mode.
    """
    check_env_id(env_id)
    _check_counts(num_env=num_env, max_episode_frames=max_episode_frames or 0)
    if is_atari(env_id):
        pool = AtariPool(env_id, num_env, max_episode_frames=max_episode_frames, render_mode=render_mode)
        return FrameStack(pool, ATARI_STACK)
    return RecordEpisodeStatistics(_make_registered(env_id, num_env, render_mode))


def make_training_env(
    env_id: str,
    num_env: int,
    *,
    num_workers: int | None = None,
    max_episode_frames: int | None = MAX_EPISODE_FRAMES,
    normalize_observations: bool = False,
    normalize_rewards: bool = False,
    gamma: float = Config.gamma,
    reward_scale: float = 1.0,
) -> FrameStack:
    """Makes environments as the Runner takes them: as `make_vec_env`, with arrays to observe, and rewards as told.

    Continuous actions are taken in units of half their range, and clipped (`BoxActions`).

    Args:
        env_id: as for `make_vec_env`, like `num_env` and `max_episode_frames`.
        num_env: number of environments, N.
        num_workers: processes for Atari; 0 steps all games in this one, None uses one per processor, but at most N.
        max_episode_frames: raw frames after which an Atari game is cut.
        normalize_observations: whether they are normalised by their running mean and variance; not for Atari.
        normalize_rewards: whether the agent's are divided by the running standard deviation of the discounted return;
            recorded returns are not; not for Atari.
        gamma: discount factor of that return.
        reward_scale: the agent's rewards are multiplied by it, recorded returns are not; not for Atari.

    Raises:
        InputError: an id that is not accepted, an environment that ACER cannot train on, or a number that cannot work.
    """
    check_env_id(env_id)
    _check_counts(num_env=num_env, num_workers=num_workers or 0, max_episode_frames=max_episode_frames or 0)
    if not 0 < reward_scale < math.inf:
        raise InputError(f"reward_scale is {reward_scale}; expected a finite number > 0.")
    if is_atari(env_id):
        if normalize_observations or normalize_rewards or reward_scale != 1:
            raise InputError(
                "Atari games have their own wrappers; leave normalize_observations, normalize_rewards and reward_scale "
                "out."
            )
        pool = AtariPool(env_id, num_env, num_workers=num_workers, max_episode_frames=max_episode_frames)
        return FrameStack(pool, ATARI_STACK)
    env: VectorEnv[Any, Any, Any] = RecordEpisodeStatistics(_make_registered(env_id, num_env))
    if reward_scale != 1:
        env = ScaleRewards(env, reward_scale)
    if normalize_observations:
        env = NormalizeObservations(flattened(env))
    if normalize_rewards:
        env = NormalizeRewards(env, gamma)
    return stacked(env)


def stacked(env: VectorEnv[Any, Any, Any]) -> FrameStack:
    """Returns the environment as the Runner takes it: continuous actions mapped, each observation a frame, an array.

    Raises:
        InputError: observations that cannot be flattened, or frames that are stacked before actions are mapped.
    """
    is_box = isinstance(env.single_action_space, Box)
    if not isinstance(env, FrameStack):
        env = flattened(env)
        return FrameStack(BoxActions(env) if is_box else env, 1)
    if is_box and not isinstance(env.env, BoxActions):
        raise InputError("frames are stacked on an environment with Box actions; put BoxActions between the two.")
    return env


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        least = 1 if name == "num_env" else 0
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"{name} is {value}; expected a whole number >= {least}.")


def _make_registered(env_id: str, num_env: int, render_mode: str | None = None) -> SyncVectorEnv:
    kwargs: dict[str, Any] = {} if render_mode is None else {"render_mode": render_mode}
    try:
        env = SyncVectorEnv(
            [lambda: gymnasium.make(env_id, **kwargs)] * num_env, autoreset_mode=AutoresetMode.SAME_STEP
        )
    except (gymnasium.error.Error, ImportError, RuntimeError) as error:
        raise InputError(f"environment '{env_id}' cannot be made: {error}") from error
    except TypeError as error:
        if render_mode is None:
            raise
        raise InputError(f"environment '{env_id}' cannot be rendered: {error}") from error
    if env.render_mode != render_mode:
        env.close()
        raise InputError(f"environment '{env_id}' cannot be rendered as {render_mode}.")
    try:
        check_vec_env(env)
    except InputError:
        env.close()
        raise
    return env
