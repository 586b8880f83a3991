"""Shows a trained agent at play: `python -m acer_tf.enjoy RUN`."""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from acer_tf.cli.parsing import command
from acer_tf.cli.play import PlayFlags
from acer_tf.envs.closing import closing
from acer_tf.errors import InputError
from acer_tf.evaluation.episodes import Played, Predictor, play
from acer_tf.evaluation.video import frames_per_second, pictures, record_video
from acer_tf.evaluation.window import window


@dataclasses.dataclass(frozen=True)
class Enjoy(PlayFlags):
    """Shows a trained agent at play in a window, or in a video."""

    episodes: int = 3
    """Whole episodes to play; in Atari whole games, over all lives."""

    def enjoy(self) -> None:
        """Plays the episodes and prints the return of each.

        Raises:
            InputError: the agent does not exist, a flag has a value that cannot work, or the environment cannot be
                rendered.
        """
        self.check()
        trained, video = self.find(), self.video_file()
        if video is None and not has_display():
            print("no display: nothing is shown; for a video add --video")
        with closing(trained.make_env(1, self._render_mode())) as env:
            agent = trained.load(env)
            print(f"{trained.name}: {trained.env_id}, {self.actions} actions, seed {self.seed}", flush=True)
            if video is None:
                self._show(agent, env)
            else:
                _print(
                    record_video(
                        agent, env, video, self.episodes, self.deterministic, seed=self.seed, explain=self.explain
                    )
                )
                print(f"video: {video}")

    def _render_mode(self) -> str | None:
        if self.video is not None:
            return "rgb_array"
        if not has_display():
            return None
        return "rgb_array" if self.explain else "human"

    def _show(self, agent: Predictor, env: VectorEnv[Any, Any, Any]) -> None:
        """Plays in a window, or unseen without a display; the environment's own window, but with --explain ours."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(_missing_renderer_refused())
            before_step = None
            if env.render_mode == "rgb_array":
                show = stack.enter_context(window(f"acer_tf: {self.run}", frames_per_second(env)))
                picture = pictures(agent, env, self.explain)
                before_step = lambda moment: show(picture(moment))  # noqa: E731
            for ended in play(agent, env, self.episodes, self.deterministic, before_step, self.seed):
                _print(ended)


def has_display() -> bool:
    """Returns whether a window can be opened: on Linux, whether an X or a Wayland server is configured."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextlib.contextmanager
def _missing_renderer_refused() -> Iterator[None]:
    try:
        yield
    except gymnasium.error.DependencyNotInstalled as error:
        raise InputError(f"the environment cannot be shown: {error}") from error


def _print(played: list[Played]) -> None:
    for episode in played:
        print(f"return {episode.r:g}, {episode.l} agent steps", flush=True)


main = command("acer_tf.enjoy", Enjoy, Enjoy.enjoy)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
