"""Evaluates a trained agent: `python -m acer_tf.evaluate RUN`."""

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acer_tf.cli.command import command
from acer_tf.cli.play import PlayFlags
from acer_tf.cli.trained import Trained
from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.envs.closing import closing
from acer_tf.envs.ids import is_atari
from acer_tf.evaluation.episodes import Played, Predictor, said_of_cuts, summarize
from acer_tf.schema import Count
from acer_tf.storage.durable import require_free, write_json
from acer_tf.system.console import counted, say


@dataclasses.dataclass(frozen=True)
class Evaluate(PlayFlags):
    """Plays whole episodes with a trained agent; prints their mean raw return and its confidence interval.

    The environments are those of training, except that rewards are neither clipped nor scaled.
    """

    num_env: Count = 8
    """Environments that run side by side; each plays its share of the episodes."""
    json: Path | None = None
    """Write all returns and lengths, and their summary, to this file, too."""

    def evaluate(self) -> None:
        """Plays the episodes, prints the report, and writes the JSON file and the video that were asked for.

        Raises:
            InputError: the agent does not exist, or a flag has a value that cannot work.
        """
        self.check()
        video = self.video_file()
        if self.json is not None:
            require_free(self.json)
        trained = self.find()
        with closing(trained.make_env(min(self.num_env, self.episodes))) as env:
            agent = trained.load(env)
            report = Report(
                trained, self.actions, self.seed, [episode for ended in self.play(agent, env) for episode in ended]
            )
        say("\n".join(report.lines()))
        if self.json is not None:
            write_json(self.json, report.as_json())
            say(f"written: {self.json}")
        if video is not None:
            self._record(video, trained, agent)

    def _record(self, path: Path, trained: Trained, agent: Predictor) -> None:
        with closing(trained.make_env(1, "rgb_array")) as env:
            (episode,) = self.record(agent, env, path, episodes=1)
        say(f"video of one more episode, with return {episode.r:g}: {path}")


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
        self._played = played
        self._returns = [episode.r for episode in played]
        self._lengths = [episode.l for episode in played]
        self._summary = summarize(self._returns, self._lengths)
        self._score = human_normalized(trained.env_id, self._summary.mean)

    def lines(self) -> Iterator[str]:
        """Yields the report line by line."""
        summary = self._summary
        episodes = counted(summary.episodes, "episode")
        yield f"{self._trained.name}: {episodes} of {self._trained.env_id}, {self._actions} actions, seed {self._seed}"
        if summary.low is None:
            yield f"raw return: {summary.mean:z.2f} (a confidence interval needs 2 episodes)"
        else:
            yield (
                f"raw return: mean {summary.mean:z.2f}, 95 % confidence interval [{summary.low:z.2f}, "
                f"{summary.high:z.2f}], standard deviation {summary.std:.2f}"
            )
        yield f"length: mean {summary.mean_length:.1f} agent steps"
        if cuts := said_of_cuts(self._played):
            yield f"{cuts}: their returns are those until then; --max_episode_steps sets the limit"
        if self._score is not None:
            yield f"human-normalised: {self._score:.3f} (0 is random play, 1 is a human)"
        elif is_atari(self._trained.env_id):
            yield "human-normalised: no reference scores for this game"

    def as_json(self) -> dict[str, Any]:
        """Returns the report and every episode's return, length and whether it was cut, as plain values."""
        return {
            "model": self._trained.name,
            "fingerprint": self._trained.saved.fingerprint(),
            "env": self._trained.env_id,
            "actions": self._actions,
            "seed": self._seed,
            **self._summary._asdict(),
            "human_normalized": self._score,
            "returns": self._returns,
            "lengths": self._lengths,
            "cut": [episode.is_cut for episode in self._played],
        }


main = command("acer_tf.evaluate", Evaluate, Evaluate.evaluate)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
