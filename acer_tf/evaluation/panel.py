"""Draws what a policy and its critic make of a state next to the picture of the environment.

The picture is on the left; on the right are the return so far, a row for each action, and V over the last steps.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

from acer_tf.envs.ids import env_id
from acer_tf.envs.vector import own_action_names
from acer_tf.envs.wrappers.joint_actions import Choices, from_choices, number_of_actions, to_choices
from acer_tf.evaluation.episodes import Moment
from acer_tf.evaluation.explanation import Explanation

Image = NDArray[np.uint8]
Colour = tuple[int, int, int]

SIZE = (440, 720)
"""Height and width of the image, in pixels; legible when shown 600 pixels wide."""
PICTURE = 400
"""Width of the area for the picture."""
LEFT, RIGHT = PICTURE + 16, SIZE[1] - 14
"""Columns between which numbers are drawn."""
ROWS = (58, 314)
"""Lines between which the actions are drawn."""
TALLEST_ROW = 28
MOST_ROWS = 18
"""Most actions that are drawn: no Atari game has more."""
BOTTOM = SIZE[0] - 12
"""Bottom line of the curve of V, which begins below the actions."""
STEPS = 200
"""Number of values of V in the curve."""

ACTION_NAMES = {
    "Acrobot-v1": ("torque -1", "no torque", "torque +1"),
    "CartPole-v1": ("left", "right"),
    "LunarLander-v3": ("nothing", "left engine", "main engine", "right engine"),
    "MaskedCartPole-v1": ("left", "right"),
    "MountainCar-v0": ("left", "nothing", "right"),
    "Pendulum-v1": ("torque",),
}
"""Names for environments that do not name their actions."""
BACKGROUND: Colour = (24, 26, 30)
TEXT: Colour = (232, 232, 232)
FAINT: Colour = (140, 146, 156)
TRACK: Colour = (52, 56, 64)
BAR: Colour = (86, 180, 233)
TAKEN: Colour = (240, 160, 30)


class Panel:
    """Draws frame after frame of one environment, and remembers V."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Prepares to draw for the first environment."""
        self._space = env.single_action_space
        names = action_names(env)
        self._names = [*names[:MOST_ROWS]]
        self._more = len(names) - len(self._names)
        self._values: deque[tuple[float, bool]] = deque(maxlen=STEPS)
        top, bottom = ROWS
        self._row_height = min(TALLEST_ROW, (bottom - top) // len(self._names))
        self._row_text = 0.5 if self._row_height >= 20 else 0.4

    def draw(self, picture: Image, explanation: Explanation, moment: Moment) -> Image:
        """Returns an image [440, 720, 3] of a step that is about to be made.

        Args:
            picture: picture of the environment, [H, W, 3].
            explanation: explanation for the first environment's state.
            moment: the step.
        """
        image = np.full((*SIZE, 3), BACKGROUND, np.uint8)
        _place(image[:, :PICTURE], picture)
        _write(image, f"return {_number(moment.returns[0])}", LEFT, 26, size=0.6)
        if isinstance(self._space, Box):
            mean, sigma = explanation.distribution
            self._draw_numbers(image, mean[0].ravel(), sigma[0].ravel(), np.ravel(moment.actions[0]))
        else:
            assert isinstance(explanation.distribution, np.ndarray) and explanation.q is not None
            taken = moment.actions[:1]
            if isinstance(self._space, Choices):
                taken = from_choices(taken, self._space)
            self._draw_choices(image, explanation.distribution[0], explanation.q[0], int(taken[0]))
        if self._more:
            _write(image, f"and {self._more} more", LEFT, ROWS[0] - 6, FAINT, 0.4)
        self._values.append((float(explanation.v[0]), bool(moment.mask[0])))
        self._draw_values(image)
        return image

    def _draw_choices(self, image: Image, probabilities: NDArray[Any], q: NDArray[Any], taken: int) -> None:
        """Draws each action with a bar as long as its probability, and its Q."""
        bar_left, bar_right, shares = LEFT + 112, RIGHT - 102, RIGHT - 56
        self._write_head(image, {shares: "probability", RIGHT: "Q"})
        best = int(q.argmax())
        for i, (name, probability) in enumerate(zip(self._names, probabilities.tolist(), strict=False)):
            y = self._row(i)
            colour = TAKEN if i == taken else TEXT
            _write(image, name, LEFT, y, colour, self._row_text, width=bar_left - LEFT - 6)
            self._bar(image, i, bar_left, bar_right, TRACK)
            length = round(probability * (bar_right - bar_left))
            self._bar(image, i, bar_left, bar_left + length, TAKEN if i == taken else BAR)
            _write(image, f"{probability:.2f}", shares, y, colour, self._row_text, is_right=True)
            _write(image, _number(q[i]), RIGHT, y, TEXT if i == best else FAINT, self._row_text, is_right=True)

    def _draw_numbers(self, image: Image, mean: NDArray[Any], sigma: NDArray[Any], taken: NDArray[Any]) -> None:
        """Draws each number of a continuous action on its range: mean, one sigma to both sides, and the value taken."""
        assert isinstance(self._space, Box)
        left, right = LEFT + 72, RIGHT - 142
        self._write_head(image, {RIGHT - 96: "mean", RIGHT - 46: "sigma", RIGHT: "taken"})
        low, high = self._space.low.ravel(), self._space.high.ravel()
        places = [(x - low) / (high - low) for x in (mean - sigma, mean + sigma, mean, taken)]
        columns = (left + np.clip(places, 0, 1) * (right - left)).round().astype(int)
        for i, name in enumerate(self._names):
            y, middle = self._row(i), self._row(i) - self._row_height // 4
            start, end, at, dot = columns[:, i].tolist()
            _write(image, name, LEFT, y, size=self._row_text, width=left - LEFT - 6)
            self._bar(image, i, left, right, TRACK)
            self._bar(image, i, start, end, BAR)
            self._bar(image, i, at - 1, at + 1, TEXT)
            cv2.circle(image, (dot, middle), max(3, self._row_height // 5), TAKEN, -1, cv2.LINE_AA)
            for x, value, colour in ((96, mean, TEXT), (46, sigma, FAINT), (0, taken, TAKEN)):
                _write(image, _number(value[i]), RIGHT - x, y, colour, self._row_text, is_right=True)

    def _draw_values(self, image: Image) -> None:
        """Draws V over the last steps, the newest on the right, and a line where an episode or a life began."""
        top, bottom = ROWS[0] + len(self._names) * self._row_height + 44, BOTTOM
        values = np.array([value for value, _ in self._values])
        low, high = float(values.min()), float(values.max())
        _write(image, "V", LEFT, top - 10, FAINT)
        _write(image, _number(values[-1]), LEFT + 16, top - 10)
        right = RIGHT - 46
        x = right - np.arange(len(values))[::-1] * (right - LEFT) / (STEPS - 1)
        span = max(high - low, 1e-6 + 0.01 * max(abs(low), abs(high)))
        y = bottom - (values - (low + high - span) / 2) / span * (bottom - top)
        for start in x[[begins for _, begins in self._values]].round().astype(int).tolist():
            cv2.line(image, (start, top), (start, bottom), TRACK, 1)
        cv2.line(image, (LEFT, bottom), (right, bottom), TRACK, 1)
        cv2.polylines(image, [np.stack([x, y], axis=1).round().astype(np.int32)], False, BAR, 2, cv2.LINE_AA)
        _write(image, _number(high), RIGHT, top + 8, FAINT, 0.4, is_right=True)
        _write(image, _number(low), RIGHT, bottom, FAINT, 0.4, is_right=True)

    def _write_head(self, image: Image, columns: dict[int, str]) -> None:
        for x, text in columns.items():
            _write(image, text, x, ROWS[0] - 6, FAINT, 0.4, is_right=True)

    def _row(self, i: int) -> int:
        """Returns the baseline of a row's text."""
        return ROWS[0] + i * self._row_height + round(0.72 * self._row_height)

    def _bar(self, image: Image, i: int, left: int, right: int, colour: Colour) -> None:
        top = ROWS[0] + i * self._row_height
        margin = max(1, self._row_height // 5)
        image[top + margin : top + self._row_height - margin, left:right] = colour


def _place(area: Image, picture: Image) -> None:
    """Draws a picture in the middle of an area, as large as will fit."""
    scale = min(area.shape[0] / picture.shape[0], area.shape[1] / picture.shape[1])
    height, width = (max(1, math.floor(scale * length)) for length in picture.shape[:2])
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_NEAREST
    top, left = (area.shape[0] - height) // 2, (area.shape[1] - width) // 2
    area[top : top + height, left : left + width] = cv2.resize(picture, (width, height), interpolation=method)


def _write(
    image: Image,
    text: str,
    x: int,
    y: int,
    colour: Colour = TEXT,
    size: float = 0.45,
    *,
    is_right: bool = False,
    width: int | None = None,
) -> None:
    """Writes text on the baseline y, from x on or, if `is_right`, up to x; shrinks it to fit `width`."""
    (length, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, 1)
    if width is not None and length > width:
        size *= width / length
    position = (x - length if is_right else x, y)
    cv2.putText(image, text, position, cv2.FONT_HERSHEY_SIMPLEX, size, colour, 1, cv2.LINE_AA)


def _number(value: float) -> str:
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def action_names(env: VectorEnv[Any, Any, Any]) -> Sequence[str]:
    """Returns a name for each action, or for each number of a continuous action; their indices if there are no names.

    Atari games and MinAtar name their actions, MuJoCo's models their actuators; a joint action is named by its choices,
    such as 0,1.
    """
    space = env.single_action_space
    if isinstance(space, Choices):
        joint = to_choices(np.arange(number_of_actions(space)), space)
        return [",".join(map(str, choices.ravel())) for choices in joint]
    count = int(space.n) if isinstance(space, Discrete) else math.prod(space.shape or ())
    base: Any = env.unwrapped
    if isinstance(base, SyncVectorEnv):
        own = own_action_names(base.envs[0].unwrapped)
    else:
        own = getattr(base, "action_names", [])
    names = ACTION_NAMES.get(env_id(env) or "") or own
    return names if len(names) == count else [str(i) for i in range(count)]
