"""What a segment consists of on its way from a collector to the learner: shapes, dtypes, the range of numbers."""

import dataclasses
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from acer_tf.config import Config, Continuous
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError
from acer_tf.replay.size import compressed_row

FRAMES, ACTION_MASKS, NEXT_STATE = "enc_obs", "action_masks", "next_state"


@dataclasses.dataclass(frozen=True)
class Field:
    """An array of a segment.

    Attributes:
        dtype: numpy's string of its dtype.
        shape: its shape.
        below: whole numbers of it are in [0, below); None for other numbers.
    """

    dtype: str
    shape: tuple[int, ...]
    below: int | None = None

    def check(self, name: str, array: NDArray[Any]) -> None:
        """Checks the numbers of an array.

        Raises:
            InputError: a number is out of range, or is not finite.
        """
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{name} hold a number that is not finite.")
        if array.dtype == np.bool_ and (array.view(np.uint8) > 1).any():
            raise InputError(f"{name} hold a byte that is neither True nor False.")
        if self.below is not None and not ((array >= 0) & (array < self.below)).all():
            raise InputError(f"{name} hold a number outside of 0 to {self.below - 1}.")


@dataclasses.dataclass(frozen=True)
class Layout:
    """The arrays of a segment that are sent, by name; `enc_obs` come first.

    What updates do not read is left out, as are the observations, which are restacked from the frames, and the ends of
    episodes, which are in the masks. `next_state`, the policy's state after the segment, is sent besides.

    Attributes:
        fields: those of every segment.
        action_masks: that of the environments' masks of possible actions, which some environments give.
        is_compressed: whether frames are sent compressed, as replay keeps them.
    """

    fields: dict[str, Field]
    action_masks: Field | None
    is_compressed: bool

    @classmethod
    def of(cls, env: FrameStack, config: Config, continuous: Continuous, state_size: int) -> "Layout":
        """Returns the layout for environments, of which none is stepped.

        Args:
            env: environments of a collector.
            config: hyper-parameters.
            continuous: settings that only Box actions have.
            state_size: numbers in the policy's state, P.

        Raises:
            InputError: the stacks of frames cannot be put together again from the frames.
        """
        if not env.keeps_frames:
            raise InputError(
                "collectors send each frame once, and frames of several channels that are stacked as in baselines "
                "cannot be restacked; make FrameStack(..., whole_frames=True), or leave actors out."
            )
        nenvs, *shape, channels = env.stacked.shape
        nsteps, dtype = config.nsteps, env.stacked.dtype.str
        frames = nenvs, env.nstack + nsteps, *shape, channels // env.nstack
        actions, mus, masks = _of_actions(env.single_action_space, continuous, nenvs, nsteps)
        fields = {
            FRAMES: Field(dtype, frames),
            "actions": actions,
            "rewards": Field("<f4", (nenvs, nsteps)),
            "mus": mus,
            "masks": Field("|b1", (nenvs, nsteps + 1)),
            "states": Field("<f4", (nenvs, state_size)),
            "final_values": Field("<f4", (nenvs, nsteps)),
            NEXT_STATE: Field("<f4", (nenvs, state_size)),
        }
        fields = {name: field for name, field in fields.items() if name not in config.unread}
        return cls(fields, masks, compressed_row(env, config) is not None)

    @property
    def nenvs(self) -> int:
        """Environments of a segment, N."""
        return self.fields["rewards"].shape[0]

    @property
    def nsteps(self) -> int:
        """Steps of a segment, T."""
        return self.fields["rewards"].shape[1]

    @property
    def state_size(self) -> int:
        """Numbers in the policy's state, P."""
        return self.fields[NEXT_STATE].shape[1]

    def with_masks(self) -> dict[str, Field]:
        """Returns the fields of a segment of environments that give masks of possible actions."""
        return self.fields if self.action_masks is None else self.fields | {ACTION_MASKS: self.action_masks}


def _of_actions(space: Any, continuous: Continuous, nenvs: int, nsteps: int) -> tuple[Field, Field, Field | None]:
    """Returns the fields of actions, of the behaviour policy's statistics, and of masks."""
    if isinstance(space, Box):
        (dimensions,) = space.shape
        actions = Field("<f4", (nenvs, nsteps, dimensions))
        return actions, Field("<f4", (nenvs, nsteps, dimensions * (1 + continuous.learn_sigma))), None
    assert isinstance(space, Discrete)
    nact = int(space.n)
    return (
        Field("<i8", (nenvs, nsteps), nact),
        Field("<f4", (nenvs, nsteps, nact)),
        Field("|b1", (nenvs, nsteps + 1, nact)),
    )
