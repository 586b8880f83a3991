"""Evaluates a run's agent while it trains, and keeps the best one."""

import io
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import VectorEnv

from acer_tf.errors import environment_errors
from acer_tf.evaluation.episodes import Played, play, said_of_cuts, summarize
from acer_tf.logs.logger import Logger
from acer_tf.storage.durable import replace
from acer_tf.storage.run_files import BEST
from acer_tf.storage.saved_agents import keep_lost
from acer_tf.system.console import say
from acer_tf.training.job import EvaluationSettings

if TYPE_CHECKING:
    from acer_tf.agent import ACER


class Evaluations:
    """Plays whole episodes with the agent whenever it has trained for another `eval_every` agent steps.

    Environments and actions are seeded from (seed, step), and the agent's own random streams stay unchanged, so
    evaluations affect neither training nor each other.
    """

    def __init__(
        self,
        agent: "ACER",
        logger: Logger,
        make_env: Callable[[], VectorEnv[Any, Any, Any]],
        settings: EvaluationSettings,
        seed: int,
        folder: Path,
    ) -> None:
        """Makes the environments, but plays nothing yet.

        Args:
            agent: the agent, whose `num_timesteps` tells when an evaluation is due.
            logger: records the results.
            make_env: makes environments like `evaluate`.
            settings: settings; without `eval_every`, there are neither evaluations nor environments.
            seed: seed of the run.
            folder: run folder, for best.zip.
        """
        self._agent = agent
        self._logger = logger
        self._settings = settings
        self._env = None if settings.eval_every is None else make_env()
        self._seed = seed
        self._file = folder / BEST
        self._step = 0  # step of the last evaluation
        self._best: float | None = None
        self._unwritten = b""  # best.zip, if the disk did not take it

    def state_dict(self) -> dict[str, Any]:
        """Returns the step of the last evaluation, the highest mean return, and best.zip if it is not yet on disk."""
        unwritten = {"unwritten": np.frombuffer(self._unwritten, np.uint8)} if self._unwritten else {}
        return {"step": self._step, "best": self._best, **unwritten}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what `state_dict` returned; without best.zip, the next agent is the best.

        A best.zip of an agent that had learned more than this one before the process was killed is kept under another
        name, so that at least that agent is not lost.
        """
        self._step = state["step"]
        keep_lost(self._file, self._step)
        self._unwritten = np.asarray(state.get("unwritten", ()), np.uint8).tobytes()
        self._best = state["best"] if self._unwritten or self._file.exists() else None

    def if_due(self, goes_on: Callable[[], bool]) -> None:
        """Evaluates the agent if due, logs the result, and writes best.zip if it is the best so far.

        If the disk does not take the file, a later evaluation or `write` writes it.

        Args:
            goes_on: called after each step; False abandons the evaluation, which stays due.

        Raises:
            EnvironmentFailedError: an environment raised an error.
        """
        step, every = self._agent.num_timesteps, self._settings.eval_every
        if self._env is None or every is None or step // every <= self._step // every:
            return
        played = self._evaluate(self._env, step, goes_on)
        if played is None:
            return
        self._step = step
        summary = summarize([episode.r for episode in played], [episode.l for episode in played])
        values = {"mean_return": summary.mean, "std_return": summary.std, "mean_length": summary.mean_length}
        cut = sum(episode.is_cut for episode in played)
        self._logger.evaluation(step, {"episodes": summary.episodes, **values, "cut": cut})
        is_best = not math.isnan(summary.mean) and (self._best is None or summary.mean > self._best)
        episodes = said_of_cuts(played) or f"{summary.episodes} episodes"
        say(
            f"evaluation at step {step:,}: return {summary.mean:.2f} ± {summary.std:.2f} ({episodes})"
            f"{', the best so far' if is_best else ''}"
        )
        if is_best:
            content = io.BytesIO()
            self._agent.save(content)
            self._best, self._unwritten = summary.mean, content.getvalue()
        try:
            self.write()
        except OSError as error:
            say(f"{self._file} cannot be written ({error.strerror}); it is kept in memory.", is_error=True)

    def write(self) -> None:
        """Writes the best agent to best.zip if the disk has not taken it yet.

        Raises:
            OSError: the disk still does not take it.
        """
        if self._unwritten:
            replace(self._file, self._unwritten)
        self._unwritten = b""

    def close(self) -> None:
        """Closes the environments."""
        if self._env is not None:
            self._env.close()

    def _evaluate(self, env: VectorEnv[Any, Any, Any], step: int, goes_on: Callable[[], bool]) -> list[Played] | None:
        of_env, of_actions = np.random.SeedSequence([self._seed, step], spawn_key=(0,)).generate_state(2).tolist()
        played: list[Played] = []
        settings = self._settings
        steps = play(
            self._agent,
            env,
            settings.eval_episodes,
            settings.eval_deterministic,
            seed=of_env,
            max_episode_steps=settings.eval_max_episode_steps,
        )
        with self._agent.predicting_from(of_actions), environment_errors():
            for ended in steps:
                if not goes_on():
                    return None
                played += ended
        return played
