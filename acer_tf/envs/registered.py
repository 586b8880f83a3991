"""Environments that this package registers: MinAtar's games, and CartPole without velocities.

`MinAtar/Breakout-v1` and the other four (https://github.com/kenjyoung/MinAtar) follow the rules of the package: minimal
action sets, sticky actions (each is replaced by the one before with probability 0.1), rising difficulty. This package
adds images of 0 and 255, a time limit of 5,000 steps, and rendering to arrays.

`MaskedCartPole-v1` is CartPole with observations that lack the velocities, so that a policy needs memory.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box, Discrete
from gymnasium.wrappers import TransformObservation
from numpy.typing import NDArray

from acer_tf.errors import require

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
MAX_EPISODE_STEPS = 5_000
PIXELS = 32
"""Height and width of a cell in a rendered image."""
MEANINGS = {"n": "NOOP", "l": "LEFT", "u": "UP", "r": "RIGHT", "d": "DOWN", "f": "FIRE"}
"""Names of the actions, by MinAtar's letters."""
POSITIONS = [0, 2]
"""Indices of the cart's position and the pole's angle in CartPole's observation."""

Image = NDArray[np.uint8]


class MinAtar(gymnasium.Env[Image, np.int64]):
    """A game with observations [10, 10, C] uint8: one channel for each kind of object, 255 where there is one."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012  (gymnasium reads it from the class)

    def __init__(self, game: str, render_mode: str | None = None) -> None:
        """Creates a game.

        Args:
            game: one of `GAMES`.
            render_mode: None or `rgb_array`.

        Raises:
            InputError: MinAtar is not installed.
        """
        require("minatar", f"the game {game} needs", "minatar")
        from minatar import Environment

        self.render_mode = render_mode
        self._game = Environment(game)
        self._actions: list[int] = self._game.minimal_action_set()
        self.action_space = Discrete(len(self._actions))
        self.observation_space = Box(0, 255, self._game.state_shape(), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Image, dict[str, Any]]:
        """Starts an episode; a seed determines it, since it restarts the game's random stream."""
        super().reset(seed=seed)
        self._game.seed(seed)
        self._game.reset()
        if seed is not None:
            self._game.last_action = 0  # otherwise the first action could be one from an episode before the seed
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[Image, float, bool, bool, dict[str, Any]]:
        """Takes the action of the minimal set with this index."""
        reward, terminated = self._game.act(self._actions[action])
        return self._observation(), float(reward), bool(terminated), False, {}

    def render(self) -> Image:
        """Returns an image [320, 320, 3] in the colours of MinAtar's own window; the last of objects that meet wins."""
        import seaborn

        state = self._game.state()
        channels = state.shape[2]
        colours = np.array([(0, 0, 0), *seaborn.color_palette("cubehelix", channels)])
        cells = np.rint(255 * colours[(state * np.arange(1, channels + 1)).max(axis=2)]).astype(np.uint8)
        image: Image = cells.repeat(PIXELS, axis=0).repeat(PIXELS, axis=1)
        return image

    def get_action_meanings(self) -> list[str]:
        """Returns the names of the actions; the method has the same name as in Atari environments."""
        return [MEANINGS[self._game.env.action_map[action]] for action in self._actions]

    def _observation(self) -> Image:
        observation: Image = self._game.state().astype(np.uint8) * np.uint8(255)
        return observation


def masked_cartpole(**kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Makes CartPole with the observations [cart's position, pole's angle]; arguments as for gymnasium's CartPole."""
    env = CartPoleEnv(**kwargs)
    whole = env.observation_space
    assert isinstance(whole, Box)
    space = Box(whole.low[POSITIONS], whole.high[POSITIONS], dtype=whole.dtype.type)
    return TransformObservation(env, lambda observation: observation[POSITIONS], space)


for _game in GAMES:
    gymnasium.register(
        f"MinAtar/{_game.title().replace('_', '')}-v1",
        f"{__name__}:MinAtar",
        max_episode_steps=MAX_EPISODE_STEPS,
        kwargs={"game": _game},
    )
gymnasium.register("MaskedCartPole-v1", f"{__name__}:masked_cartpole", reward_threshold=475.0, max_episode_steps=500)
