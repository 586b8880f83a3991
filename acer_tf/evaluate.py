"""Evaluates a trained agent: `python -m acer_tf.evaluate RUN`."""

import dataclasses
import sys
from pathlib import Path

from acer_tf.cli.evaluation_report import Report
from acer_tf.cli.parsing import command, write_json
from acer_tf.cli.play import PlayFlags, Trained, require_free
from acer_tf.envs.closing import closing
from acer_tf.errors import InputError
from acer_tf.evaluation.episodes import Predictor, play
from acer_tf.evaluation.video import record_video


@dataclasses.dataclass(frozen=True)
class Evaluate(PlayFlags):
    """Plays whole episodes with a trained agent; prints their mean raw return and its confidence interval.

    The environments are those of training, except that rewards are neither clipped nor scaled.
    """

    num_env: int = 8
    """Environments that run side by side; each plays its share of the episodes."""
    json: Path | None = None
    """Write all returns and lengths, and their summary, to this file, too."""

    def evaluate(self) -> None:
        """Plays the episodes, prints the report, and writes the JSON file and the video that were asked for.

        Raises:
            InputError: the agent does not exist, or a flag has a value that cannot work.
        """
        self.check()
        if self.explain and self.video is None:
            raise InputError("--explain is about the video; give --video, too.")
        video = self.video_file()
        if self.json is not None:
            require_free(self.json)
        trained = self.find()
        with closing(trained.make_env(min(self.num_env, self.episodes))) as env:
            agent = trained.load(env)
            steps = play(agent, env, self.episodes, self.deterministic, seed=self.seed)
            report = Report(trained, self.actions, self.seed, [episode for ended in steps for episode in ended])
        print("\n".join(report.lines()))
        if self.json is not None:
            write_json(self.json, report.as_json())
            print(f"written: {self.json}")
        if video is not None:
            self._record(video, trained, agent)

    def _record(self, path: Path, trained: Trained, agent: Predictor) -> None:
        with closing(trained.make_env(1, "rgb_array")) as env:
            (episode,) = record_video(
                agent, env, path, deterministic=self.deterministic, seed=self.seed, explain=self.explain
            )
        print(f"video of one more episode, with return {episode.r:g}: {path}")


main = command("acer_tf.evaluate", Evaluate, Evaluate.evaluate)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
