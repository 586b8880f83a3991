"""An environment whose returns, lengths and pictures are known, and one that counts how many there are."""

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray


class Counter(gymnasium.Env[NDArray[np.float32], int]):
    """Every episode has k + 1 steps and pays 10 k in the last one, and 1 for each action 1.

    Shows the steps so far; its picture gets brighter by 40 with each.

    Attributes:
        seeds: of each reset.
        renders: pictures so far.
    """

    observation_space = Box(0, 100, (1,), np.float32)
    action_space = Discrete(2)
    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, k: int, render_mode: str | None = "rgb_array", size: tuple[int, int] = (32, 48)) -> None:
        self.k, self.render_mode, self.size = k, render_mode, size
        self.renders = 0
        self.seeds: list[int | None] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray[np.float32], dict[str, Any]]:
        self.seeds.append(seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self.t += 1
        is_last = self.t == self.k + 1
        return np.full(1, self.t, np.float32), 10.0 * self.k * is_last + action, is_last, False, {}

    def render(self) -> Any:
        self.renders += 1
        return np.full((*self.size, 3), 40 * self.t, np.uint8) if self.render_mode == "rgb_array" else None


class Lives(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Ends a life after so many steps, but not the game: a reset goes on with it."""

    def __init__(self, env: gymnasium.Env[Any, Any], length: int) -> None:
        super().__init__(env)
        self.length, self.steps, self.is_over = length, 0, True

    def reset(self, **kwargs: Any) -> Any:
        if not self.is_over:
            return self.last, {}
        self.steps = 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        self.last, reward, terminated, truncated, info = self.env.step(action)
        self.steps += 1
        self.is_over = terminated or truncated
        return self.last, reward, terminated or self.steps % self.length == 0, truncated, info


def counters(n: int) -> SyncVectorEnv:
    """Environments with k = 0 to n - 1."""
    return SyncVectorEnv([lambda k=k: Counter(k) for k in range(n)], autoreset_mode=AutoresetMode.SAME_STEP)


class Always:
    """An agent that takes one action, and counts steps and ends of episodes, or lives, but for the last.

    Attributes:
        steps: calls.
        ends: True entries of the masks, without the first.
    """

    def __init__(self, action: int = 0) -> None:
        self.action, self.steps, self.ends = action, 0, 0

    def predict(self, observation: Any, state: Any = None, mask: Any = None, deterministic: bool = False) -> Any:
        self.ends += int(mask.sum()) if self.steps else 0
        self.steps += 1
        return np.full(len(observation), self.action), None


class Counted(gymnasium.Env[Any, Any]):
    """Counts how many were made and closed in this process."""

    observation_space = Box(-1, 1, (2,))
    made: ClassVar[list["Counted"]] = []
    closed: ClassVar[list["Counted"]] = []

    def __init__(self, is_continuous: bool) -> None:
        self.action_space = Box(-1, 1, (1,)) if is_continuous else Discrete(2)
        self.made.append(self)

    def close(self) -> None:
        self.closed.append(self)
