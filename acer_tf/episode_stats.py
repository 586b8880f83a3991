"""Episode statistics as baselines logs them (`EpisodeStats` of `a2c/utils.py`)."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class EpisodeStats:
    """Returns and lengths as the agent experiences them: clipped rewards, and in Atari games one episode per life."""

    def __init__(self, nenvs: int) -> None:
        """Starts an episode in each of `nenvs` environments; means are over the last 40 episodes of all."""
        self._returns = np.zeros(nenvs)
        self._lengths = np.zeros(nenvs, np.int64)
        self._last_returns: deque[float] = deque(maxlen=40)
        self._last_lengths: deque[float] = deque(maxlen=40)

    def feed(self, rewards: NDArray[np.float32], dones: NDArray[np.bool_]) -> None:
        """Adds a segment, [N, T] each; episodes that end count in the order of environments, as in baselines."""
        for env in range(len(dones)):
            for rewards_of_part in np.split(rewards[env], np.flatnonzero(dones[env]) + 1)[:-1]:
                self._last_returns.append(self._returns[env] + rewards_of_part.sum(dtype=np.float64))
                self._last_lengths.append(int(self._lengths[env]) + len(rewards_of_part))
                self._returns[env], self._lengths[env] = 0.0, 0
            tail = np.flatnonzero(dones[env])[-1] + 1 if dones[env].any() else 0
            self._returns[env] += rewards[env, tail:].sum(dtype=np.float64)
            self._lengths[env] += len(rewards[env]) - tail

    def abandon_episodes(self) -> None:
        """Drops the episodes in progress: the environments have been reset."""
        self._returns[:] = 0.0
        self._lengths[:] = 0

    def state_dict(self) -> dict[str, Any]:
        """Returns the episodes that ended and those that have not."""
        return {
            "returns": self._returns.copy(),
            "lengths": self._lengths.copy(),
            "last_returns": np.array(self._last_returns),
            "last_lengths": np.array(self._last_lengths, np.int64),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what `state_dict` returned."""
        self._returns[:], self._lengths[:] = state["returns"], state["lengths"]
        for last, name in ((self._last_returns, "last_returns"), (self._last_lengths, "last_lengths")):
            last.clear()
            last.extend(state[name].tolist())

    @property
    def has_ended(self) -> bool:
        """Whether any episode has ended."""
        return bool(self._last_returns)

    def mean_length(self) -> float:
        """Returns the mean length in agent steps, 0 before the first episode ended."""
        return float(np.mean(self._last_lengths)) if self._last_lengths else 0.0

    def mean_reward(self) -> float:
        """Returns the mean return, 0 before the first episode ended."""
        return float(np.mean(self._last_returns)) if self._last_returns else 0.0
