"""Replay buffer of segments, in which each frame is stored once (baselines, `acer/buffer.py`)."""

from collections.abc import Container, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.replay.columns import Column, CompressedColumn, FrameColumn, PlainColumn
from acer_tf.segment import Segment, is_given, joined

GROUP_BYTES = 1 << 20
"""Most bytes of observations that one call trains on: copying this much costs little compared with separate calls."""
STORED = ("enc_obs", "actions", "rewards", "mus", "dones", "masks", "states", "final_values", "action_masks")
"""Fields of a segment that are stored; action masks only if the environments give them."""


class Buffer:
    """A ring of slots, each of which holds one segment of every environment.

    Attributes:
        slots: number of segments that fit.
        segments_per_update: number of segments that `get` joins.
        num_put: number of segments ever put; checkpoints number segments by it.
    """

    def __init__(
        self,
        nsteps: int,
        size: int,
        compressed_row: tuple[int, ...] | None = None,
        unread: Container[str] = (),
        segments_per_update: int = 1,
        is_recurrent: bool = False,
    ) -> None:
        """Makes an empty buffer; memory is reserved when the first segment arrives.

        Args:
            nsteps: agent steps per segment.
            size: agent steps kept per environment; rounded down to whole segments.
            compressed_row: shape of `enc_obs` in every segment, [N, T + S, ...] uint8, to compress it without loss;
                None keeps it as it is, each frame once.
            unread: fields of a segment that are not kept (see `Config.unread`); empty, [N, 0], in drawn segments.
            segments_per_update: segments that make up the batch of an update from replay.
            is_recurrent: whether the segments are for a recurrent network; see `groups`.
        """
        self._nsteps = nsteps
        # Baselines' size in segments, rounded down.
        self.slots = size // nsteps
        self.segments_per_update = segments_per_update
        self._unread = unread
        self._is_recurrent = is_recurrent
        self._columns: dict[str, Column] = {}
        # The first segment shows the shapes of the other columns.
        if compressed_row is not None:
            self._columns["enc_obs"] = CompressedColumn(self.slots, compressed_row)
        self.num_put = 0

    @property
    def is_compressed(self) -> bool:
        """Whether observations are kept compressed."""
        return isinstance(self._columns.get("enc_obs"), CompressedColumn)

    @property
    def nbytes(self) -> int:
        """Bytes of the stored segments."""
        return sum(column.nbytes for column in self._columns.values())

    @property
    def next_idx(self) -> int:
        """Slot for the next segment."""
        return self.num_put % self.slots

    @property
    def num_in_buffer(self) -> int:
        """Number of slots filled so far."""
        return min(self.num_put, self.slots)

    @property
    def oldest(self) -> int:
        """Number of the oldest segment that is still stored."""
        return self.num_put - self.num_in_buffer

    def has_atleast(self, frames: int) -> bool:
        """Returns whether `frames` agent steps per environment, rounded down to whole segments, are stored."""
        # Baselines counts slots too: replay may start up to T - 1 steps early.
        return self.num_in_buffer >= frames // self._nsteps

    def put(self, segment: Segment) -> None:
        """Stores a segment; in a full buffer it replaces the oldest one."""
        # Observations are not stored, but restacked from the frames, as in baselines.
        for name in STORED:
            if is_given(row := getattr(segment, name)):
                row = row[:, :0] if name in self._unread else row  # what training will not read takes no memory
                self._column(name, row).put(self.next_idx, row)
        self.num_put += 1

    def rows(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Returns segments `start` to `stop` - 1 as arrays that can be written to a file."""
        # The numbers count all segments ever put, so replay files never change their meaning.
        slots = np.arange(start, stop) % self.slots
        columns = self._columns.items()
        return {f"{name}/{key}": array for name, column in columns for key, array in column.dump(slots).items()}

    def load_rows(self, start: int, stop: int, rows: dict[str, NDArray[Any]]) -> None:
        """Restores what `rows` returned; the segments before `start` must have been restored.

        Raises:
            InputError: the rows do not fit.
        """
        slots = np.arange(start, stop) % self.slots
        for name in STORED:
            arrays = {key.partition("/")[2]: array for key, array in rows.items() if key.startswith(f"{name}/")}
            if arrays or name != "action_masks":
                first = arrays["rows"][0] if "rows" in arrays else None
                self._column(name, first).load(slots, arrays)
        self.num_put = stop

    def get(self, rng: np.random.RandomState) -> Segment:
        """Draws one segment per environment, each from its own history, uniformly and with replacement.

        With collectors, each of which has its own environments, environments with the same index share a history. With
        several `segments_per_update`, that many draws are joined.

        Args:
            rng: each of these draws takes N whole numbers from it.
        """
        return joined([self._drawn(rng) for _ in range(self.segments_per_update)])

    def _drawn(self, rng: np.random.RandomState) -> Segment:
        slots = rng.randint(0, self.num_in_buffer, self._nenvs)  # one draw, as in baselines: it gives the same segments
        drawn = {name: column.get(slots) for name, column in self._columns.items()}
        return Segment(obs=stack_obs(drawn["enc_obs"], drawn["dones"]), **drawn)

    def groups(self, rng: np.random.RandomState, number: int) -> Iterator[list[Segment]]:
        """Draws segments as `get` does, in groups; each group is to be trained on in one call.

        A group's observations take at most `GROUP_BYTES`, or it is a single segment: large images are drawn one by one.
        So are vectors for a feed-forward network: a single update runs entirely on the calling thread, whereas several
        in one call spread their operations over threads, which costs more than such small operations themselves.
        """
        # Drawn in order, whatever the grouping: the random stream and the batches are those of baselines.
        group: list[Segment] = []
        for _ in range(number):
            group.append(self.get(rng))
            obs = group[0].obs
            if (len(group) + 1) * obs.nbytes > GROUP_BYTES or (obs.ndim == 3 and not self._is_recurrent):
                yield group
                group = []
        if group:
            yield group

    def _column(self, name: str, row: NDArray[Any] | None) -> Column:
        if name not in self._columns:
            is_frames = name == "enc_obs"
            if row is None:
                raise InputError(f"saved replay has no rows of {name}{'; give the same compress_replay' * is_frames}.")
            self._columns[name] = (
                FrameColumn(self.slots, row, self._nsteps) if is_frames else PlainColumn(self.slots, row)
            )
            self._nenvs = len(row)
        return self._columns[name]


def stack_obs(enc_obs: NDArray[Any], dones: NDArray[np.bool_]) -> NDArray[Any]:
    """Restacks frames as the agent saw them: frames from before the end of an episode are zero.

    Args:
        enc_obs: [N, T + S, ..., C], each frame once.
        dones: [N, T] bool.

    Returns:
        [N, T + 1, ..., S * C], in the dtype of the frames, newest frame last; `enc_obs` itself if a stack is one frame.
    """
    nenvs, nsteps = dones.shape
    # T + S frames were stored for T steps: the S frames of the first observation, then one per step.
    nstack = enc_obs.shape[1] - nsteps
    if nstack == 1:
        return enc_obs
    channels = enc_obs.shape[-1]
    obs = np.empty((nenvs, nsteps + 1, *enc_obs.shape[2:-1], nstack * channels), enc_obs.dtype)
    # The stack at step t consists of frames t to t + S - 1, oldest first; at step 0 it includes earlier frames.
    for i in range(nstack):
        obs[..., i * channels : (i + 1) * channels] = enc_obs[:, i : i + nsteps + 1]
    # Baselines multiplies by masks, which is equivalent. An end within the S frames before the segment is not among
    # `dones`: those frames were already stored as zeros.
    for env, step in np.argwhere(dones):
        for age in range(1, nstack):  # at step + age, frames this old or older are from before the end
            if step + age <= nsteps:
                obs[env, step + age, ..., : (nstack - age) * channels] = 0
    return obs
