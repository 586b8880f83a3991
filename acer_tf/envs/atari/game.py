"""One Atari game, wrapped exactly as baselines' `make_atari` and `wrap_deepmind` wrap it, on the bare emulator.

From the inside out: NoopReset, MaxAndSkip, Monitor, EpisodicLife, FireReset, WarpFrame, ClipReward.
"""

from typing import NamedTuple

import ale_py
import cv2
import numpy as np
from ale_py import roms
from numpy.typing import NDArray

from acer_tf.errors import InputError, nearest

FRAME_SHAPE = (84, 84, 1)
MAX_EPISODE_FRAMES = 108_000
"""Half an hour of play at 60 frames per second: the limit of the Arcade Learning Environment."""
FRAMES_PER_STEP = 4
"""Raw frames of an agent step: MaxAndSkip's."""

_MAX_NOOPS = 30
_NOOP, _FIRE, _AFTER_FIRE = 0, 1, 2  # as in baselines, FireReset plays action 1 and then action 2


class Step(NamedTuple):
    """What one agent step gave.

    Attributes:
        reward: sign of the game's own reward.
        terminated: a life was lost or the game is over.
        truncated: the time limit was reached.
    """

    reward: float
    terminated: bool
    truncated: bool


class Game(NamedTuple):
    """A whole game as Monitor counts it: over all lives, with the steps that the agent does not see.

    Attributes:
        r: the game's own score.
        l: length in agent steps.
    """

    r: float
    l: int  # noqa: E741  (the column's name in baselines' monitor files)


class AtariEnv:
    """One game, without frame stack. After a step that is terminated or truncated the caller must call `reset`.

    `reset` starts a new game if the last step ended the game or there was none. Otherwise it plays one hidden NOOP, as
    EpisodicLife does after a lost life; if that NOOP ends the game (baselines' Monitor would raise), a new game starts
    at once.

    Attributes:
        action_meanings: names of the actions, [A].
    """

    def __init__(
        self,
        game: str,
        seed: int | None = None,
        max_episode_frames: int | None = MAX_EPISODE_FRAMES,
        is_shown: bool = False,
    ) -> None:
        """Loads the game.

        Args:
            game: name of a ROM, such as `breakout`.
            seed: of the emulator and of the number of NOOPs; None takes fresh entropy.
            max_episode_frames: raw frames, the NOOPs at the start included, after which a game is cut; None or 0 is no
                limit.
            is_shown: opens a window that shows the game at its own speed.

        Raises:
            InputError: the ROM does not exist, or its actions are not what baselines' wrappers expect.
        """
        if game not in roms.get_all_rom_ids():
            near = ", ".join(nearest(game, roms.get_all_rom_ids()))
            raise InputError(f"game '{game}' does not exist; the nearest are {near}.")
        rom = roms.get_rom_path(game)
        assert rom is not None  # only for an unknown game
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._ale = ale_py.ALEInterface()
        self._ale.setFloat("repeat_action_probability", 0.0)
        self._ale.setInt("max_num_frames_per_episode", max_episode_frames or 0)
        self._ale.setBool("display_screen", is_shown)
        noop_seed, ale_seed = np.random.SeedSequence(seed).generate_state(2)
        self._random = np.random.default_rng(noop_seed)
        self._ale.setInt("random_seed", int(ale_seed >> 1))
        self._ale.loadROM(rom)  # seeds take effect here only

        self._actions = self._ale.getMinimalActionSet()
        self.action_meanings = [action.name for action in self._actions]
        if self.action_meanings[_NOOP] != "NOOP":
            raise InputError(f"the first action of game '{game}' is not NOOP, which baselines' wrappers need.")
        self._has_fire = self.action_meanings[_FIRE] == "FIRE"

        height, width = self._ale.getScreenDims()
        self._screens = np.zeros((2, height, width, 3), np.uint8)  # of the last two frames of a skip
        self._rgb = np.zeros((height, width, 3), np.uint8)
        self._gray = np.zeros((height, width), np.uint8)
        self._game_over = False
        self._ended_by_step = True  # as in baselines it stays so until the first step, whatever is reset in between
        self._lives = self._score = self._length = 0
        self._ended: Game | None = None

    def reset(self, frame_out: NDArray[np.uint8]) -> None:
        """Starts the next life, or the next game if the last one is over.

        Args:
            frame_out: uint8 [84, 84, 1], contiguous; receives the first frame.
        """
        self._restart()
        if not self._has_fire:
            self._draw(frame_out)
            return
        if self._play(_FIRE):
            self._restart()
        ended = self._play(_AFTER_FIRE)
        self._draw(frame_out)  # baselines shows this frame even if it has to restart once more
        if ended:
            self._restart()

    def step(self, action: int, frame_out: NDArray[np.uint8]) -> Step:
        """Plays one action for four raw frames.

        Args:
            action: index into `action_meanings`; not checked.
            frame_out: uint8 [84, 84, 1], contiguous; receives the frame, unless the step is terminated.
        """
        score_before = self._score
        if self._play(action):
            truncated = self._ale.game_truncated()
            lost_life = not self._game_over
            terminated = lost_life or self._ale.game_over(with_truncation=False)
        else:
            terminated = truncated = False
        if not terminated:
            self._draw(frame_out)
        gain = self._score - score_before
        return Step(float((gain > 0) - (gain < 0)), terminated, truncated)

    def take_game(self) -> Game | None:
        """Returns the last game that ended since the previous call, hidden steps included, or None."""
        game, self._ended = self._ended, None
        return game

    def screen(self) -> NDArray[np.uint8]:
        """Returns what the agent's frame is made of: the screen in colour, uint8 [210, 160, 3] in most games."""
        return self._rgb.copy()

    def _play(self, action: int) -> bool:
        """Skips frames and says whether a life was lost or the game is over (EpisodicLife's step)."""
        self._skip_frames(action)
        self._ended_by_step = self._game_over
        lives = self._ale.lives()
        lost_life = 0 < lives < self._lives
        self._lives = lives
        return lost_life or self._game_over

    def _restart(self) -> None:
        """Goes on with the next life, or starts a new game (EpisodicLife's reset)."""
        if not self._ended_by_step:
            self._skip_frames(_NOOP)
        if self._ended_by_step or self._game_over:
            self._new_game()
        self._lives = self._ale.lives()

    def _new_game(self) -> None:
        self._ale.reset_game()
        for _ in range(self._random.integers(1, _MAX_NOOPS + 1)):
            self._ale.act(self._actions[_NOOP])
            if self._ale.game_over():
                self._ale.reset_game()
        self._ale.getScreenRGB(self._rgb)
        self._game_over = False
        self._score = self._length = 0

    def _skip_frames(self, action: int) -> None:
        """Repeats the action, keeps the maximum of the last two screens and counts as Monitor does.

        A screen that was not reached because the game ended keeps its old content, as in baselines.
        """
        ale, code = self._ale, self._actions[action]
        for i in range(FRAMES_PER_STEP):
            self._score += ale.act(code)
            if i >= FRAMES_PER_STEP - 2:
                ale.getScreenRGB(self._screens[i - FRAMES_PER_STEP + 2])
            if ale.game_over():
                self._game_over = True
                break
        cv2.max(self._screens[0], self._screens[1], dst=self._rgb)
        self._length += 1
        if self._game_over:
            self._ended = Game(float(self._score), self._length)

    def _draw(self, frame_out: NDArray[np.uint8]) -> None:
        cv2.cvtColor(self._rgb, cv2.COLOR_RGB2GRAY, dst=self._gray)
        cv2.resize(self._gray, FRAME_SHAPE[:2], dst=frame_out[:, :, 0], interpolation=cv2.INTER_AREA)
