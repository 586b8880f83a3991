"""Replay buffer: segments, each frame once (baselines, `acer/buffer.py`)."""

from collections.abc import Container, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.replay.columns import Column, CompressedColumn, FrameColumn, PlainColumn
from acer_tf.segment import Segment, is_given, joined

GROUP_BYTES = 1 << 20
"""Observations of segments that are trained on in one call: copying them costs little, compared with a call each."""
STORED = ("enc_obs", "actions", "rewards", "mus", "dones", "masks", "states", "final_values", "action_masks")
"""Fields of segments; action masks where the environments give them."""


class Buffer:
    """A ring of slots, each one segment of every environment.

    Attributes:
        slots: segments that fit.
        segments_per_update: segments that `get` joins.
        num_put: segments ever put; checkpoints number them so.
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
        """Makes an empty buffer; memory is reserved when the first segment comes.

        Args:
            nsteps: agent steps of a segment.
            size: agent steps kept per environment; rounded down to whole segments.
            compressed_row: shape of `enc_obs` in every segment, [N, T + S, ...] uint8, to keep it compressed, without
                loss; None keeps it as it is, each frame once.
            unread: fields of a segment that are not kept, see `Config.unread`; drawn segments have them empty, [N, 0].
            segments_per_update: segments of the batch that an update from replay is made on.
            is_recurrent: whether they are for a recurrent network, see `groups`.
        """
        self._nsteps = nsteps
        # Baselines' size in segments, rounded down.
        self.slots = size // nsteps
        self.segments_per_update = segments_per_update
        self._unread = unread
        self._is_recurrent = is_recurrent
        self._columns: dict[str, Column] = {}
        # The other columns are made when the first segment shows their shapes.
        if compressed_row is not None:
            self._columns["enc_obs"] = CompressedColumn(self.slots, compressed_row)
        self.num_put = 0

    @property
    def is_compressed(self) -> bool:
        """Whether observations are kept compressed."""
        return isinstance(self._columns.get("enc_obs"), CompressedColumn)

    @property
    def nbytes(self) -> int:
        """Bytes of the segments that are there."""
        return sum(column.nbytes for column in self._columns.values())

    @property
    def next_idx(self) -> int:
        """Slot that the next segment goes to."""
        return self.num_put % self.slots

    @property
    def num_in_buffer(self) -> int:
        """Slots filled so far."""
        return min(self.num_put, self.slots)

    @property
    def oldest(self) -> int:
        """Number of the oldest segment that is still there."""
        return self.num_put - self.num_in_buffer

    def has_atleast(self, frames: int) -> bool:
        """Returns whether `frames` agent steps per environment, rounded down to whole segments, are there."""
        # Baselines counts slots as well: replay may start up to T - 1 steps early.
        return self.num_in_buffer >= frames // self._nsteps

    def put(self, segment: Segment) -> None:
        """Stores a segment, in the place of the oldest one when the buffer is full."""
        # Observations are restacked from the frames, as in baselines.
        for name in STORED:
            if is_given(row := getattr(segment, name)):
                row = row[:, :0] if name in self._unread else row  # what training will not read takes no memory
                self._column(name, row).put(self.next_idx, row)
        self.num_put += 1

    def rows(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Returns segments `start` to `stop` - 1 as arrays that can be written to a file."""
        # Numbers count all segments ever put, so that files of replay never change their meaning.
        slots = np.arange(start, stop) % self.slots
        columns = self._columns.items()
        return {f"{name}/{key}": array for name, column in columns for key, array in column.dump(slots).items()}

    def load_rows(self, start: int, stop: int, rows: dict[str, NDArray[Any]]) -> None:
        """Restores what `rows` returned; the segments before it are there.

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

        With collectors, of which each has environments of its own, a history is that of the environments of one number.
        With several `segments_per_update`, as many such draws are joined.

        Args:
            rng: consumed by one draw of N whole numbers for each of them.
        """
        return joined([self._drawn(rng) for _ in range(self.segments_per_update)])

    def _drawn(self, rng: np.random.RandomState) -> Segment:
        slots = rng.randint(0, self.num_in_buffer, self._nenvs)  # one draw, as in baselines: the same segments follow
        drawn = {name: column.get(slots) for name, column in self._columns.items()}
        return Segment(obs=stack_obs(drawn["enc_obs"], drawn["dones"]), **drawn)

    def groups(self, rng: np.random.RandomState, number: int) -> Iterator[list[Segment]]:
        """Draws segments as `get` does, in groups to be trained on in one call each.

        A group's observations take at most `GROUP_BYTES`, or it is a single segment: large images are drawn one by one.
        So are vectors for a feed-forward network: a single update runs on the calling thread alone, and several in one
        call share their operations among threads, which takes longer than operations as small as these.
        """
        # Drawn in order, whatever the grouping: the random stream and the batches are baselines'.
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
    """Restacks frames as the agent saw them: those from before an episode's end are zero.

    Args:
        enc_obs: [N, T + S, ..., C], frames, each once.
        dones: [N, T] bool.

    Returns:
        [N, T + 1, ..., S * C], in the dtype of the frames, newest frame last; `enc_obs` itself if a stack is one frame.
    """
    nenvs, nsteps = dones.shape
    # T + S frames were stored for T steps: the S that make up the first observation, then one a step.
    nstack = enc_obs.shape[1] - nsteps
    if nstack == 1:
        return enc_obs
    channels = enc_obs.shape[-1]
    obs = np.empty((nenvs, nsteps + 1, *enc_obs.shape[2:-1], nstack * channels), enc_obs.dtype)
    # The stack at step t consists of frames t to t + S - 1, oldest first; at step 0 those before the segment count.
    for i in range(nstack):
        obs[..., i * channels : (i + 1) * channels] = enc_obs[:, i : i + nsteps + 1]
    # Baselines multiplies by masks, which is the same. An end within the S frames before the segment is not among
    # `dones`: those frames were stored as zeros already.
    for env, step in np.argwhere(dones):
        for age in range(1, nstack):  # a frame of this age at step + age is from before the end, as are all older ones
            if step + age <= nsteps:
                obs[env, step + age, ..., : (nstack - age) * channels] = 0
    return obs
