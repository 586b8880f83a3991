"""Shows a trained agent playing: `python -m acer_tf.enjoy RUN`."""

import dataclasses
import sys
from pathlib import Path

from acer_tf.cli.command import command
from acer_tf.cli.play import PlayFlags
from acer_tf.envs.closing import closing
from acer_tf.envs.rendering import has_display
from acer_tf.evaluation.episodes import Played
from acer_tf.schema import Count
from acer_tf.system.console import say


@dataclasses.dataclass(frozen=True)
class Enjoy(PlayFlags):
    """Shows a trained agent playing, in a window or in a video."""

    episodes: Count = 3
    """Episodes to play; for Atari, whole games with all lives."""

    def enjoy(self) -> None:
        """Plays the episodes and prints the return of each.

        Raises:
            InputError: the agent does not exist, a flag has a value that cannot work, or the environment cannot be
                rendered.
        """
        self.check()
        trained, video = self.find(), self.video_file()
        if video is None and not has_display():
            say("no display: nothing is shown; for a video add --video")
        with closing(trained.make_env(1, self._render_mode(video))) as env:
            agent = trained.load(env)
            say(f"{trained.name}: {trained.env_id}, {self.actions} actions, seed {self.seed}")
            if video is None:
                for ended in self.play(agent, env):
                    _print(ended)
            else:
                _print(self.record(agent, env, video, self.episodes))
                say(f"video: {video}")

    def _render_mode(self, video: Path | None) -> str | None:
        if video is not None:
            return "rgb_array"
        return "human" if has_display() else None


def _print(played: list[Played]) -> None:
    for episode in played:
        say(f"return {episode.r:g}, {episode.l} agent steps{', cut' if episode.is_cut else ''}")


main = command("acer_tf.enjoy", Enjoy, Enjoy.enjoy)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
