"""Evaluates a trained agent: `python -m acer_tf.evaluate RUN`."""

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
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
    """Plays whole episodes with a trained agent, and prints their mean raw return with a confidence interval.

    The environments are those of training, except that rewards are neither clipped nor scaled.
    """

    num_env: Count = 8
    """Environments that run side by side; each plays its share of the episodes."""
    json: Path | None = None
    """Also write all returns and lengths, and their summary, to this file."""

    def evaluate(self) -> None:
        """Plays the episodes, prints the report, and writes the JSON file and the video if requested.

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
            played = [episode for ended in self.play(agent, env) for episode in ended]
        report = summarized(trained, self.actions, self.seed, played)
        say("\n".join(lines(report, said_of_cuts(played))))
        if self.json is not None:
            write_json(self.json, report)
            say(f"written: {self.json}")
        if video is not None:
            self._record(video, trained, agent)

    def _record(self, path: Path, trained: Trained, agent: Predictor) -> None:
        with closing(trained.make_env(1, "rgb_array")) as env:
            (episode,) = self.record(agent, env, path, episodes=1)
        say(f"video of one more episode, with return {episode.r:g}: {path}")


def summarized(trained: Trained, actions: str, seed: int, played: Sequence[Played]) -> dict[str, Any]:
    """Returns the report on one or more episodes as plain values: a summary, and each return, length and cut."""
    returns, lengths = [episode.r for episode in played], [episode.l for episode in played]
    summary = summarize(returns, lengths)
    return {
        "model": trained.name,
        "fingerprint": trained.saved.fingerprint(),
        "env": trained.env_id,
        "actions": actions,
        "seed": seed,
        **summary._asdict(),
        "human_normalized": human_normalized(trained.env_id, summary.mean),
        "returns": returns,
        "lengths": lengths,
        "cut": [episode.is_cut for episode in played],
    }


def lines(report: Mapping[str, Any], cuts: str | None) -> Iterator[str]:
    """Yields the lines of a report from `summarized`; `cuts` says how many episodes were cut."""
    episodes = counted(report["episodes"], "episode")
    yield f"{report['model']}: {episodes} of {report['env']}, {report['actions']} actions, seed {report['seed']}"
    if report["low"] is None:
        yield f"raw return: {report['mean']:z.2f} (a confidence interval needs 2 episodes)"
    else:
        yield (
            f"raw return: mean {report['mean']:z.2f}, 95 % confidence interval [{report['low']:z.2f}, "
            f"{report['high']:z.2f}], standard deviation {report['std']:.2f}"
        )
    yield f"length: mean {report['mean_length']:.1f} agent steps"
    if cuts:
        yield f"{cuts}: their returns are those until then; --max_episode_steps sets the limit"
    if report["human_normalized"] is not None:
        yield f"human-normalised: {report['human_normalized']:.3f} (0 is random play, 1 is a human)"
    elif is_atari(report["env"]):
        yield "human-normalised: no reference scores for this game"


main = command("acer_tf.evaluate", Evaluate, Evaluate.evaluate)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
