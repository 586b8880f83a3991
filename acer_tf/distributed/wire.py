"""How a segment travels: a JSON header, then its arrays one after the other. What arrives is checked as a stranger's.

In bytes: the magic word, the size of the header (4 bytes, little-endian), the header, the arrays in the order in which
the header names them. Compressed frames are one part per environment, whose sizes are in the header.
"""

import json
import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.buffer import stack_obs
from acer_tf.distributed.layout import ACTION_MASKS, FRAMES, NEXT_STATE, Field, Layout
from acer_tf.errors import InputError
from acer_tf.replay.columns import CompressedFrames
from acer_tf.segment import Episode, Segment

MAGIC = b"ACERseg1"
LARGEST_HEADER = 2**24
"""Limit in bytes of a header: episodes of very many environments are in it."""
COMPRESSED = "zstd"
"""Stands for the dtype of compressed frames, which are uint8."""

_SIZE = struct.Struct("<I")


class MalformedSegmentError(InputError):
    """What a collector sent is not a segment of this run."""


class Header(NamedTuple):
    """Where a segment comes from.

    Attributes:
        source: number of the collector.
        incarnation: how often it has begun anew.
        sequence: number of the segment among those of the collector.
        version: updates that the weights had behind them with which it was collected.
    """

    source: int
    incarnation: int
    sequence: int
    version: int


class Received(NamedTuple):
    """A segment that has arrived.

    Attributes:
        header: where it comes from.
        segment: all of it; its `enc_obs` are `CompressedFrames` if they came compressed.
        next_state: [N, P] float32, the policy's state after it.
        episodes: whole episodes that ended in it, with the collector's own clock.
        packed: the same in bytes.
    """

    header: Header
    segment: Segment
    next_state: NDArray[np.float32]
    episodes: list[Episode]
    packed: bytes


def pack(
    header: Header, segment: Segment, next_state: NDArray[np.float32], episodes: Sequence[Episode], layout: Layout
) -> bytes:
    """Returns a segment in bytes."""
    arrays = segment._asdict() | {NEXT_STATE: next_state}
    names = [*layout.fields] if isinstance(segment.action_masks, tuple) else [*layout.with_masks()]
    described, pieces = list[Any](), list[Any]()
    for name in names:
        array = arrays[name]
        if name == FRAMES and layout.is_compressed:
            parts = CompressedFrames(array).parts
            described.append([name, COMPRESSED, array.shape, [len(part) for part in parts]])
            pieces += parts
        else:
            described.append([name, array.dtype.str, array.shape, array.nbytes])
            pieces.append(np.ascontiguousarray(array).tobytes())
    ended = [[episode.env, float(episode.r), int(episode.l), float(episode.t)] for episode in episodes]
    text = json.dumps({**header._asdict(), "episodes": ended, "arrays": described}).encode()
    return b"".join([MAGIC, _SIZE.pack(len(text)), text, *pieces])


def unpack(data: object, layout: Layout) -> Received:
    """Reads what `pack` wrote, which may come from anywhere: nothing in it is run, and every number is checked.

    Raises:
        MalformedSegmentError: it is anything else than a segment of this layout.
    """
    if not isinstance(data, bytes):
        raise MalformedSegmentError(f"a collector sent a {type(data).__name__}; expected bytes.")
    try:
        return _unpacked(data, layout)
    except (InputError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise MalformedSegmentError(f"a collector sent no segment of this run: {error}") from error


def _unpacked(data: bytes, layout: Layout) -> Received:
    start = len(MAGIC) + _SIZE.size
    if len(data) < start or not data.startswith(MAGIC):
        raise ValueError("it does not begin as one does.")
    (size,) = _SIZE.unpack_from(data, len(MAGIC))
    if size > LARGEST_HEADER or start + size > len(data):
        raise ValueError(f"its header has {size} bytes.")
    fields = json.loads(data[start : start + size])
    header = Header(*(_count(name, fields[name]) for name in Header._fields))
    arrays = _arrays(data, start + size, fields["arrays"], layout)
    next_state = arrays.pop(NEXT_STATE)
    masks = arrays["masks"]
    dones = masks[:, 1:]
    enc_obs = arrays[FRAMES]
    compressed = arrays.pop(COMPRESSED, enc_obs)
    nothing = np.zeros((layout.nenvs, 0), np.float32)  # in the place of fields that updates do not read
    segment = Segment(
        **{"states": nothing, "final_values": nothing, **arrays, FRAMES: compressed},
        obs=stack_obs(enc_obs, dones),
        dones=dones,
    )
    return Received(header, segment, next_state, _episodes(fields["episodes"], layout), data)


def _arrays(data: bytes, start: int, described: Sequence[Any], layout: Layout) -> dict[str, Any]:
    """Returns the arrays by name; compressed frames as they came besides, under the name `COMPRESSED`."""
    names = [name for name, *_ in described]
    expected = layout.with_masks() if ACTION_MASKS in names else layout.fields
    if names != [*expected]:
        raise ValueError(f"its arrays are {names}; expected {[*expected]}.")
    arrays: dict[str, Any] = {}
    for (name, dtype, shape, size), field in zip(described, expected.values(), strict=True):
        is_compressed = name == FRAMES and layout.is_compressed
        if (dtype, tuple(shape)) != (COMPRESSED if is_compressed else field.dtype, field.shape):
            raise ValueError(f"its {name} are {tuple(shape)} {dtype}; expected {field.shape} {field.dtype}.")
        if is_compressed:
            stops = start + np.cumsum([_count("a size", part) for part in size])
            parts = [data[i:j] for i, j in zip([start, *stops[:-1]], stops, strict=True)]
            arrays[COMPRESSED], arrays[name] = CompressedFrames.checked(parts, field.shape)
            start = int(stops[-1])
        else:
            arrays[name] = _array(data, start, name, field)
            start += arrays[name].nbytes
    if start != len(data):
        raise ValueError(f"it has {len(data)} bytes; expected {start}.")
    return arrays


def _array(data: bytes, start: int, name: str, field: Field) -> NDArray[Any]:
    dtype, count = np.dtype(field.dtype), math.prod(field.shape)
    if start + count * dtype.itemsize > len(data):
        raise ValueError(f"it ends within its {name}.")
    array = np.frombuffer(data, dtype, count, start).reshape(field.shape).copy()  # aligned
    field.check(name, array)
    return array


def _episodes(rows: Any, layout: Layout) -> list[Episode]:
    episodes = []
    for env, raw_return, length, seconds in rows:
        episode = Episode(_count("env", env), float(raw_return), _count("length", length), float(seconds))
        if episode.env >= layout.nenvs or not (math.isfinite(episode.r) and math.isfinite(episode.t)):
            raise ValueError(f"it has an episode {episode}.")
        episodes.append(episode)
    return episodes


def _count(name: str, value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"its {name} is {value!r}; expected a whole number >= 0.")
    return value
