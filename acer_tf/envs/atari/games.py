"""Several Atari games in one process, which read actions from shared rows and write their results there."""

import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.atari.game import AtariGame
from acer_tf.envs.atari.shared_rows import GameRows


class Games:
    """Steps games one after the other; a game whose episode ended is reset in the same step."""

    def __init__(self, game: str, max_episode_frames: int | None, rows: GameRows, display_screen: bool = False) -> None:
        """Describes the games; `start` loads them.

        Args:
            game: name of a ROM.
            max_episode_frames: raw frames after which a game is cut; None or 0 is no limit.
            rows: of these games, one each.
            display_screen: opens a window for each game.
        """
        self._rom = game
        self._max_episode_frames = max_episode_frames
        self._display_screen = display_screen
        self._rows = rows
        self._frames = list(rows.frames)
        self._games: list[AtariGame] = []

    def start(self) -> None:
        """Loads and resets every game, seeded with `rows.seeds`, and writes the frames."""
        seeds = self._rows.seeds.tolist()
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
        """Plays `rows.actions` and writes all other rows."""
        rows = self._rows
        for i, action in enumerate(rows.actions.tolist()):
            game = self._games[i]
            step = game.step(action, self._frames[i])
            if step.truncated:  # before reset draws the next episode over it
                rows.final_frames[i] = self._frames[i]
            if step.terminated or step.truncated:
                game.reset(self._frames[i])
            rows.rewards[i], rows.terminations[i], rows.truncations[i] = step
            result = game.take_result()
            rows.game_overs[i] = result is not None
            if result is not None:
                rows.scores[i], rows.lengths[i] = result
