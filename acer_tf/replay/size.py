"""How much memory replay will take, said before training begins."""

import math
from typing import Any

import gymnasium
import numpy as np
import psutil
from gymnasium.spaces import Box, Discrete

from acer_tf.config import Config
from acer_tf.envs.atari.game import FRAME_SHAPE
from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.normalize import frozen
from acer_tf.errors import InputError, environment_errors
from acer_tf.replay.columns import compress
from acer_tf.replay.frame_bytes import frame_bytes
from acer_tf.system.container import memory_left

SEGMENTS = 5
"""Segments of random play, in every environment, that the ratio of compression is measured on where it is not known."""


def replay_bytes(env: FrameStack, config: Config, ratio: float = 1.0) -> int:
    """Computes what a full buffer will take; 0 without replay.

    What is not known before is left out: a recurrent policy's states, where they are kept (`state_bytes`), and the few
    frames that `acer_tf.replay.columns.FrameColumn` keeps by themselves after episodes' ends.

    Args:
        env: the environments.
        config: hyper-parameters.
        ratio: what a frame takes, as a share of its size.
    """
    if config.replay_ratio == 0:
        return 0
    stack = env.stacked  # [N, ..., S * C]
    frames = _stored_frames(env, config) * (int(stack[0].nbytes) // env.nstack)
    final_value = 0 if "final_values" in config.unread else 4
    step = _action_bytes(env.single_action_space) + 4 + final_value + 1  # action and mu, reward, final value, done
    segment = config.nsteps * step + (config.nsteps + 1)  # masks
    return len(stack) * (round(frames * ratio) + (config.buffer_size // config.nsteps) * segment)


def _stored_frames(env: FrameStack, config: Config) -> int:
    """Counts one environment's frames in a full buffer."""
    segments, nsteps, nstack = config.buffer_size // config.nsteps, config.nsteps, env.nstack
    if compressed_row(env, config) is not None:
        return segments * (nsteps + nstack)
    return nstack + segments * (nsteps if env.keeps_frames else nsteps + nstack)


def state_bytes(nenvs: int, config: Config, state_size: int) -> int:
    """Computes what the states of a policy, `state_size` numbers each, will take in a full buffer: one per segment."""
    is_kept = config.replay_ratio > 0 and "states" not in config.unread
    return 4 * state_size * nenvs * (config.buffer_size // config.nsteps) if is_kept else 0


def _action_bytes(space: gymnasium.Space[Any]) -> int:
    if isinstance(space, Box):
        return 3 * 4 * math.prod(space.shape)  # mu is of twice the size where sigma is learned
    assert isinstance(space, Discrete)
    return 8 + 4 * int(space.n)


def compressed_row(env: FrameStack, config: Config) -> tuple[int, ...] | None:
    """Returns the shape [N, T + S, ...] of a segment's frames if replay keeps them compressed: images, if wanted."""
    nenvs, *shape, channels = env.stacked.shape
    if not config.compress_replay or env.stacked.dtype != np.uint8 or not shape:
        return None
    return nenvs, config.nsteps + env.nstack, *shape, channels // env.nstack


def frame_ratio(env: FrameStack, config: Config) -> float:
    """Returns what a frame takes in replay, as a share of its size; 1 where frames are not compressed.

    Of Atari games this is known (`frame_bytes`). Other environments are played at random, and have to be reset
    afterwards; their statistics stay as they are.

    Raises:
        EnvironmentFailedError: the environments raised.
    """
    if compressed_row(env, config) is None:
        return 1.0
    nframes = config.nsteps + env.nstack
    if isinstance(env.env, AtariPool) and env.env.game in frame_bytes():
        return frame_bytes()[env.env.game].of(nframes) / (nframes * math.prod(FRAME_SHAPE))
    return _played_ratio(env, nframes)


def _played_ratio(env: FrameStack, nframes: int) -> float:
    channels = env.stacked.shape[-1] // env.nstack
    plain = packed = 0
    with frozen(env), environment_errors():
        env.action_space.seed(0)
        env.reset(seed=0)
        for _ in range(SEGMENTS):
            steps = [env.step(env.action_space.sample())[0][..., -channels:].copy() for _ in range(nframes)]
            for frames in np.stack(steps, axis=1):
                plain += frames.nbytes
                packed += len(compress(frames))
    return packed / plain


def check_memory(env: FrameStack, config: Config) -> int:
    """Checks that replay will fit, but for a recurrent policy's states (`check_states`); returns its bytes, 0 without.

    Raises:
        InputError: it will not.
        EnvironmentFailedError: the environments raised.
    """
    smallest = 1.0 if compressed_row(env, config) is None else 0.0
    _require(replay_bytes(env, config, smallest))  # before any environment is started
    needed = replay_bytes(env, config, frame_ratio(env, config)) if config.replay_ratio else 0
    _require(needed)
    return needed


def check_states(needed: int, nenvs: int, config: Config, state_size: int) -> int:
    """Checks that a policy's states will fit beside the rest of replay; returns the bytes of both.

    Args:
        needed: what `check_memory` returned.
        nenvs: number of environments, N.
        config: hyper-parameters.
        state_size: numbers in a state, P.

    Raises:
        InputError: they will not.
    """
    needed += state_bytes(nenvs, config, state_size)
    _require(needed)
    return needed


def _require(needed: int) -> None:
    left, available = memory_left(), psutil.virtual_memory().available
    available = available if left is None else min(available, left)
    if needed > available:
        raise InputError(
            f"replay would take {needed / 2**30:.1f} GiB, but {available / 2**30:.1f} GiB are free; lower buffer_size."
        )
