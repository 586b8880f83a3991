"""One Atari game on the bare emulator, wrapped exactly as baselines' `make_atari` and `wrap_deepmind` wrap it.

The wrappers, from the inside out and each a step below, are NoopReset, MaxAndSkip, Monitor, EpisodicLife, FireReset,
WarpFrame and ClipReward.
"""

from typing import NamedTuple

import ale_py
import cv2
import numpy as np
from ale_py import roms
from numpy.typing import NDArray

from acer_tf.config import MAX_EPISODE_FRAMES
from acer_tf.errors import InputError
from acer_tf.suggestions import suggestion

FRAME_SHAPE = (84, 84, 1)
FRAMES_PER_STEP = 4
"""Raw frames of an agent step (MaxAndSkip)."""

_MAX_NOOPS = 30
_NOOP, _FIRE, _AFTER_FIRE = 0, 1, 2  # FireReset plays actions 1 and 2, whatever 2 is in the game


class GameStep(NamedTuple):
    """Outcome of one agent step.

    Attributes:
        reward: sign of the game's own reward: −1, 0 or 1.
        terminated: a life was lost or the game is over.
        truncated: the time limit was reached.
    """

    reward: float
    terminated: bool
    truncated: bool


class GameResult(NamedTuple):
    """Outcome of a whole game as Monitor counts it: over all lives, including steps that the agent does not see.

    Attributes:
        r: the game's own score.
        l: length in agent steps.
    """

    r: float
    l: int  # noqa: E741  (the column's name in baselines' monitor files)


class AtariGame:
    """One game without a frame stack; after a terminated or truncated step the caller must call `reset`.

    `reset` starts a new game if the last step ended the game or there was none. Otherwise it plays one hidden NOOP, as
    EpisodicLife does after a lost life; if that NOOP ends the game, where baselines' Monitor would raise, a new game
    starts at once.

    Attributes:
        action_meanings: names of the actions, [A].
    """

    def __init__(
        self,
        game: str,
        seed: int | None = None,
        max_episode_frames: int | None = MAX_EPISODE_FRAMES,
        display_screen: bool = False,
    ) -> None:
        """Loads the game.

        Args:
            game: name of a ROM, such as `breakout`.
            seed: seed of the emulator and of the number of NOOPs; None draws fresh entropy.
            max_episode_frames: raw frames, including the NOOPs at the start, after which a game is cut; None or 0 means
                no limit.
            display_screen: opens a window that shows the game at its own speed.

        Raises:
            InputError: the ROM does not exist, or its actions are not what baselines' wrappers expect.
        """
        if game not in roms.get_all_rom_ids():
            raise InputError(f"game '{game}' does not exist{suggestion(game, roms.get_all_rom_ids())}.")
        rom = roms.get_rom_path(game)
        assert rom is not None  # None is for unknown games only
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._ale = ale_py.ALEInterface()
        self._ale.setFloat("repeat_action_probability", 0.0)  # NoFrameskip-v4: no sticky actions
        self._ale.setInt("max_num_frames_per_episode", max_episode_frames or 0)
        self._ale.setBool("display_screen", display_screen)
        noop_seed, ale_seed = np.random.SeedSequence(seed).generate_state(2)
        self._random = np.random.default_rng(noop_seed)
        self._ale.setInt("random_seed", int(ale_seed >> 1))
        self._ale.loadROM(rom)  # settings and seed take effect here

        self._actions = self._ale.getMinimalActionSet()
        self.action_meanings = [action.name for action in self._actions]
        if self.action_meanings[_NOOP] != "NOOP":
            raise InputError(f"the first action of game '{game}' is not NOOP, which baselines' wrappers need.")
        self._has_fire = self.action_meanings[_FIRE] == "FIRE"

        height, width = self._ale.getScreenDims()
        self._screens = np.zeros((2, height, width, 3), np.uint8)  # MaxAndSkip: the last two frames of a skip
        self._rgb = np.zeros((height, width, 3), np.uint8)
        self._gray = np.zeros((height, width), np.uint8)
        self._game_over = False
        self._ended_by_step = True  # EpisodicLife's was_real_done; quirk: resets before the first step leave it True
        self._lives = self._score = self._length = 0
        self._result: GameResult | None = None

    def reset(self, frame_out: NDArray[np.uint8]) -> None:
        """Starts the next life, or the next game if the last one is over.

        Args:
            frame_out: uint8 [84, 84, 1], contiguous; receives the first frame.
        """
        self._restart()
        if not self._has_fire:
            self._draw(frame_out)
            return
        # FireReset: play actions 1 and 2, and restart after each if it cost a life or ended the game.
        if self._play(_FIRE):
            self._restart()
        ended = self._play(_AFTER_FIRE)
        self._draw(frame_out)  # quirk: this frame is returned even if the second action makes it restart
        if ended:
            self._restart()

    def step(self, action: int, frame_out: NDArray[np.uint8]) -> GameStep:
        """Plays one action for four raw frames.

        Args:
            action: index into `action_meanings`; not checked.
            frame_out: uint8 [84, 84, 1], contiguous; receives the frame unless the step is terminated.
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
        return GameStep(float((gain > 0) - (gain < 0)), terminated, truncated)  # ClipReward: the sign

    def take_result(self) -> GameResult | None:
        """Returns the result, with hidden steps, of the last game that ended since the previous call, or None."""
        result, self._result = self._result, None
        return result

    @property
    def score(self) -> float:
        """The score so far in the current game."""
        return self._score

    def render(self) -> NDArray[np.uint8]:
        """Returns the screen from which the agent's frame is made, in RGB: uint8 [210, 160, 3] in most games."""
        return self._rgb.copy()

    def _play(self, action: int) -> bool:
        """Plays an agent step; returns whether a life was lost or the game is over (EpisodicLife's step)."""
        self._skip_frames(action)
        self._ended_by_step = self._game_over
        lives = self._ale.lives()
        lost_life = 0 < lives < self._lives  # quirk: 0 lives are no loss, since Qbert has 0 for a few frames
        self._lives = lives
        return lost_life or self._game_over

    def _restart(self) -> None:
        """Continues with the next life, or starts a new game (EpisodicLife's reset)."""
        if not self._ended_by_step:
            self._skip_frames(_NOOP)  # the hidden step: its reward is lost to the agent, but counts for Monitor
        if self._ended_by_step or self._game_over:
            self._new_game()
        self._lives = self._ale.lives()

    def _new_game(self) -> None:
        """Starts a game with 1 to 30 NOOPs of one raw frame each (NoopReset); Monitor counts from after them."""
        self._ale.reset_game()
        for _ in range(self._random.integers(1, _MAX_NOOPS + 1)):
            self._ale.act(self._actions[_NOOP])
            if self._ale.game_over():
                self._ale.reset_game()
        self._ale.getScreenRGB(self._rgb)
        self._game_over = False
        self._score = self._length = 0

    def _skip_frames(self, action: int) -> None:
        """Repeats an action for four raw frames and takes the maximum of the last two (MaxAndSkip).

        Quirk: a frame not reached because the game ended keeps the screen of an earlier skip.
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
        self._length += 1  # Monitor, above MaxAndSkip: agent steps and raw score
        if self._game_over:
            self._result = GameResult(float(self._score), self._length)

    def _draw(self, frame_out: NDArray[np.uint8]) -> None:
        """Draws the agent's frame: gray, 84 x 84, area interpolation (WarpFrame)."""
        cv2.cvtColor(self._rgb, cv2.COLOR_RGB2GRAY, dst=self._gray)
        cv2.resize(self._gray, FRAME_SHAPE[:2], dst=frame_out[:, :, 0], interpolation=cv2.INTER_AREA)
