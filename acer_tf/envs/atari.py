"""One Atari game, exactly as baselines wraps it (`common/atari_wrappers.py`, `bench/monitor.py`)."""

import time
from collections import deque
from typing import Any, NamedTuple

import ale_py
import cv2
import numpy as np
from numpy.typing import NDArray

from acer_tf.segment import Episode

NOOP, FIRE, AFTER_FIRE = 0, 1, 2  # indices in the minimal action set; true of every game that has FIRE
SKIP = 4
NOOP_MAX = 30
SIZE = 84


class Step(NamedTuple):
    """What one agent step gives.

    Attributes:
        reward: sign of the raw reward of the four frames.
        terminated: a life or the game was lost.
        truncated: the frame limit ended the game.
    """

    reward: float
    terminated: bool
    truncated: bool


class AtariEnv:
    """One game on the emulator itself, with all of baselines' wrappers in one class.

    From the inside out: 1 to 30 no-ops after a real reset; every action for 4 frames, the maximum of the last two seen (of
    RGB, before gray); whole games monitored; a lost life ends an episode, the game goes on; FIRE and action 2 pressed after
    each reset where the game has FIRE; 84x84 gray; rewards clipped to their sign. An episode that ends is followed by the
    next one in the same step.

    Attributes:
        nact: size of the minimal action set.
        episodes: whole games that ended and were not fetched yet: raw return and length in agent steps. Hidden steps after
            a lost life and a reset count, no-ops of a real reset do not.
    """

    def __init__(self, game: str, max_episode_frames: int) -> None:
        """Loads the game; `reset` with a seed comes next.

        Args:
            game: name of the ROM.
            max_episode_frames: raw frames, no-ops included, after which a game is cut off; 0 for no limit.
        """
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._ale = ale_py.ALEInterface()
        self._ale.setFloat("repeat_action_probability", 0.0)
        self._ale.setInt("max_num_frames_per_episode", max_episode_frames)
        self._rom = ale_py.roms.get_rom_path(game)
        self._load(seed=0)
        self._actions = self._ale.getMinimalActionSet()
        self._has_fire = ale_py.Action.FIRE in self._actions
        self.nact = len(self._actions)

        height, width = self._ale.getScreenDims()
        self._last_two = np.zeros((2, height, width, 3), np.uint8)
        self._screen = np.zeros((height, width, 3), np.uint8)
        self._gray = np.zeros((height, width), np.uint8)

        self.episodes: deque[Episode] = deque()
        self._start = time.time()
        self._game_was_over = True
        self._lives = 0

    def reset(self, frame: NDArray[np.uint8], seed: np.random.SeedSequence | None = None) -> None:
        """Starts an episode.

        Args:
            frame: [84, 84, 1] uint8, receives the first observation.
            seed: starts the random streams (number of no-ops, emulator) anew, and the game with them.
        """
        if seed is not None:
            self._noops = np.random.default_rng(seed)
            self._load(int(seed.generate_state(1)[0] >> 1))
            self._game_was_over = True
        self._reset()
        self._observe(frame)

    def step(self, action: int, frame: NDArray[np.uint8]) -> Step:
        """Takes one agent step; where it ends the episode, `frame` is the first observation of the next one.

        Args:
            action: index in the minimal action set.
            frame: [84, 84, 1] uint8, receives the observation.
        """
        reward, done = self._life_step(action)
        truncated = self._game_was_over and not self._ale.game_over(with_truncation=False)
        if done:
            self._reset()
        self._observe(frame)
        return Step(reward=float(np.sign(reward)), terminated=done and not truncated, truncated=truncated)

    def _load(self, seed: int) -> None:
        self._ale.setInt("random_seed", seed)
        self._ale.loadROM(self._rom)

    def _observe(self, frame: NDArray[np.uint8]) -> None:
        cv2.cvtColor(self._screen, cv2.COLOR_RGB2GRAY, dst=self._gray)
        cv2.resize(self._gray, (SIZE, SIZE), dst=frame[:, :, 0], interpolation=cv2.INTER_AREA)

    def _reset(self) -> None:
        """FireReset. The observation is that of action 2 even where a reset follows it, as in baselines."""
        self._life_reset()
        if not self._has_fire:
            return
        for action in (FIRE, AFTER_FIRE):
            _, done = self._life_step(action)
            if done and action == FIRE:
                self._life_reset()
            elif done:
                seen = self._screen.copy()
                self._life_reset()
                self._screen[...] = seen

    def _life_reset(self) -> None:
        """EpisodicLife: a real reset only after the game was over, else one hidden no-op step."""
        if not self._game_was_over:
            # Baselines goes on with a game that this step ended, and its monitor raises at the next one: reset instead.
            self._game_was_over = self._skip_step(NOOP)[1]
        if self._game_was_over:
            self._game_reset()
        self._lives = self._ale.lives()

    def _life_step(self, action: int) -> tuple[float, bool]:
        reward, self._game_was_over = self._skip_step(action)
        lives = self._ale.lives()
        lost_life = 0 < lives < self._lives
        self._lives = lives
        return reward, lost_life or self._game_was_over

    def _skip_step(self, action: int) -> tuple[float, bool]:
        """MaxAndSkip inside the monitor; returns the raw reward and whether the game is over."""
        total, over = 0.0, False
        for i in range(SKIP):
            total += self._ale.act(self._actions[action])
            over = self._ale.game_over()
            if i >= SKIP - 2:
                self._ale.getScreenRGB(self._last_two[i - SKIP + 2])
            if over:
                break
        cv2.max(self._last_two[0], self._last_two[1], dst=self._screen)
        self._return += total
        self._length += 1
        if over:
            self.episodes.append(Episode(env=0, r=self._return, l=self._length, t=time.time() - self._start))
        return total, over

    def _game_reset(self) -> None:
        """NoopReset; the frame seen is the last one alone."""
        self._ale.reset_game()
        for _ in range(self._noops.integers(1, NOOP_MAX + 1)):
            self._ale.act(self._actions[NOOP])
            if self._ale.game_over():
                self._ale.reset_game()
        self._ale.getScreenRGB(self._screen)
        self._game_was_over = False
        self._return, self._length = 0.0, 0


def action_count(game: str) -> int:
    """Returns the size of a game's minimal action set."""
    return AtariEnv(game, max_episode_frames=0).nact



    def step(self, action: int, frame_out: NDArray[np.uint8]) -> Step:
        """Plays one action for four raw frames.

        Args:
            action: index into `action_meanings`; not checked.
            frame_out: uint8 [84, 84, 1], contiguous; receives the frame, unless the step is terminated or truncated.
        """
        score_before = self._score
        if self._play(action):
            truncated = self._ale.game_truncated()
            lost_life = not self._game_over
            terminated = lost_life or self._ale.game_over(with_truncation=False)
        else:
            terminated = truncated = False
            self._draw(frame_out)
        gain = self._score - score_before
        return Step(float((gain > 0) - (gain < 0)), terminated, truncated)

    def take_game(self) -> Game | None:
        """Returns the last game that ended since the previous call, hidden steps included, or None."""
        game, self._ended = self._ended, None
        return game

    def _play(self, action: int) -> bool:
        """Skips frames and says whether a life was lost or the game is over (EpisodicLife's step)."""
        self._skip_frames(action)
        lives = self._ale.lives()
        lost_life = 0 < lives < self._lives
        self._lives = lives
        return lost_life or self._game_over

    def _restart(self) -> None:
        """Goes on with the next life, or starts a new game (EpisodicLife's reset)."""
        if not self._game_over:
            self._skip_frames(_NOOP)
        if self._game_over:
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
        for i in range(_SKIP):
            self._score += ale.act(code)
            if i >= _SKIP - 2:
                ale.getScreenRGB(self._screens[i - _SKIP + 2])
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
