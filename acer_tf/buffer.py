"""Replay memory: segments, each frame once (baselines, `acer/buffer.py`)."""

import math
from typing import Any

import gymnasium
import numpy as np
import psutil
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from acer_tf.config import Config
from acer_tf.envs.frame_stack import FrameStack
from acer_tf.errors import InputError
from acer_tf.segment import Segment


class Buffer:
    """A ring of slots, each one segment of every environment.

    Attributes:
        num_put: segments ever put; checkpoints number them so.
    """

    def __init__(self, nsteps: int, size: int) -> None:
        """Makes an empty buffer; memory is taken when the first segment comes.

        Args:
            nsteps: agent steps of a segment.
            size: agent steps kept per environment; rounded down to whole segments.
        """
        self._nsteps = nsteps
        self._slots = size // nsteps
        self._arrays: dict[str, NDArray[Any]] = {}
        self.num_put = 0

    @property
    def next_idx(self) -> int:
        """Slot that the next segment goes to."""
        return self.num_put % self._slots

    @property
    def num_in_buffer(self) -> int:
        """Slots filled so far."""
        return min(self.num_put, self._slots)

    @property
    def oldest(self) -> int:
        """Number of the oldest segment that is still there."""
        return self.num_put - self.num_in_buffer

    def has_atleast(self, frames: int) -> bool:
        """Tells whether `frames` agent steps per environment, rounded down to whole segments, are there."""
        return self.num_in_buffer >= frames // self._nsteps

    def put(self, segment: Segment) -> None:
        """Stores a segment, in the place of the oldest one when the buffer is full."""
        stored = {"enc_obs": segment.enc_obs, "actions": segment.actions, "rewards": segment.rewards}
        stored |= {"mus": segment.mus, "dones": segment.dones, "masks": segment.masks}
        stored["states"] = segment.states
        for name, array in stored.items():
            self._slots_of(name, array)[self.next_idx] = array
        self.num_put += 1

    def rows(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Returns segments `start` to `stop` - 1, in the order in which they were put, the first axis counting them."""
        slots = np.arange(start, stop) % self._slots
        return {name: array[slots] for name, array in self._arrays.items()}

    def load_rows(self, start: int, rows: dict[str, NDArray[Any]]) -> None:
        """Puts back what `rows` returned, as segments `start` and following; those put before are still there."""
        for name, array in rows.items():
            self._slots_of(name, array[0])[np.arange(start, start + len(array)) % self._slots] = array
            self.num_put = start + len(array)

    def get(self, rng: np.random.RandomState) -> Segment:
        """Draws one segment per environment, each from its own history, uniformly and with replacement.

        Args:
            rng: consumed by one draw of N whole numbers.
        """
        nenvs = self._arrays["actions"].shape[1]
        slots = rng.randint(0, self.num_in_buffer, nenvs)
        drawn = {name: array[slots, np.arange(nenvs)] for name, array in self._arrays.items()}
        return Segment(obs=stack_obs(drawn["enc_obs"], drawn["dones"]), **drawn)

    def _slots_of(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        if name not in self._arrays:
            self._arrays[name] = np.empty((self._slots, *array.shape), array.dtype)
        return self._arrays[name]


def stack_obs(enc_obs: NDArray[Any], dones: NDArray[np.bool_]) -> NDArray[Any]:
    """Restacks frames as the agent saw them: those from before an episode's end are zero.

    Args:
        enc_obs: [N, T + S, ..., C], frames, each once.
        dones: [N, T] bool.

    Returns:
        [N, T + 1, ..., S * C], in the dtype of the frames, newest frame last.
    """
    nenvs, nsteps = dones.shape
    nstack = enc_obs.shape[1] - nsteps
    channels = enc_obs.shape[-1]
    obs = np.empty((nenvs, nsteps + 1, *enc_obs.shape[2:-1], nstack * channels), enc_obs.dtype)
    for i in range(nstack):
        obs[..., i * channels : (i + 1) * channels] = enc_obs[:, i : i + nsteps + 1]
    for env, step in np.argwhere(dones):
        for age in range(1, nstack):  # a frame of this age at step + age is from before the end, as are all older ones
            if step + age <= nsteps:
                obs[env, step + age, ..., : (nstack - age) * channels] = 0
    return obs


def replay_bytes(env: FrameStack, config: Config) -> int:
    """Computes what a full buffer will take, but for recurrent policies' states (few); 0 without replay."""
    if config.replay_ratio == 0:
        return 0
    stack = env.stacked  # [N, ..., S * C]
    frame = int(stack[0].nbytes) // env.nstack
    step = _action_bytes(env.single_action_space) + 4 + 1  # action and mu, reward, done
    segment = (config.nsteps + env.nstack) * frame + config.nsteps * step + (config.nsteps + 1)  # masks
    return len(stack) * (config.buffer_size // config.nsteps) * segment


def _action_bytes(space: gymnasium.Space[Any]) -> int:
    if isinstance(space, Box):
        return 3 * 4 * math.prod(space.shape)  # mu is of twice the size where sigma is learned
    assert isinstance(space, Discrete)
    return 8 + 4 * int(space.n)


def check_memory(env: FrameStack, config: Config) -> int:
    """Checks that replay will fit; returns the bytes it will take.

    Raises:
        InputError: it will not.
    """
    needed, available = replay_bytes(env, config), psutil.virtual_memory().available
    if needed > available:
        raise InputError(
            f"replay would take {needed / 2**30:.1f} GiB, but {available / 2**30:.1f} GiB are free; lower buffer_size."
        )
    return needed
