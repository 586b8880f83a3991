"""Several Atari games in one process, which read actions from shared rows and write their results to them."""

import ctypes
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.atari.game import FRAME_SHAPE, AtariGame
from acer_tf.errors import InputError

ROW = np.dtype(
    [
        ("seed", np.uint64),  # read when a worker seeds its games
        ("action", np.int64),  # index into the game's action meanings
        ("frame", np.uint8, FRAME_SHAPE),  # the agent's frame
        ("final_frame", np.uint8, FRAME_SHAPE),  # the last frame of an episode that was truncated and not terminated
        ("reward", np.float32),  # clipped
        ("terminated", np.bool_),  # a life was lost or the game is over
        ("truncated", np.bool_),  # the time limit was reached
        ("game_over", np.bool_),  # a whole game ended; only then are score and length valid
        ("score", np.float64),  # the game's own score
        ("length", np.int64),  # agent steps
    ],
    align=True,
)
"""The data that the pool shares with its workers for each game."""

Rows = NDArray[np.void]
"""[n] of `ROW`."""


def shared_memory(num_env: int) -> Any:
    """Returns memory for the rows of N environments, to be passed to a worker process when that is started.

    The file behind it is unlinked as soon as it is made, so nothing is left behind, however the processes end.

    Raises:
        InputError: the system has no room for it, or does not let this process make it.
    """
    try:
        return RawArray(ctypes.c_uint8, num_env * ROW.itemsize)
    except OSError as error:
        raise InputError(
            f"shared memory for {num_env} games cannot be made ({error}); free some shared memory."
        ) from error


def rows_in(memory: Any, envs: range) -> Rows:
    """Returns the rows of consecutive environments, as a view of the memory."""
    return np.frombuffer(memory, ROW)[envs.start : envs.stop]


class Games:
    """Steps games one after the other; a game whose episode ended is reset in the same step."""

    def __init__(self, game: str, max_episode_frames: int | None, rows: Rows, display_screen: bool = False) -> None:
        """Describes the games; `start` loads them.

        Args:
            game: name of a ROM.
            max_episode_frames: raw frames after which a game is cut; None or 0 means no limit.
            rows: the rows of these games, one each.
            display_screen: opens a window for each game.
        """
        self._rom = game
        self._max_episode_frames = max_episode_frames
        self._display_screen = display_screen
        self._rows = rows
        self._frames = list(rows["frame"])
        self._games: list[AtariGame] = []

    def start(self) -> None:
        """Loads and resets every game, seeded with its row's seed, and writes the frames."""
        seeds = self._rows["seed"].tolist()
        self._games = [AtariGame(self._rom, seed, self._max_episode_frames, self._display_screen) for seed in seeds]
        self.reset()

    def reset(self) -> None:
        """Resets every game and writes the frames."""
        for game, frame in zip(self._games, self._frames, strict=True):
            game.reset(frame)

    def render(self) -> tuple[NDArray[np.uint8], ...]:
        """Returns the screen of every game, in RGB."""
        return tuple(game.render() for game in self._games)

    def scores(self) -> list[float]:
        """Returns the score so far of every game."""
        return [game.score for game in self._games]

    def step(self) -> None:
        """Plays the rows' actions and writes the results."""
        rows = self._rows
        for i, action in enumerate(rows["action"].tolist()):
            game = self._games[i]
            step = game.step(action, self._frames[i])
            if step.truncated:  # before reset overwrites it with the next episode
                rows["final_frame"][i] = self._frames[i]
            if step.terminated or step.truncated:
                game.reset(self._frames[i])
            rows["reward"][i], rows["terminated"][i], rows["truncated"][i] = step
            result = game.take_result()
            rows["game_over"][i] = result is not None
            if result is not None:
                rows["score"][i], rows["length"][i] = result
