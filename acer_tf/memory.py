"""How much memory replay will take, said before training begins."""

import contextlib
import math
from typing import Any

import gymnasium
import numpy as np
import psutil
from gymnasium.spaces import Box, Discrete

from acer_tf.columns import compress
from acer_tf.config import Config
from acer_tf.container import memory_left
from acer_tf.envs.frame_stack import FrameStack
from acer_tf.envs.normalize import frozen
from acer_tf.envs.pool import AtariPool
from acer_tf.errors import InputError, failures_told

SEGMENTS = 5
"""Segments of random play, in every environment, that the ratio of compression is measured on; but of Atari:"""
GAMES, GAME_STEPS = 3, 900
"""Games, and agent steps of each. How a game begins is not how it goes on: few long games tell more than many."""
BEGINNING = 7
"""Of so many segments, the first one is left out, for the same reason: of 37 the first five."""


def replay_bytes(env: FrameStack, config: Config, frame_ratio: float = 1.0) -> int:
    """Computes what a full buffer will take; 0 without replay.

    What is not known before is left out: a recurrent policy's states, where they are kept (`state_bytes`), and the few
    frames that `acer_tf.columns.FrameColumn` keeps by themselves after episodes' ends.

    Args:
        env: the environments.
        config: hyper-parameters.
        frame_ratio: what a frame takes, as a share of its size.
    """
    if config.replay_ratio == 0:
        return 0
    stack = env.stacked  # [N, ..., S * C]
    frames = _stored_frames(env, config) * (int(stack[0].nbytes) // env.nstack)
    final_value = 0 if "final_values" in config.unread else 4
    step = _action_bytes(env.single_action_space) + 4 + final_value + 1  # action and mu, reward, final value, done
    segment = config.nsteps * step + (config.nsteps + 1)  # masks
    return len(stack) * (round(frames * frame_ratio) + (config.buffer_size // config.nsteps) * segment)


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


def measured_ratio(env: FrameStack, config: Config) -> float:
    """Plays at random and compresses the frames; returns compressed over plain size, 1 where they are not compressed.

    Atari games are played beside the environments, which are not touched, and no longer than replay reaches back.
    Others have to be reset afterwards; their statistics stay as they are.

    Raises:
        EnvironmentFailedError: the environments raised.
    """
    if compressed_row(env, config) is None:
        return 1.0
    if not isinstance(env.env, AtariPool):
        return _played_ratio(env, config, SEGMENTS)
    segments = max(1, min(GAME_STEPS, config.buffer_size) // (config.nsteps + env.nstack))
    with contextlib.closing(FrameStack(env.env.alike(GAMES), env.nstack)) as games:
        return _played_ratio(games, config, segments)


def _played_ratio(env: FrameStack, config: Config, segments: int) -> float:
    channels = env.stacked.shape[-1] // env.nstack
    plain = packed = 0
    with frozen(env), failures_told():
        env.action_space.seed(0)
        env.reset(seed=0)
        for segment in range(segments):
            steps = [
                env.step(env.action_space.sample())[0][..., -channels:].copy()
                for _ in range(config.nsteps + env.nstack)
            ]
            if segment < segments // BEGINNING:
                continue
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
    ratio = measured_ratio(env, config) if config.replay_ratio else 1.0
    needed = replay_bytes(env, config, ratio)
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
