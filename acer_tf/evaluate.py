"""Evaluates a trained agent: `python -m acer_tf.evaluate RUN`."""

import contextlib
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from acer_tf.commands.cli import guarded, parse
from acer_tf.commands.play import PlayFlags, Trained, require_free
from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.errors import InputError
from acer_tf.evaluation.episodes import Played, Predictor, Summary, play, summarize
from acer_tf.evaluation.video import record_video


@dataclasses.dataclass(frozen=True)
class Evaluate(PlayFlags):
    """Plays whole episodes with a trained agent; prints their mean raw return and how sure it is.

    The environments are those of training, but for rewards: they are neither clipped nor scaled.
    """

    num_env: int = 8
    """Environments that run side by side; each plays its share of the episodes."""
    json: Path | None = None
    """Write all returns, lengths and statistics to this file, too."""

    def evaluate(self) -> None:
        """Plays and reports.

        Raises:
            InputError: there is no such agent, or a flag cannot work.
        """
        self.check()
        video = self.video_file()
        if self.json is not None:
            require_free(self.json)
        trained = self.find()
        with contextlib.closing(trained.make_env(min(self.num_env, self.episodes))) as env:
            agent = trained.load(env)
            played = [
                episode
                for ended in play(agent, env, self.episodes, self.deterministic, seed=self.seed)
                for episode in ended
            ]
        summary = summarize([episode.r for episode in played], [episode.l for episode in played])
        self._print(trained, summary)
        if self.json is not None:
            self._write(self.json, trained, played, summary)
        if video is not None:
            self._record(video, trained, agent)

    def _print(self, trained: Trained, summary: Summary) -> None:
        episodes = f"{summary.episodes} episode{'s' if summary.episodes > 1 else ''}"
        print(f"{trained.file}: {episodes} of {trained.env_id}, {self.actions} actions, seed {self.seed}")
        print(
            f"raw return: mean {summary.mean:.2f}, 95 % confidence interval [{summary.low:.2f}, {summary.high:.2f}], "
            f"standard deviation {summary.std:.2f}"
        )
        print(f"length: mean {summary.mean_length:.1f} agent steps")
        if trained.game is not None:
            score = human_normalized(trained.game, summary.mean)
            print(
                "human-normalised: no reference scores for this game"
                if score is None
                else f"human-normalised: {score:.3f} (0 is random play, 1 is a human)"
            )

    def _write(self, path: Path, trained: Trained, played: list[Played], summary: Summary) -> None:
        values = {
            "model": str(trained.file),
            "env": trained.env_id,
            "actions": self.actions,
            "seed": self.seed,
            **summary._asdict(),
            "human_normalized": None if trained.game is None else human_normalized(trained.game, summary.mean),
            "returns": [episode.r for episode in played],
            "lengths": [episode.l for episode in played],
        }
        try:
            path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}); choose another file.") from error
        print(f"written: {path}")

    def _record(self, path: Path, trained: Trained, agent: Predictor) -> None:
        with contextlib.closing(trained.make_env(1, "rgb_array")) as env:
            (episode,) = record_video(agent, env, path, deterministic=self.deterministic, seed=self.seed)
        print(f"video of one more episode, with return {episode.r:g}: {path}")


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    parse("acer_tf.evaluate", Evaluate, argv).evaluate()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
