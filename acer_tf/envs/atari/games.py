"""Several Atari games that live in one process and write into their rows."""

import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.atari.game import AtariEnv
from acer_tf.envs.atari.shared_rows import Rows


class Games:
    """Steps its games one after the other; a game whose episode ended is reset in the same step."""

    def __init__(self, game: str, max_episode_frames: int | None, rows: Rows, is_shown: bool = False) -> None:
        """Says which games; `start` loads them.

        Args:
            game: name of a ROM.
            max_episode_frames: raw frames after which a game is cut; None or 0 is no limit.
            rows: one per game; only these are read and written.
            is_shown: opens a window for each game.
        """
        self._game = game
        self._max_episode_frames = max_episode_frames
        self._is_shown = is_shown
        self._rows = rows
        self._frames = list(rows.frames)
        self._envs: list[AtariEnv] = []

    def start(self) -> None:
        """Loads every game, seeded from `rows.seeds`, resets it and writes the frame."""
        seeds = self._rows.seeds.tolist()
        self._envs = [AtariEnv(self._game, seed, self._max_episode_frames, self._is_shown) for seed in seeds]
        self.reset()

    def reset(self) -> None:
        """Resets every game and writes the frames."""
        for env, frame in zip(self._envs, self._frames, strict=True):
            env.reset(frame)

    def screens(self) -> tuple[NDArray[np.uint8], ...]:
        """Returns the screen of every game, in colour."""
        return tuple(env.screen() for env in self._envs)

    def step(self) -> None:
        """Plays `rows.actions` and writes all other rows."""
        rows = self._rows
        for i, action in enumerate(rows.actions.tolist()):
            env = self._envs[i]
            step = env.step(action, self._frames[i])
            if step.truncated:
                rows.final_frames[i] = self._frames[i]
            if step.terminated or step.truncated:
                env.reset(self._frames[i])
            rows.rewards[i], rows.terminations[i], rows.truncations[i] = step
            game = env.take_game()
            rows.game_overs[i] = game is not None
            if game is not None:
                rows.scores[i], rows.lengths[i] = game
