"""Shows what a trained agent does: `python -m acer_tf.enjoy RUN`."""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator, Sequence

import gymnasium

from acer_tf.commands.cli import guarded, parse
from acer_tf.commands.play import PlayFlags
from acer_tf.errors import InputError
from acer_tf.evaluation.episodes import Played, play
from acer_tf.evaluation.video import record_video


@dataclasses.dataclass(frozen=True)
class Enjoy(PlayFlags):
    """Shows a trained agent at play in a window, or in a video."""

    episodes: int = 3
    """Whole episodes to play; in Atari whole games, over all lives."""

    def enjoy(self) -> None:
        """Plays and prints the return of every episode.

        Raises:
            InputError: there is no such agent, or a flag cannot work.
        """
        self.check()
        trained, video = self.find(), self.video_file()
        render_mode = "human" if has_display() else None
        if video is not None:
            render_mode = "rgb_array"
        elif render_mode is None:
            print("no display: nothing is shown; for a video add --video")
        with contextlib.closing(trained.make_env(1, render_mode)) as env:
            agent = trained.load(env)
            print(f"{trained.file}: {trained.env_id}, {self.actions} actions, seed {self.seed}", flush=True)
            if video is None:
                with _dependencies_told():
                    for ended in play(agent, env, self.episodes, self.deterministic, seed=self.seed):
                        _print(ended)
            else:
                _print(record_video(agent, env, video, self.episodes, self.deterministic, seed=self.seed))
                print(f"video: {video}")


def has_display() -> bool:
    """Says whether a window can be opened: on Linux that needs an X or a Wayland server."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextlib.contextmanager
def _dependencies_told() -> Iterator[None]:
    try:
        yield
    except gymnasium.error.DependencyNotInstalled as error:
        raise InputError(f"the environment cannot be shown: {error}") from error


def _print(played: list[Played]) -> None:
    for episode in played:
        print(f"return {episode.r:g}, {episode.l} agent steps", flush=True)


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    parse("acer_tf.enjoy", Enjoy, argv).enjoy()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
