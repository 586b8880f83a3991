"""Many Atari games in a few worker processes, as a gymnasium vector environment."""

import os
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from acer_tf.envs.atari import FRAME_SHAPE, MAX_EPISODE_FRAMES, AtariEnv
from acer_tf.envs.env_ids import atari_game
from acer_tf.envs.games import Games
from acer_tf.envs.shared_rows import SharedRows
from acer_tf.envs.workers import Workers
from acer_tf.errors import InputError

Bools = NDArray[np.bool_]
StepReturn = tuple[NDArray[np.uint8], NDArray[np.float32], Bools, Bools, dict[str, Any]]


class AtariPool(VectorEnv[NDArray[np.uint8], ArrayLike, NDArray[Any]]):
    """`num_env` games as `AtariEnv` wraps them, reset in the step in which they end.

    What happens does not depend on the number of workers. The observations that `reset` and `step` return are a
    read-only view of shared memory: the next step overwrites them. Copy what must last.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  (gymnasium's attribute)

    def __init__(
        self,
        env_id: str,
        num_env: int,
        seed: int | None = None,
        *,
        num_workers: int | None = None,
        max_episode_frames: int | None = MAX_EPISODE_FRAMES,
        timeout: float = 60.0,
    ) -> None:
        """Starts the workers and loads the games.

        Args:
            env_id: such as `BreakoutNoFrameskip-v4`.
            num_env: number of games, N.
            seed: makes the run reproducible; environment i has its own stream.
            num_workers: processes; 0 steps all games in this one, None uses one per processor, but at most N.
            max_episode_frames: raw frames after which a game is cut (108,000 are half an hour); None or 0 is no limit.
            timeout: seconds that the slowest worker may take for one step or reset.

        Raises:
            InputError: the id is not that of an Atari game.
            RuntimeError: a worker could not start.
        """
        game = atari_game(env_id)
        self.action_meanings = AtariEnv(game).action_meanings
        self.num_envs = num_env
        self.single_observation_space = gymnasium.spaces.Box(0, 255, FRAME_SHAPE, np.uint8)
        self.single_action_space = gymnasium.spaces.Discrete(len(self.action_meanings))
        self.observation_space = batch_space(self.single_observation_space, num_env)
        self.action_space = batch_space(self.single_action_space, num_env)

        shared = SharedRows(num_env)
        self._rows = shared.rows(range(num_env))
        self._frames = self._rows.frames.view()
        self._frames.flags.writeable = False
        self._set_seeds(seed)
        self._timeout = timeout
        self._start = time.perf_counter()
        self._is_reset = self._is_stepping = False
        self._games: Games | None = None
        self._workers: Workers | None = None
        num_workers = min(num_env, os.cpu_count() or 1 if num_workers is None else num_workers)
        if num_workers:
            self._workers = Workers(game, shared, num_env, num_workers, max_episode_frames)
            self._wait()
        else:
            self._games = Games(game, self._rows, max_episode_frames)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Resets every environment as baselines does: after a lost life or in mid-game the game goes on.

        Args:
            seed: starts new games from this seed; None goes on with the random streams.
            options: not used.

        Returns:
            Observations [N, 84, 84, 1] uint8 and an empty dict.
        """
        self._require(not self._is_stepping, "step_async was called without step_wait")
        if seed is not None:
            self._set_seeds(seed)
            self._do("seed")
        self._do("reset")
        self._is_reset = True
        return self._frames, {}

    def step(self, actions: ArrayLike) -> StepReturn:
        """Plays one action in every environment.

        Args:
            actions: [N], whole numbers from 0 to A - 1.

        Returns:
            Observations [N, 84, 84, 1] uint8 (where an episode ended, the first of the next one), rewards [N] float32,
            terminations [N] bool, truncations [N] bool and infos: when whole games ended, `episode` holds `r` (score,
            float64), `l` (agent steps, int64) and `t` (seconds since the pool was made, float64), each [N], and
            `_episode` says where, [N] bool.

        Raises:
            InputError: an action that does not exist.
            RuntimeError: a worker raised, died or timed out; the pool is then closed.
        """
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: ArrayLike) -> None:
        """Starts a step; `step_wait` returns its results. Observations must not be read in between."""
        self._require(self._is_reset, "reset must be called first")
        self._require(not self._is_stepping, "step_async was called without step_wait")
        self._rows.actions[:] = self._checked(actions)
        self._send("step")
        self._is_stepping = True

    def step_wait(self) -> StepReturn:
        """Returns what `step` returns, for the step that was started last."""
        self._require(self._is_stepping, "step_async must be called first")
        self._is_stepping = False
        self._wait()
        rows = self._rows
        return self._frames, rows.rewards.copy(), rows.terminations.copy(), rows.truncations.copy(), self._infos()

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the workers; called by `close`, once."""
        if self._workers:
            self._workers.close()
        self._workers = self._games = None

    def _infos(self) -> dict[str, Any]:
        ended = self._rows.game_overs.copy()
        if not ended.any():
            return {}
        seconds = round(time.perf_counter() - self._start, 6)
        columns = {"r": self._rows.scores, "l": self._rows.lengths, "t": np.full(self.num_envs, seconds)}
        return {"episode": {k: np.where(ended, v, v.dtype.type(0)) for k, v in columns.items()}, "_episode": ended}

    def _checked(self, actions: ArrayLike) -> NDArray[np.int64]:
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or not np.issubdtype(array.dtype, np.integer):
            raise InputError(
                f"actions have shape {array.shape} and type {array.dtype}; "
                f"expected whole numbers of shape ({self.num_envs},)."
            )
        count = len(self.action_meanings)
        wrong = (array < 0) | (array >= count)
        if wrong.any():
            i = int(wrong.argmax())
            raise InputError(f"action {array[i]} of environment {i} does not exist; expected 0 to {count - 1}.")
        return array

    def _set_seeds(self, seed: int | None) -> None:
        self._rows.seeds[:] = np.random.SeedSequence(seed).generate_state(self.num_envs, np.uint64)

    def _do(self, command: str) -> None:
        self._send(command)
        self._wait()

    def _send(self, command: str) -> None:
        self._require(not self.closed, "it is closed")
        if self._workers:
            self._workers.send(command)
        else:
            getattr(self._games, command)()

    def _wait(self) -> None:
        if not self._workers:
            return
        try:
            self._workers.wait(self._timeout)
        except BaseException:
            self.close()
            raise

    def _require(self, ok: bool, why: str) -> None:
        if not ok:
            raise RuntimeError(f"This AtariPool cannot do that: {why}.")
