"""Means over the last episodes, for the terminal."""

import math
import statistics
from collections import deque
from collections.abc import Sequence

from acer_tf.logs.logger import Sink
from acer_tf.segment import Episode

EPISODES = 100


class RecentEpisodes(Sink):
    """Keeps the last 100 whole episodes; subclasses show their means, nan before the first."""

    def __init__(self) -> None:
        self._recent: deque[Episode] = deque(maxlen=EPISODES)

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Adds episodes."""
        self._recent.extend(episodes)

    @property
    def mean_return(self) -> float:
        """Mean raw return."""
        return statistics.fmean(episode.r for episode in self._recent) if self._recent else math.nan

    @property
    def mean_length(self) -> float:
        """Mean length in agent steps."""
        return statistics.fmean(episode.l for episode in self._recent) if self._recent else math.nan
