"""The arrays that the pool shares with its workers: one row per environment."""

import ctypes
import math
from dataclasses import Field, dataclass, field, fields
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from acer_tf.envs.atari.game import FRAME_SHAPE


def _row(dtype: DTypeLike, shape: tuple[int, ...] = ()) -> dict[str, Any]:
    """Returns a field's metadata: what one row of it takes in memory."""
    return {"dtype": np.dtype(dtype), "shape": shape}


@dataclass(frozen=True)
class GameRows:
    """Views of shared memory, [n, ...] for `n` environments. Each field's type and shape are those of the memory.

    Attributes:
        seeds: read when a worker seeds its games.
        actions: indices into the game's action meanings.
        frames: the agent's frames.
        final_frames: the last frame of an episode that was truncated and not terminated.
        rewards: clipped.
        terminations: a life was lost or the game is over.
        truncations: the time limit was reached.
        game_overs: a whole game ended; only then are `scores` and `lengths` valid.
        scores: the game's own score.
        lengths: agent steps.
    """

    seeds: NDArray[np.uint64] = field(metadata=_row(np.uint64))
    actions: NDArray[np.int64] = field(metadata=_row(np.int64))
    frames: NDArray[np.uint8] = field(metadata=_row(np.uint8, FRAME_SHAPE))
    final_frames: NDArray[np.uint8] = field(metadata=_row(np.uint8, FRAME_SHAPE))
    rewards: NDArray[np.float32] = field(metadata=_row(np.float32))
    terminations: NDArray[np.bool_] = field(metadata=_row(np.bool_))
    truncations: NDArray[np.bool_] = field(metadata=_row(np.bool_))
    game_overs: NDArray[np.bool_] = field(metadata=_row(np.bool_))
    scores: NDArray[np.float64] = field(metadata=_row(np.float64))
    lengths: NDArray[np.int64] = field(metadata=_row(np.int64))


class SharedRows:
    """Owns the shared memory; is passed to a worker process when that is started.

    The file behind it is unlinked as soon as it is made, so that nothing is left over, however the processes end.
    """

    def __init__(self, num_env: int) -> None:
        self._blocks: dict[str, Any] = {
            array.name: RawArray(ctypes.c_uint8, num_env * _row_bytes(array)) for array in fields(GameRows)
        }

    def rows(self, envs: range) -> GameRows:
        """Returns the rows of consecutive environments."""
        views = {}
        for array in fields(GameRows):
            whole = np.frombuffer(self._blocks[array.name], array.metadata["dtype"])
            views[array.name] = whole.reshape(-1, *array.metadata["shape"])[envs.start : envs.stop]
        return GameRows(**views)


def _row_bytes(array: "Field[Any]") -> int:
    return int(array.metadata["dtype"].itemsize * math.prod(array.metadata["shape"]))
