"""Many Atari games in a few worker processes, as a gymnasium vector environment."""

import contextlib
import functools
import os
import time
from collections.abc import Iterable, Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from acer_tf.config import MAX_EPISODE_FRAMES
from acer_tf.envs.atari.game import FRAME_SHAPE, FRAMES_PER_STEP, AtariGame
from acer_tf.envs.atari.games import Games, rows_in, shared_memory
from acer_tf.envs.atari.workers import Fault, Workers
from acer_tf.envs.ids import atari_game
from acer_tf.envs.rendering import make_drawn
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.system.compute import cores
from acer_tf.system.console import say

Bools = NDArray[np.bool_]
StepReturn = tuple[NDArray[np.uint8], NDArray[np.float32], Bools, Bools, dict[str, Any]]

_START_TIMEOUT = 60.0  # seconds, for a process to start and load its games


class AtariPool(VectorEnv[NDArray[np.uint8], ArrayLike, NDArray[Any]]):
    """`num_env` games as `AtariGame` wraps them, each reset in the step in which its episode ends.

    Results do not depend on the number of workers. The observations that `reset` and `step` return are a read-only view
    of shared memory: the next step overwrites them. Copy what must last.

    A worker that dies, raises or stops answering is replaced, with a warning on standard error. Its games are
    restarted with new seeds; all other games continue.

    Attributes:
        game: name of its ROM.
        action_names: names of the actions, [A].
        num_workers: processes that step the games; 0 if this process does.
        replacements: workers replaced so far.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (gymnasium's attribute)
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": ["human", "rgb_array"],
        "render_fps": 15,  # the agent sees every fourth of 60 frames per second
    }
    _games: Games | None = None
    _workers: Workers | None = None

    def __init__(
        self,
        env_id: str,
        num_env: int,
        *,
        num_workers: int | None = None,
        max_episode_frames: int | None = MAX_EPISODE_FRAMES,
        timeout: float = 60.0,
        max_restarts: int = 10,
        render_mode: str | None = None,
    ) -> None:
        """Describes the environments; `start_workers` or the first reset starts the workers, which load the games.

        Args:
            env_id: an id such as `BreakoutNoFrameskip-v4`.
            num_env: number of games, N.
            num_workers: processes; 0 steps all games in this process, None uses one for each core that this process may
                use, but at most N.
            max_episode_frames: raw frames after which a game is cut (108,000 are half an hour); None or 0 means no
                limit.
            timeout: seconds after which a worker that does not answer a step or reset is replaced.
            max_restarts: workers that may be replaced in the life of the pool.
            render_mode: with `rgb_array`, `render` returns the screens, and this process steps all games; `human` opens
                a window for each game, which runs in a separate process.

        Raises:
            InputError: the id is not an Atari game.
        """
        self.game = atari_game(env_id)
        self.action_names = AtariGame(self.game).action_meanings
        self.spec = gymnasium.spec(env_id)
        self.num_envs = num_env
        self.single_observation_space = gymnasium.spaces.Box(0, 255, FRAME_SHAPE, np.uint8)
        self.single_action_space = gymnasium.spaces.Discrete(len(self.action_names))
        self.observation_space = batch_space(self.single_observation_space, num_env)
        self.action_space = batch_space(self.single_action_space, num_env)

        self._memory = shared_memory(num_env)
        self._rows = rows_in(self._memory, range(num_env))
        self._frames = self._rows["frame"]
        self._frames.flags.writeable = False
        self._make_games = functools.partial(Games, self.game, max_episode_frames)
        self.render_mode = render_mode
        if render_mode == "human":
            num_workers = num_env
            self._make_games = functools.partial(make_drawn, dict(os.environ), self._make_games, display_screen=True)
        elif render_mode is not None:
            num_workers = 0
        self.num_workers = min(num_env, cores() if num_workers is None else num_workers)
        self._timeout = timeout
        self._start_timeout = max(timeout, _START_TIMEOUT)
        self._max_restarts = max_restarts
        self.replacements = 0
        self._start = time.perf_counter()
        self._is_reset = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Resets every environment as baselines does: after a lost life or in mid-game, the game continues.

        Args:
            seed: starts new games, each with a separate random stream derived from this seed; None continues the random
                streams, or draws fresh entropy at the first reset.
            options: not used.

        Returns:
            Observations [N, 84, 84, 1] uint8 and an empty dict.

        Raises:
            EnvironmentFailedError: as for `step`.
        """
        is_start = seed is not None or not self._is_reset
        if is_start:
            self._rows["seed"] = np.random.SeedSequence(seed).generate_state(self.num_envs, np.uint64)
        self._run("start" if is_start else "reset")
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
            `_episode` marks where, [N] bool. If the frame limit cut games, `final_obs` holds their last frames, [N] of
            objects, None elsewhere, and `_final_obs` marks where. If workers were replaced, `worker_replaced` marks the
            lost episodes, [N] bool: they are truncated with reward 0, and the observation is that of a new game.

        Raises:
            InputError: an action does not exist.
            EnvironmentFailedError: a worker raised, died or stopped answering after `max_restarts` replacements; the
                pool is then closed.
        """
        self._require(self._is_reset, "reset must be called first")
        self._rows["action"] = self._checked(actions)
        replaced = self._run("step")
        infos = self._truncated(replaced) if replaced else {}
        infos |= self._games_cut(replaced) | self._games_ended()
        rows = self._rows
        # Copies, except for the frames: the next step overwrites the rows.
        return self._frames, rows["reward"].copy(), rows["terminated"].copy(), rows["truncated"].copy(), infos

    def start_workers(self) -> None:
        """Starts any workers before the first reset does, so that they load the games in the meantime."""
        self._require(not self.closed, "it is closed")
        with self._closed_on_error():
            if self.num_workers and self._workers is None:
                self._workers = Workers(self._make_games, self._memory, self.num_envs, self.num_workers)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Returns the screen of every game in RGB, uint8 [210, 160, 3] in most; None unless in mode `rgb_array`."""
        if self.render_mode != "rgb_array":
            return None
        self._require(self._games is not None, "reset must be called before render")
        assert self._games is not None
        return self._games.render()

    def scores(self) -> list[float] | None:
        """Returns the score so far in every game; None if workers step them."""
        return None if self._games is None else self._games.scores()

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the workers; called by `close`, once."""
        if self._workers:
            self._workers.close()
        self._workers = self._games = None

    def _games_ended(self) -> dict[str, Any]:
        ended = self._rows["game_over"].copy()
        if not ended.any():
            return {}
        seconds = round(time.perf_counter() - self._start, 6)
        columns = {"r": self._rows["score"], "l": self._rows["length"], "t": np.full(self.num_envs, seconds)}
        # As in gymnasium's RecordEpisodeStatistics: 0 where no game ended.
        return {"episode": {k: np.where(ended, v, v.dtype.type(0)) for k, v in columns.items()}, "_episode": ended}

    def _games_cut(self, replaced: list[int]) -> dict[str, Any]:
        cut = self._rows["truncated"] & ~self._rows["terminated"]  # nothing is bootstrapped after a lost life
        cut[replaced] = False
        if not cut.any():
            return {}
        frames = zip(self._rows["final_frame"], cut, strict=True)
        final = (frame.copy() if is_cut else None for frame, is_cut in frames)
        return {"final_obs": np.fromiter(final, object), "_final_obs": cut}

    def _checked(self, actions: ArrayLike) -> NDArray[np.int64]:
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or not np.issubdtype(array.dtype, np.integer):
            raise InputError(
                f"actions have shape {array.shape} and type {array.dtype}; "
                f"expected whole numbers of shape ({self.num_envs},)."
            )
        count = len(self.action_names)
        wrong = (array < 0) | (array >= count)
        if wrong.any():
            i = int(wrong.argmax())
            raise InputError(f"action {array[i]} of environment {i} does not exist; expected 0 to {count - 1}.")
        return array

    @contextlib.contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        """Closes the pool on errors between a command and its answers, after which the games cannot continue."""
        try:
            yield
        except KeyboardInterrupt:  # nothing is wrong with the games: a reset starts new workers
            self.close_extras()
            self._is_reset = False
            raise
        except BaseException:
            self.close()
            raise

    def _run(self, command: str) -> list[int]:
        """Runs a method of `Games` in every process; returns the environments whose worker was replaced."""
        self.start_workers()
        replaced: list[int] = []
        timeout = self._start_timeout if command == "start" else self._timeout
        with self._closed_on_error():
            if self._workers is None:
                self._games = self._games or self._make_games(self._rows)
                getattr(self._games, command)()
                return replaced
            self._workers.send(command)
            while faults := self._workers.wait(timeout):
                self._replace(self._workers, faults)
                replaced += [env for fault in faults for env in fault.envs]
                timeout = self._start_timeout
        return replaced

    def _replace(self, workers: Workers, faults: Iterable[Fault]) -> None:
        for fault in faults:
            if self.replacements == self._max_restarts:
                why = f"no more than {self._max_restarts} workers are replaced"
                raise EnvironmentFailedError(f"{fault.what}; {why}.\n{fault.traceback}".rstrip())
            self.replacements += 1
            count = f"replaced it ({self.replacements} of at most {self._max_restarts})"
            say(f"warning: {fault.what}; {count}\n{fault.traceback}".rstrip(), is_error=True)
            for env in fault.envs:
                self._rows["seed"][env] = next_seed(int(self._rows["seed"][env]))
            workers.restart(fault)

    def _truncated(self, envs: list[int]) -> dict[str, Any]:
        """Truncates the episodes of these environments, whose worker may have left half a step."""
        rows = self._rows
        rows["reward"][envs] = 0
        rows["terminated"][envs] = rows["game_over"][envs] = False
        rows["truncated"][envs] = True
        return {"worker_replaced": np.isin(np.arange(self.num_envs), envs)}

    def _require(self, ok: bool, why: str) -> None:
        if not ok:
            raise RuntimeError(f"This AtariPool cannot do that: {why}.")


def frames_per_step(env: VectorEnv[Any, Any, Any]) -> int | None:
    """Returns the raw frames per agent step in Atari games, None in other environments."""
    return FRAMES_PER_STEP if isinstance(env.unwrapped, AtariPool) else None


def next_seed(seed: int) -> int:
    """Returns the seed, below 2⁶⁴, of the game that replaces a lost game with this seed."""
    return int(np.random.SeedSequence(seed).spawn(1)[0].generate_state(1, np.uint64)[0])
