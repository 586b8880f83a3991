"""Flags of the commands that play with a trained agent, `evaluate` and `enjoy`."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from gymnasium.vector import VectorEnv

from acer_tf.cli.parsing import OptionalValue, Positional
from acer_tf.cli.trained import Trained, find_trained
from acer_tf.config import MAX_EPISODE_STEPS
from acer_tf.envs.ids import typed_env_id
from acer_tf.errors import InputError
from acer_tf.evaluation.episodes import Played, Predictor, play
from acer_tf.evaluation.video import check_video, record_video
from acer_tf.schema import Count, CountOrZero, Seed, validate_fields
from acer_tf.storage.durable import require_free
from acer_tf.storage.paths import free_path
from acer_tf.storage.saved_agents import Choice, is_checkpoint

_BESIDE_THE_AGENT = Path()


@dataclasses.dataclass(frozen=True)
class PlayFlags:
    """How to play with a trained agent."""

    run: Positional[Path]
    """Run folder, even of a run in progress; one of its checkpoints; a file that ACER.save wrote; or an agent that
    ships with this package, such as cartpole."""
    checkpoint: Choice = "latest"
    """Which agent of the run folder: latest (model.zip, or the newest checkpoint if it has trained for longer), best
    (best.zip, or else the checkpoint with the highest mean return), or the checkpoint at this agent step."""
    episodes: Count = 30
    """Episodes to play; for Atari, whole games with all lives."""
    deterministic: bool = False
    """Take the most probable action at every step."""
    stochastic: bool = False
    """Sample actions from the policy, as in training; this is the default."""
    max_episode_steps: CountOrZero = MAX_EPISODE_STEPS
    """Cut an episode after this many agent steps and report it; 0 sets no limit."""
    seed: Seed = 0
    """Seed of the environments."""
    env: str | None = None
    """Environment id, or module:id if a module registers it when imported; None takes the run's."""
    env_kwargs: Mapping[str, Any] | None = None
    """Arguments of the environment, such as gravity:5.0; None takes the run's, if they are plain numbers and words."""
    video: Annotated[Path | None, OptionalValue(r".*\.(?!zip$)[a-z]\w*")] = None
    """Write a video to this mp4 file; without a name, to video.mp4 in the run folder, or to a file beside the agent's
    with the agent's name. A number is added if that file exists."""
    explain: bool = False
    """Write a video that shows, beside each picture, the probability and Q of each action (mean and sigma if actions
    are continuous), V over time and the return so far."""

    def check(self) -> None:
        """Checks the flags that can be checked without loading the agent.

        Raises:
            InputError: a flag has a value that cannot work.
        """
        validate_fields(self)
        if self.deterministic and self.stochastic:
            raise InputError("--deterministic and --stochastic exclude each other; give only one.")
        video = self.video_file()
        if video is not None:
            require_free(video)
            check_video(video)

    def find(self) -> Trained:
        """Finds the agent and its environment.

        Raises:
            InputError: as for `find_trained`.
        """
        env_id = None if self.env is None else typed_env_id(self.env)
        return find_trained(self.run, env_id, self.checkpoint, self.env_kwargs)

    def play(self, agent: Predictor, env: VectorEnv[Any, Any, Any]) -> Iterator[list[Played]]:
        """Plays the episodes; yields what `acer_tf.evaluation.episodes.play` does."""
        return play(
            agent, env, self.episodes, self.deterministic, seed=self.seed, max_episode_steps=self.max_episode_steps
        )

    def record(self, agent: Predictor, env: VectorEnv[Any, Any, Any], video: Path, episodes: int) -> list[Played]:
        """Plays episodes and writes their video, like `acer_tf.evaluation.video.record_video`."""
        return record_video(
            agent,
            env,
            video,
            episodes,
            self.deterministic,
            seed=self.seed,
            explain=self.explain,
            max_episode_steps=self.max_episode_steps,
        )

    def video_file(self) -> Path | None:
        """Returns the path of the video, or None without one; an unnamed video gets a path that does not exist yet."""
        if self.video != _BESIDE_THE_AGENT and not (self.video is None and self.explain):
            return self.video
        is_run = self.run.is_dir() and not is_checkpoint(self.run)
        return free_path(self.run / "video" if is_run else self.run.with_suffix(""), ".mp4")

    @property
    def actions(self) -> str:
        """How actions are chosen: deterministic or stochastic."""
        return "deterministic" if self.deterministic else "stochastic"
