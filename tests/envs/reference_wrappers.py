"""baselines' wrapper stack, one plain class per wrapper, on gymnasium's own Atari environment."""

from collections.abc import Callable
from typing import Any

import ale_py  # noqa: F401
import cv2
import gymnasium
import numpy as np
from numpy.typing import NDArray

Obs = NDArray[np.uint8]
StepReturn = tuple[Obs, float, bool, dict[str, Any]]


class Emulator:
    """The raw frames."""

    def __init__(self, env_id: str, ale_seed: int, max_frames: int) -> None:
        self.env = gymnasium.make(
            env_id, frameskip=1, repeat_action_probability=0.0, max_num_frames_per_episode=max_frames
        ).unwrapped
        self.env.ale.setInt("random_seed", ale_seed)
        self.env.load_game()

    def reset(self) -> Obs:
        return self.env.reset()[0]

    def step(self, action: int) -> StepReturn:
        obs, reward, terminated, truncated, _ = self.env.step(action)
        return obs, reward, terminated or truncated, {"truncated": truncated}

    def lives(self) -> int:
        return self.env.ale.lives()

    def meanings(self) -> list[str]:
        return self.env.get_action_meanings()


class Wrapper:
    def __init__(self, env: Any) -> None:
        self.env = env

    def reset(self) -> Obs:
        return self.env.reset()

    def step(self, action: int) -> StepReturn:
        return self.env.step(action)

    def lives(self) -> int:
        return self.env.lives()

    def meanings(self) -> list[str]:
        return self.env.meanings()


class NoopReset(Wrapper):
    def __init__(self, env: Any, draw: Callable[[], int]) -> None:
        super().__init__(env)
        self.draw = draw

    def reset(self) -> Obs:
        obs = self.env.reset()
        for _ in range(self.draw()):
            obs, _, done, _ = self.env.step(0)
            if done:
                obs = self.env.reset()
        return obs


class MaxAndSkip(Wrapper):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.buffer: list[Obs] = []

    def reset(self) -> Obs:
        obs = self.env.reset()
        self.buffer = self.buffer or [np.zeros_like(obs), np.zeros_like(obs)]
        return obs

    def step(self, action: int) -> StepReturn:
        total = 0.0
        for i in range(4):
            obs, reward, done, info = self.env.step(action)
            if i >= 2:
                self.buffer[i - 2] = obs
            total += reward
            if done:
                break
        return np.maximum(*self.buffer), total, done, info


class Monitor(Wrapper):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.games: list[tuple[float, int]] = []

    def reset(self) -> Obs:
        self.rewards: list[float] = []
        return self.env.reset()

    def step(self, action: int) -> StepReturn:
        obs, reward, done, info = self.env.step(action)
        self.rewards.append(reward)
        if done:
            self.games.append((sum(self.rewards), len(self.rewards)))
        return obs, reward, done, info


class EpisodicLife(Wrapper):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.last_lives = 0
        self.was_real_done = True

    def reset(self) -> Obs:
        obs = self.env.reset() if self.was_real_done else self.env.step(0)[0]
        self.last_lives = self.lives()
        return obs

    def step(self, action: int) -> StepReturn:
        obs, reward, done, info = self.env.step(action)
        self.was_real_done = done
        done = done or 0 < self.lives() < self.last_lives
        self.last_lives = self.lives()
        return obs, reward, done, info


class FireReset(Wrapper):
    def reset(self) -> Obs:
        self.env.reset()
        for action in (1, 2):
            obs, _, done, _ = self.env.step(action)
            if done:
                self.env.reset()
        return obs


class WarpAndClip(Wrapper):
    def reset(self) -> Obs:
        return self._warp(self.env.reset())

    def step(self, action: int) -> StepReturn:
        obs, reward, done, info = self.env.step(action)
        return self._warp(obs), float(np.sign(reward)), done, info

    def _warp(self, obs: Obs) -> Obs:
        gray = cv2.cvtColor(obs, cv2.COLOR_RGB2GRAY)
        return cv2.resize(gray, (84, 84), interpolation=cv2.INTER_AREA)[:, :, None]


class Reference:
    """The whole stack; `games` lists (raw return, length) of every game that ended."""

    def __init__(self, env_id: str, seed: int, max_frames: int) -> None:
        noop_seed, ale_seed = np.random.SeedSequence(seed).generate_state(2)
        random = np.random.default_rng(noop_seed)
        emulator = Emulator(env_id, int(ale_seed >> 1), max_frames)
        monitor = Monitor(MaxAndSkip(NoopReset(emulator, lambda: int(random.integers(1, 31)))))
        env: Any = EpisodicLife(monitor)
        if "FIRE" in emulator.meanings():
            env = FireReset(env)
        self.env = WarpAndClip(env)
        self.action_count = len(emulator.meanings())
        self.games = monitor.games
        self.reset = self.env.reset
        self.step = self.env.step
