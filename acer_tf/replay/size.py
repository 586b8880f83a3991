"""Checks that replay fits into memory: a bound before training, a projection from the first segments."""

import dataclasses
import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from acer_tf.config import Config
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError
from acer_tf.packing import Packed
from acer_tf.system.console import in_bytes
from acer_tf.system.container import free_memory

FIRST_SEGMENTS = 50
"""Segments from which the size of a full buffer is projected; fewer would show little but a game's first screens."""


def compressed_row(env: FrameStack, config: Config) -> tuple[int, ...] | None:
    """Returns the shape [N, T + S, ...] of a segment's frames if replay compresses them: images, if requested."""
    # Only images are compressed: uint8 with at least one axis besides the channels, or packed with other parts.
    nenvs, *shape, channels = env.stacked.shape
    has_images = env.stacked.dtype == np.uint8 and (shape or isinstance(env.single_observation_space, Packed))
    if not config.compress_replay or not has_images:
        return None
    return nenvs, config.nsteps + env.nstack, *shape, channels // env.nstack


def smallest_bytes(env: FrameStack, config: Config, state_size: int = 0) -> int:
    """Computes the least that a full buffer can take, in bytes; 0 without replay.

    How well frames compress is not known beforehand, so compressed frames count as nothing. Without them the bound is
    the size of the buffer, except for a learned sigma's numbers, action masks, and the few frames that `FrameColumn`
    keeps separately after the end of an episode.

    Args:
        env: the environments; they are not stepped.
        config: hyper-parameters.
        state_size: numbers in the policy's state, P.
    """
    # Without replay there is no buffer.
    if config.replay_ratio == 0:
        return 0
    nenvs, segments, nsteps = env.num_envs, config.buffer_size // config.nsteps, config.nsteps
    final_value = 0 if "final_values" in config.unread else 4
    step = _action_bytes(env.single_action_space) + 4 + final_value + 1  # action and mu, reward, final value, done
    state = 0 if "states" in config.unread else 4 * state_size
    return nenvs * (_frame_bytes(env, config) + segments * (nsteps * step + (nsteps + 1) + state))  # masks: nsteps + 1


def largest_bytes(env: FrameStack, config: Config) -> int:
    """Computes the bytes of a full buffer whose frames do not compress, without a policy's states."""
    return smallest_bytes(env, dataclasses.replace(config, compress_replay=False))


def _frame_bytes(env: FrameStack, config: Config) -> int:
    """Computes the bytes that one environment's uncompressed frames take in a full buffer."""
    if compressed_row(env, config) is not None:
        return 0
    segments, nsteps, nstack = config.buffer_size // config.nsteps, config.nsteps, env.nstack
    # Each frame once if the wrapper keeps frames intact; otherwise each row has its own S frames.
    frames = nstack + segments * (nsteps if env.keeps_frames else nsteps + nstack)
    return frames * (int(env.stacked[0].nbytes) // nstack)  # stacked: [N, ..., S * C]


def _action_bytes(space: gymnasium.Space[Any]) -> int:
    if isinstance(space, Box):
        return 2 * 4 * math.prod(space.shape)  # action and mean
    assert isinstance(space, Discrete)
    return 8 + 4 * int(space.n)  # whether there are masks, a byte for each action, is not known before the first reset


def check_replay(env: FrameStack, config: Config, state_size: int = 0) -> None:
    """Checks that replay and a segment can fit into memory, however well frames compress; steps no environment.

    Args:
        env: the environments.
        config: hyper-parameters.
        state_size: numbers in the policy's state, P.

    Raises:
        InputError: one of them cannot fit.
    """
    _require("a segment", (config.nsteps + 1) * env.stacked.nbytes, free_memory(), "nsteps")  # its observations
    _require("replay", smallest_bytes(env, config, state_size), free_memory(), "buffer_size")


def projected_bytes(nbytes: int, segments: int, slots: int) -> int:
    """Projects the size of a full buffer from what it holds, and checks that this fits into memory.

    Args:
        nbytes: bytes of the segments in the buffer.
        segments: number of segments in the buffer.
        slots: number of segments in a full buffer.

    Raises:
        InputError: it does not fit.
    """
    # Later frames may compress worse than a game's first screens; FIRST_SEGMENTS allows for that.
    projected = round(nbytes / segments * slots)
    _require("replay", projected, nbytes + free_memory(), "buffer_size")
    return projected


def _require(what: str, needed: int, free: int, setting: str) -> None:
    if needed > free:
        raise InputError(f"{what} would take {in_bytes(needed)}, but {in_bytes(free)} are free; lower {setting}.")
