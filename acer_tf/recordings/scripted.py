"""Environments and actors that replay a recording, and a random generator that records its draws."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from acer_tf.segment import Action

Array = NDArray[Any]


class ScriptedEnv(VectorEnv[Array, Any, Array]):
    """Emits recorded frames, one per reset or step, regardless of the actions.

    Attributes:
        emitted: number of frames emitted so far.
        reset_at: value of `emitted` before each reset.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  (gymnasium's own form)

    def __init__(self, frames: Array, dones: NDArray[np.bool_], rewards: NDArray[np.float32]) -> None:
        """Stores frames [K, N, *frame], dones [K, N] and rewards [K, N] of K resets and steps."""
        self.num_envs = frames.shape[1]
        self.single_observation_space = gym.spaces.Box(0, 255, frames.shape[2:], frames.dtype.type)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.emitted = 0
        self.reset_at: list[int] = []
        self._frames, self._dones, self._rewards = frames, dones, rewards

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Emits the next frames."""
        self.reset_at.append(self.emitted)
        self.emitted += 1
        return self._frames[self.emitted - 1], {}

    def step(self, actions: object) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Emits the next frames, rewards and dones."""
        entry, self.emitted = self.emitted, self.emitted + 1
        dones = self._dones[entry]
        return self._frames[entry], self._rewards[entry], dones, np.zeros_like(dones), {}


class ScriptedActor:
    """Returns recorded actions, and records its inputs.

    Attributes:
        obs: observations [N, ...] of each step.
        masks: masks [N] of each step.
        states: states [N, P] of each step.
    """

    def __init__(self, actions: NDArray[np.int64], mus: NDArray[np.float32], states: Array) -> None:
        """Stores actions [K, N], probabilities [K, N, A] and the states before them [K, N, P] of K steps."""
        self.obs: list[Array] = []
        self.masks: list[Array] = []
        self.states: list[Array] = []
        self._actions, self._mus, self._states = actions, mus, states

    def initial_state(self, nenvs: int) -> Array:
        """Returns the recorded state before the first step."""
        first: Array = self._states[0]
        return first

    def act(self, obs: Array, state: Array, mask: NDArray[np.bool_], *, action_masks: Array | tuple[()] = ()) -> Action:
        """Returns the recorded actions of the next step."""
        step = len(self.obs)
        self.obs.append(obs.copy())
        self.masks.append(mask.copy())
        self.states.append(state.copy())
        return Action(self._actions[step], self._mus[step], self._states[min(step + 1, len(self._states) - 1)])


class NotedRandom(np.random.RandomState):
    """A `RandomState` that records its draws.

    Attributes:
        drawn: results of all calls of `randint`.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn: list[Array] = []

    def randint(self, *args: Any, **kwargs: Any) -> Array:  # type: ignore[override]
        """Draws integers, and records them."""
        self.drawn.append(np.asarray(super().randint(*args, **kwargs)))
        return self.drawn[-1]
