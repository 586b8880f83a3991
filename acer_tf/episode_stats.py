"""Episode statistics as baselines logs them (`EpisodeStats` of `a2c/utils.py`)."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALL = slice(None)


class EpisodeStats:
    """Returns and lengths as the agent experiences them: clipped rewards, and in Atari games one episode per life."""

    def __init__(self, nenvs: int) -> None:
        """Starts an episode in each of `nenvs` environments; means are over the last 40 episodes in any of them."""
        self._returns = np.zeros(nenvs)
        self._lengths = np.zeros(nenvs, np.int64)
        # Baselines' maxlen of 40.
        self._last_returns: deque[float] = deque(maxlen=40)
        self._last_lengths: deque[float] = deque(maxlen=40)

    def feed(
        self,
        rewards: NDArray[np.float32],
        dones: NDArray[np.bool_],
        first: int = 0,
        begins: NDArray[np.bool_] | None = None,
    ) -> None:
        """Adds a segment; episodes that end count in the order of environments, as in baselines.

        Args:
            rewards: [N, T].
            dones: [N, T], ends of episodes.
            first: index of the segment's first environment.
            begins: [N], where an episode begins with the segment; any episode still in progress there has been lost.
        """
        if begins is not None:
            self.abandon_episodes(first + np.flatnonzero(begins))
        for env, (rewards_of_env, dones_of_env) in enumerate(zip(rewards, dones, strict=True), first):
            # One part for each episode that ends in the segment; the tail belongs to the episode in progress.
            *ended, tail = np.split(rewards_of_env, np.flatnonzero(dones_of_env) + 1)
            for part in ended:
                self._last_returns.append(self._returns[env] + part.sum(dtype=np.float64))
                self._last_lengths.append(int(self._lengths[env]) + len(part))
                self._returns[env], self._lengths[env] = 0.0, 0
            self._returns[env] += tail.sum(dtype=np.float64)
            self._lengths[env] += len(tail)

    def abandon_episodes(self, envs: NDArray[np.int64] | slice = ALL) -> None:
        """Drops the episodes in progress in these environments, which have been reset."""
        self._returns[envs] = 0.0
        self._lengths[envs] = 0

    def state_dict(self) -> dict[str, Any]:
        """Returns the last episodes that ended and those in progress."""
        return {
            "returns": self._returns.copy(),
            "lengths": self._lengths.copy(),
            "last_returns": np.array(self._last_returns),
            "last_lengths": np.array(self._last_lengths, np.int64),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what `state_dict` returned; for another number of environments, only the episodes that ended."""
        self.abandon_episodes()
        # With collectors the number of environments may have changed; episodes in progress are then lost.
        if len(state["returns"]) == len(self._returns):
            self._returns[:], self._lengths[:] = state["returns"], state["lengths"]
        for last, name in ((self._last_returns, "last_returns"), (self._last_lengths, "last_lengths")):
            last.clear()
            last.extend(state[name].tolist())

    @property
    def has_ended(self) -> bool:
        """Whether any episode has ended."""
        return bool(self._last_returns)

    def mean_length(self) -> float:
        """Returns the mean length in agent steps, 0 before the first episode has ended."""
        return float(np.mean(self._last_lengths)) if self._last_lengths else 0.0

    def mean_reward(self) -> float:
        """Returns the mean return, 0 before the first episode has ended."""
        return float(np.mean(self._last_returns)) if self._last_returns else 0.0
