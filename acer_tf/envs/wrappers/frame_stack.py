"""Stacks the last frames of each environment, as baselines' `VecFrameStack` does."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from acer_tf.envs.wrappers.base import Array, StepReturn, map_final_obs
from acer_tf.errors import InputError
from acer_tf.schema import SmallCount, validated


class FrameStack(VectorWrapper[Array, Any, Array, Any, Array]):
    """Concatenates the last `nstack` observations along the last axis, newest last; zeros before an episode's first.

    Baselines rolls the stack by one channel, whatever the number of channels in a frame, which scrambles frames with
    several channels. That is the default here too. The next step overwrites the returned array: copy what must last.

    Attributes:
        nstack: frames in a stack, S.
        keeps_frames: whether frames move through the stack intact, not scrambled.
        stacked: [N, ..., S * C], the array that `reset` and `step` return, in the dtype of the observation space.
    """

    def __init__(self, env: VectorEnv[Array, Any, Array], nstack: int, *, whole_frames: bool = False) -> None:
        """Wraps a vector environment whose observations are a Box with at least one axis, [N, ..., C].

        Args:
            env: the environment, which resets in the step in which an episode ends.
            nstack: frames in a stack, S.
            whole_frames: rolls by one frame, not by one channel as in baselines, which keeps frames with several
                channels intact.

        Raises:
            InputError: observations are not such a Box, or `nstack` is not a whole number >= 1.
        """
        super().__init__(env)
        frame = env.single_observation_space
        nstack = validated("nstack", nstack, SmallCount)
        if not isinstance(frame, gymnasium.spaces.Box) or not frame.shape:
            raise InputError(f"observations in {frame} cannot be stacked; expected a Box of at least one axis.")
        low, high = (np.repeat(bound, nstack, axis=-1) for bound in (frame.low, frame.high))
        if nstack > 1:  # otherwise the space is the environment's own
            self.single_observation_space = gymnasium.spaces.Box(low, high, dtype=frame.dtype.type)
            self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self.nstack = nstack
        self.stacked: Array = np.zeros((env.num_envs, *low.shape), frame.dtype)
        self._flat = self.stacked.reshape(-1)
        self._channels = frame.shape[-1]
        self._roll = self._channels if whole_frames else 1  # baselines: np.roll(stackedobs, shift=-1, axis=-1)
        self.keeps_frames = nstack == 1 or self._roll == self._channels

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Resets the environments; returns [N, ..., S * C], the first frame after zeros, and the infos."""
        obs, infos = self.env.reset(seed=seed, options=options)
        self.stacked[...] = 0
        self.stacked[..., -self._channels :] = obs
        return self.stacked, infos

    def step(self, actions: Any) -> StepReturn:
        """Steps the environments.

        Where an episode ended, the stack holds zeros and the first frame of the next episode; `final_obs` holds the
        stack with the last frame.
        """
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        if self.nstack > 1:
            # Roll all pixels in one move of memory: values from the next pixel end up in the last channels, which the
            # new frame overwrites below.
            self._flat[: -self._roll] = self._flat[self._roll :]
            infos = map_final_obs(infos, self._with_last_frame)
            self.stacked[terminations | truncations] = 0  # VecFrameStack: no frame of the episode that ended
        self.stacked[..., -self._channels :] = obs
        return self.stacked, rewards, terminations, truncations, infos

    def _with_last_frame(self, env: int, frame: Array) -> Array:
        stack: Array = self.stacked[env].copy()
        stack[..., -self._channels :] = frame
        return stack
