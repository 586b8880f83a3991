"""Evaluates the agent during training, keeps the best one, and ends training when it is good enough."""

from pathlib import Path
from typing import Any

import numpy as np

from acer_tf.callbacks.base import BaseCallback, EventCallback
from acer_tf.config import MAX_EPISODE_STEPS
from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.conventions import Player
from acer_tf.envs.same_spaces import EnvSpaces, check_same_spaces
from acer_tf.envs.vec_env import copy_moments
from acer_tf.errors import InputError
from acer_tf.evaluation.episodes import Played, play, said_of_cuts
from acer_tf.schema import Count, CountOrZero, Number, validated
from acer_tf.storage.arrays import load_arrays, save_arrays
from acer_tf.storage.durable import make_folder
from acer_tf.storage.paths import user_path
from acer_tf.storage.saved_agents import keep_lost
from acer_tf.system.console import say

EVALUATIONS = "evaluations.npz"
BEST_MODEL = "best_model.zip"


class EvalCallback(EventCallback):
    """Evaluates the agent every `eval_freq` calls of `on_step`; a call is one agent step in every environment.

    `evaluations.npz` holds `timesteps` [K], and `results` and `ep_lengths` [K, n_eval_episodes]: returns (raw, whole
    games) and lengths. It is replaced in one step after each evaluation. Rows of the same callback and agent are kept
    in the next `learn`, whatever the step from which it counts. A new callback, or one with another agent, keeps the
    file's rows up to the step from which training continues, also for the best mean return.

    Attributes:
        best_mean_reward: highest mean return so far; the agent that reached it is `best_model.zip` in
            `best_model_save_path`.
        last_mean_reward: mean return of the last evaluation.
    """

    def __init__(
        self,
        eval_env: Any,
        callback_on_new_best: Any = None,
        n_eval_episodes: int = 5,
        eval_freq: int = 10000,
        log_path: str | Path | None = None,
        best_model_save_path: str | Path | None = None,
        deterministic: bool = True,
        render: bool = False,
        verbose: int = 1,
        *,
        max_episode_steps: int | None = MAX_EPISODE_STEPS,
    ) -> None:
        """Sets how the agent is evaluated, and what becomes of the results.

        Args:
            eval_env: an environment or a vector environment, other than the training environment. If that has Stable
                Baselines' `VecNormalize`, this one needs it too: at every evaluation it gets the moments from training.
            callback_on_new_best: called when the mean return is higher than ever (see `as_callback`); False ends
                training.
            n_eval_episodes: episodes per evaluation, over all environments.
            eval_freq: calls of `on_step` between two evaluations.
            log_path: folder for `evaluations.npz`; None writes none.
            best_model_save_path: folder for `best_model.zip`; None saves none.
            deterministic: whether to take the most probable actions.
            render: whether to show the environment.
            verbose: 1 prints every evaluation.
            max_episode_steps: agent steps after which an episode is cut; None or 0 means no limit.

        Raises:
            InputError: an argument is invalid.
        """
        super().__init__(callback_on_new_best, verbose)
        self.eval_env = as_vector_env(eval_env)
        self.n_eval_episodes = validated("n_eval_episodes", n_eval_episodes, Count)
        self.eval_freq = validated("eval_freq", eval_freq, Count)
        self.log_path = None if log_path is None else user_path(log_path) / EVALUATIONS
        self.best_model_save_path = (
            None if best_model_save_path is None else user_path(best_model_save_path) / BEST_MODEL
        )
        self.deterministic = deterministic
        self.render = render
        self.max_episode_steps = validated("max_episode_steps", max_episode_steps or 0, CountOrZero)
        self.best_mean_reward = self.last_mean_reward = -np.inf
        self._evaluated: Any = None
        self.evaluations_timesteps: list[int] = []
        self.evaluations_results: list[list[float]] = []
        self.evaluations_length: list[list[int]] = []

    def _on_training_start(self) -> None:
        """Refuses the training environments, other spaces, and folders that cannot be made; reads evaluations.

        Evaluations after the agent's steps are forgotten: training has started again from an earlier step.
        """
        for path in (self.log_path, self.best_model_save_path):
            if path is not None:
                make_folder(path.parent)
        # Raises now what would otherwise stop the first evaluation.
        Player().enter(self.eval_env)
        copy_moments(self.training_env, self.eval_env.unwrapped)
        check_same_spaces(self.model, EnvSpaces.of(self.eval_env), "eval_env's", any_float=True)
        if self._evaluated is self.model:
            return
        if not self.evaluations_timesteps and self.log_path is not None and self.log_path.exists():
            self._read(self.log_path)
        self._forget_later_rows()

    def _on_step(self) -> bool:
        if self.n_calls % self.eval_freq:
            return True
        copy_moments(self.training_env, self.eval_env.unwrapped)
        render = (lambda _: self.eval_env.render()) if self.render else None
        played = play(
            self.model,
            self.eval_env,
            self.n_eval_episodes,
            self.deterministic,
            render,
            self._seed(),
            max_episode_steps=self.max_episode_steps,
        )
        episodes = [episode for ended in played for episode in ended]
        self._evaluated = self.model
        self._note(episodes)
        if not self.last_mean_reward > self.best_mean_reward:  # a nan is never the best
            return True
        self.best_mean_reward = self.last_mean_reward
        if self.verbose:
            say("the best mean return so far")
        if self.best_model_save_path is not None:
            self.model.save(self.best_model_save_path)
        return self._on_event()

    def _seed(self) -> int | None:
        """Returns a separate seed for this evaluation, the same in every training run with the same seed."""
        if self.model.seed is None:
            return None
        stream = np.random.SeedSequence(self.model.seed, spawn_key=(len(self.evaluations_timesteps),))
        return int(stream.generate_state(1)[0])

    def _note(self, played: list[Played]) -> None:
        returns, lengths = [episode.r for episode in played], [episode.l for episode in played]
        self.last_mean_reward = float(np.mean(returns))
        self.evaluations_timesteps.append(self.num_timesteps)
        self.evaluations_results.append(returns)
        self.evaluations_length.append(lengths)
        if self.log_path is not None:
            save_arrays(self.log_path, {name: np.array(column) for name, column in self._columns.items()})
        if self.verbose:
            mean, std, length = self.last_mean_reward, float(np.std(returns)), float(np.mean(lengths))
            cuts = f" ({cuts})" if (cuts := said_of_cuts(played)) else ""
            say(f"evaluation at step {self.num_timesteps:,}: return {mean:.2f} ± {std:.2f}, length {length:.1f}{cuts}")

    @property
    def _columns(self) -> dict[str, list[Any]]:
        """The evaluations, under their names in the file."""
        return {
            "timesteps": self.evaluations_timesteps,
            "results": self.evaluations_results,
            "ep_lengths": self.evaluations_length,
        }

    def _read(self, path: Path) -> None:
        arrays, columns = load_arrays(path), self._columns
        shapes = [arrays[name].shape for name in columns] if arrays.keys() == columns.keys() else []
        if [*map(len, shapes)] != [1, 2, 2] or len({shape[0] for shape in shapes}) > 1 or shapes[1] != shapes[2]:
            raise InputError(f"{path} holds no evaluations; choose another log_path.")
        if (episodes := shapes[1][1]) != self.n_eval_episodes:
            raise InputError(
                f"{path} has rows of {episodes} episodes, but n_eval_episodes is {self.n_eval_episodes}; choose "
                "another log_path."
            )
        for name, column in columns.items():
            column[:] = arrays[name].tolist()

    def _forget_later_rows(self) -> None:
        rows = sum(timestep <= self.num_timesteps for timestep in self.evaluations_timesteps)
        if self.verbose and rows < len(self.evaluations_timesteps):
            say(f"{len(self.evaluations_timesteps) - rows} evaluations after step {self.num_timesteps:,} are dropped")
        for column in self._columns.values():
            del column[rows:]
        if self.best_model_save_path is not None:
            keep_lost(self.best_model_save_path, self.num_timesteps)
        has_best = self.best_model_save_path is None or self.best_model_save_path.exists()
        means = [float(np.mean(returns)) for returns in self.evaluations_results] if has_best else []
        self.best_mean_reward = max((mean for mean in means if not np.isnan(mean)), default=-np.inf)


class StopTrainingOnRewardThreshold(BaseCallback):
    """Ends training once the best mean return of an `EvalCallback` has reached a threshold.

    Pass it to that callback: `EvalCallback(eval_env, StopTrainingOnRewardThreshold(200))`.
    """

    def __init__(self, reward_threshold: float, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.reward_threshold = validated("reward_threshold", reward_threshold, Number)

    def _init_callback(self) -> None:
        if not isinstance(self.parent, EvalCallback):
            raise InputError(
                "StopTrainingOnRewardThreshold does not work alone; pass it to EvalCallback as callback_on_new_best."
            )

    def _on_step(self) -> bool:
        assert isinstance(self.parent, EvalCallback)
        reached = self.parent.best_mean_reward >= self.reward_threshold
        if reached and self.verbose:
            say(f"the mean return {self.parent.best_mean_reward:.2f} has reached {self.reward_threshold:.2f}")
        return not reached
