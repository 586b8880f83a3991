"""The arrays that the pool shares with its workers: one row per environment."""

import ctypes
import dataclasses
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from acer_tf.envs.atari.game import FRAME_SHAPE


@dataclasses.dataclass(frozen=True)
class Rows:
    """Views on shared memory, for `n` environments.

    Attributes:
        seeds: [n] uint64, read when a worker seeds its environments.
        actions: [n] int64.
        frames: [n, 84, 84, 1] uint8.
        final_frames: [n, 84, 84, 1] uint8, the last of the episode where it was truncated and not terminated.
        rewards: [n] float32.
        terminations: [n] bool.
        truncations: [n] bool.
        game_overs: [n] bool, a whole game ended; only then do `scores` and `lengths` hold something.
        scores: [n] float64, the game's own score.
        lengths: [n] int64, agent steps.
    """

    seeds: NDArray[np.uint64]
    actions: NDArray[np.int64]
    frames: NDArray[np.uint8]
    final_frames: NDArray[np.uint8]
    rewards: NDArray[np.float32]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    game_overs: NDArray[np.bool_]
    scores: NDArray[np.float64]
    lengths: NDArray[np.int64]


_LAYOUT: dict[str, tuple[DTypeLike, tuple[int, ...]]] = {
    "seeds": (np.uint64, ()),
    "actions": (np.int64, ()),
    "frames": (np.uint8, FRAME_SHAPE),
    "final_frames": (np.uint8, FRAME_SHAPE),
    "rewards": (np.float32, ()),
    "terminations": (np.bool_, ()),
    "truncations": (np.bool_, ()),
    "game_overs": (np.bool_, ()),
    "scores": (np.float64, ()),
    "lengths": (np.int64, ()),
}


class SharedRows:
    """Owns the memory; can be handed to a process when it is started.

    The file behind it is unlinked as soon as it is made, so nothing stays behind, however the processes end.
    """

    def __init__(self, num_env: int) -> None:
        self._blocks: dict[str, Any] = {
            name: RawArray(ctypes.c_uint8, num_env * np.dtype(dtype).itemsize * int(np.prod(shape)))
            for name, (dtype, shape) in _LAYOUT.items()
        }

    def rows(self, envs: range) -> Rows:
        """Returns the rows of consecutive environments."""
        views = {}
        for name, (dtype, shape) in _LAYOUT.items():
            views[name] = np.frombuffer(self._blocks[name], dtype).reshape(-1, *shape)[envs.start : envs.stop]
        return Rows(**views)
