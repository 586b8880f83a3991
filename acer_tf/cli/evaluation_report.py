"""The report of an evaluation, as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from acer_tf.cli.play import Trained
from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.evaluation.episodes import Played, summarize


class Report:
    """Mean return of the episodes that an agent played, its confidence interval, and its human-normalised score."""

    def __init__(self, trained: Trained, actions: str, seed: int, played: Sequence[Played]) -> None:
        """Summarizes the episodes.

        Args:
            trained: the agent.
            actions: how they were chosen, deterministic or stochastic.
            seed: of the environments.
            played: the episodes, at least one.
        """
        self._trained = trained
        self._actions = actions
        self._seed = seed
        self._returns = [episode.r for episode in played]
        self._lengths = [episode.l for episode in played]
        self._summary = summarize(self._returns, self._lengths)
        self._score = None if trained.game is None else human_normalized(trained.game, self._summary.mean)

    def lines(self) -> Iterator[str]:
        """Yields the report line by line."""
        summary = self._summary
        episodes = f"{summary.episodes} episode{'s' if summary.episodes > 1 else ''}"
        yield f"{self._trained.name}: {episodes} of {self._trained.env_id}, {self._actions} actions, seed {self._seed}"
        if summary.low is None:
            yield f"raw return: {summary.mean:z.2f} (a confidence interval needs 2 episodes)"
        else:
            yield (
                f"raw return: mean {summary.mean:z.2f}, 95 % confidence interval [{summary.low:z.2f}, "
                f"{summary.high:z.2f}], standard deviation {summary.std:.2f}"
            )
        yield f"length: mean {summary.mean_length:.1f} agent steps"
        if self._score is not None:
            yield f"human-normalised: {self._score:.3f} (0 is random play, 1 is a human)"
        elif self._trained.game is not None:
            yield "human-normalised: no reference scores for this game"

    def as_json(self) -> dict[str, Any]:
        """Returns the report and every episode's return and length, as plain values."""
        return {
            "model": self._trained.name,
            "env": self._trained.env_id,
            "actions": self._actions,
            "seed": self._seed,
            **self._summary._asdict(),
            "human_normalized": self._score,
            "returns": self._returns,
            "lengths": self._lengths,
        }
