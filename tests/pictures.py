"""An environment with two images, a choice and text in a Dict, all of which but the text its task needs."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Text
from numpy.typing import NDArray

IMAGE = Box(0, 255, (6, 6, 1), np.uint8)


class Pictures(gymnasium.Env[Any, int]):
    """Pays 1 for telling whether the picture that `which` names is bright; episodes have 8 steps."""

    observation_space = Dict(left=IMAGE, right=IMAGE, which=Discrete(2), wish=Text(20))
    action_space = Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        return self._observation(), {}

    def step(self, action: int) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        reward = float(action == self._right)
        self._steps += 1
        return self._observation(), reward, False, self._steps == 8, {}

    def _observation(self) -> dict[str, Any]:
        bright, which = self.np_random.integers(0, 2, 2), int(self.np_random.integers(2))
        self._right = bright[which]
        left, right = (np.full(IMAGE.shape, 255 * number, np.uint8) for number in bright)
        return {"left": left, "right": right, "which": which, "wish": "look"}


class MaskedPictures(Pictures):
    """Leaves only the right action possible."""

    def action_masks(self) -> NDArray[np.bool_]:
        return np.arange(2) == self._right


gymnasium.register("Pictures-v0", "tests.pictures:Pictures")
