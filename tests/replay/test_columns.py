import re
import tracemalloc
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from acer_tf.errors import InputError
from acer_tf.replay.columns import Column, CompressedColumn, FrameColumn, PlainColumn
from tests.memory import at_most

SHAPE = (2, 6, 10, 10, 1)


def images(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    row = np.repeat(random.integers(0, 256, (2, 1, *SHAPE[2:]), dtype=np.uint8), SHAPE[1], axis=1)
    row[:, :, 0] = random.integers(0, 256, (2, SHAPE[1], 10, 1))
    return row


def filled(rows: int = 3) -> CompressedColumn:
    column = CompressedColumn(4, SHAPE)
    for slot in range(rows):
        column.put(slot, images(slot))
    return column


def test_compression_loses_nothing() -> None:
    column = filled()
    drawn = column.get(np.array([2, 1]))
    np.testing.assert_array_equal(drawn[0], images(2)[0])
    np.testing.assert_array_equal(drawn[1], images(1)[1])


def test_compressed_frames_take_no_more_memory_than_they_say() -> None:
    """The process's memory, not the lengths alone: what is reserved behind the bytes counts."""
    column, segment = CompressedColumn(40, (8, 24, 84, 84, 1)), np.zeros((8, 24, 84, 84, 1), np.uint8)
    column.put(0, segment)
    tracemalloc.start()
    try:
        for slot in range(40):
            column.put(slot, segment)
        traced, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert traced < 3 * column.nbytes + 100_000 < segment.nbytes


def test_frames_that_repeat_take_little() -> None:
    frame = images()[:, :1]
    one, many = CompressedColumn(1, frame.shape), CompressedColumn(1, (2, 24, *SHAPE[2:]))
    one.put(0, frame)
    many.put(0, np.repeat(frame, 24, axis=1))
    assert 0 < many.nbytes < 2 * one.nbytes


@pytest.mark.parametrize(
    "make",
    [
        lambda: CompressedColumn(4, SHAPE),
        lambda: PlainColumn(4, images()),
        lambda: FrameColumn(4, images(), SHAPE[1]),
    ],
)
def test_bytes_are_those_of_the_rows_that_are_there(make: Callable[[], Column]) -> None:
    """Whether they were put or loaded, or a row took the place of another."""
    row = images()
    column, other = make(), make()
    assert column.nbytes == 0
    for slot, filled in ((0, 1), (1, 2), (0, 2)):
        column.put(slot, row)
        dumped = sum(array.nbytes for name, array in column.dump(np.arange(filled)).items() if name != "sizes")
        assert column.nbytes == dumped > 0
    other.load(np.arange(2), column.dump(np.arange(2)))
    assert other.nbytes == column.nbytes


def test_what_is_dumped_loads() -> None:
    column, other = filled(), CompressedColumn(4, SHAPE)
    other.load(np.array([1, 3]), column.dump(np.array([2, 0])))
    np.testing.assert_array_equal(other.get(np.array([1, 3])), [images(2)[0], images(0)[1]])


def load_part(part: bytes) -> None:
    """Into a column whose parts have 600 bytes."""
    arrays = {"parts": np.frombuffer(part * 2, np.uint8), "sizes": np.full((1, 2), len(part))}
    filled().load(np.array([0]), arrays)


def test_parts_of_another_size_are_refused() -> None:
    arrays = filled().dump(np.array([0]))
    other = CompressedColumn(4, (2, 6, 10, 11, 1))
    with pytest.raises(InputError, match="would decompress to 600 bytes; expected 660"):
        other.load(np.array([0]), arrays)


def test_a_small_file_cannot_become_a_large_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """The header is read before anything is decompressed."""
    bomb = zstandard.compress(bytes(2**28))
    assert len(bomb) < 2**14
    monkeypatch.setattr(CompressedColumn, "get", None)
    with at_most(2**20), pytest.raises(InputError, match="would decompress to 268435456 bytes; expected 600"):
        load_part(bomb)


def forged(size: int) -> bytes:
    """600 bytes, but the header says another number."""
    part = bytearray(zstandard.ZstdCompressor(level=1).compress(np.random.default_rng(0).bytes(600)))
    assert part[4] & 0xE0 == 0x60, "one segment, its size in two bytes, less 256"
    part[5:7] = (size - 256).to_bytes(2, "little")
    return bytes(part)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (b"no frame at all", "cannot be decompressed"),
        (b"", "cannot be decompressed"),
        (
            zstandard.ZstdCompressor(write_content_size=False).compress(bytes(600)),
            "decompress to -1 bytes; expected 600",
        ),
        (forged(700), "would decompress to 700 bytes; expected 600"),
        (zstandard.compress(bytes(600))[:-1], "cannot be decompressed"),
        (zstandard.compress(bytes(600)) + b"more", "cannot be decompressed .*unused data"),
        (zstandard.compress(bytes(600)) * 2, "cannot be decompressed .*unused data"),
    ],
)
def test_parts_that_are_not_one_whole_frame_are_refused(part: bytes, message: str) -> None:
    load_part(zstandard.compress(bytes(600)))
    with pytest.raises(InputError, match=f"saved replay .*{message}"):
        load_part(part)


def test_a_part_whose_header_lies_about_its_size_is_refused() -> None:
    data = np.random.default_rng(0).bytes(700)
    part = bytearray(zstandard.ZstdCompressor(level=1).compress(data))
    part[5:7] = (600 - 256).to_bytes(2, "little")
    assert zstandard.frame_content_size(bytes(part)) == 600
    with pytest.raises(InputError, match="saved replay is damaged: frames cannot be decompressed"):
        load_part(bytes(part))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([[10**9, 1]], r"is damaged: its parts have \d+ bytes; expected 1000000001"),
        ([[-1, 3]], r"is damaged: its parts have \d+ bytes; expected 2"),
        ([[1]], r"has \(1, 1\) parts; expected \(1, 2\)"),
        ([[1, 1], [1, 1]], r"has \(2, 2\) parts; expected \(1, 2\)"),
    ],
)
def test_sizes_that_lie_are_refused(sizes: list[list[int]], message: str) -> None:
    arrays = filled().dump(np.array([0]))
    with pytest.raises(InputError, match=f"^saved replay {message}"):
        filled().load(np.array([0]), {**arrays, "sizes": np.array(sizes)})


@pytest.mark.parametrize("kind", [PlainColumn, lambda slots, row: FrameColumn(slots, row, nsteps=2)])
def test_plain_rows_of_another_shape_or_dtype_are_refused(kind: Callable[[int, np.ndarray], Column]) -> None:
    column = kind(4, np.zeros((2, 3), np.float32))
    for rows in (np.zeros((1, 2, 4), np.float32), np.zeros((1, 2, 3)), np.zeros((2, 2, 3), np.float32)):
        found = re.escape(f"saved replay has rows {rows.shape} {rows.dtype}; expected (1, 2, 3) float32")
        with pytest.raises(InputError, match=found):
            column.load(np.array([0]), {"rows": rows})
    with pytest.raises(InputError, match="saved replay has rows"):
        column.load(np.array([0]), {})


GOES_ON, ENDED, RESET, OTHER = range(4)
BYTE, FLOAT = np.dtype(np.uint8), np.dtype(np.float32)
VALUES = {BYTE: [0, 1, 2], FLOAT: [0.0, -0.0, 1.0, np.nan]}


def next_row(random: np.random.Generator, row: np.ndarray, nsteps: int, events: Sequence[int]) -> np.ndarray:
    """What comes after a row, by what happened in between to each environment; `OTHER`: a segment was dropped."""
    nstack = row.shape[1] - nsteps
    new = random.choice(np.array(VALUES[row.dtype], row.dtype), row.shape)
    for env, event in enumerate(events):
        if event in (GOES_ON, ENDED):
            new[env, :nstack] = row[env, nsteps:]
        if event in (ENDED, RESET):
            new[env, : random.integers(nstack) if event == ENDED else nstack - 1] = 0
    return new


def assert_same_frames(ours: Column, plain: Column, slots: np.ndarray) -> None:
    """To the bit."""
    drawn, expected = ours.get(slots), plain.get(slots)
    assert (drawn.shape, drawn.dtype, drawn.tobytes()) == (expected.shape, expected.dtype, expected.tobytes())


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_frames_are_drawn_as_if_rows_were_kept_whole(data: st.DataObject) -> None:
    """Whatever happens between rows, the ring overwritten several times, dumped and loaded in pieces in between."""
    slots, nenvs, nsteps, nstack = data.draw(st.tuples(*[st.integers(1, 4)] * 4))
    dtype, frame = data.draw(st.sampled_from([BYTE, FLOAT])), data.draw(st.sampled_from([(), (2,), (2, 1)]))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    row, first = np.zeros((nenvs, nsteps + nstack, *frame), dtype), data.draw(st.integers(0, slots - 1))
    column: FrameColumn | None = None
    plain = PlainColumn(slots, row)
    for put in range(first, first + data.draw(st.integers(1, 4 * slots))):
        row = next_row(random, row, nsteps, data.draw(st.tuples(*[st.integers(0, 3)] * nenvs)))
        column = column or FrameColumn(slots, row, nsteps)
        column.put(put % slots, row)
        plain.put(put % slots, row)
        there = np.arange(max(first, put + 1 - slots), put + 1) % slots
        if data.draw(st.booleans()):
            pieces = np.split(there, [data.draw(st.integers(0, len(there)))])
            dumped = [column.dump(piece) for piece in pieces]
            for piece, arrays in zip(pieces, dumped, strict=True):
                expected = plain.dump(piece)["rows"]
                assert (arrays["rows"].shape, arrays["rows"].tobytes()) == (expected.shape, expected.tobytes())
            if data.draw(st.booleans()):  # otherwise into the column itself, which holds these rows already
                column = FrameColumn(slots, np.concatenate([arrays["rows"] for arrays in dumped])[0], nsteps)
            for piece, arrays in zip(pieces, dumped, strict=True):
                column.load(piece, arrays)
        for slot in there:
            assert_same_frames(column, plain, np.full(nenvs, slot))
        assert_same_frames(column, plain, random.choice(there, nenvs))


@pytest.mark.parametrize(("nsteps", "nstack"), [(5, 3), (4, 1), (1, 4)])
def test_frames_take_the_memory_of_one_copy(nsteps: int, nstack: int) -> None:
    """And of what one row, the oldest, begins with."""
    random, slots, nenvs = np.random.default_rng(0), 4, 2
    row = random.integers(1, 3, (nenvs, nsteps + nstack, 3, 2)).astype(np.uint8)
    column = FrameColumn(slots, row, nsteps)
    for put in range(3 * slots):
        column.put(put % slots, row)
        assert column.nbytes == nenvs * (slots * nsteps + nstack) * 6 * min(put + 1, slots) // slots
        row = next_row(random, row, nsteps, [GOES_ON] * nenvs)


def test_frames_kept_by_themselves_are_freed_with_their_row() -> None:
    random, slots, nsteps, nstack = np.random.default_rng(0), 4, 5, 3
    row = random.integers(0, 3, (2, nsteps + nstack, 50)).astype(np.uint8)
    column = FrameColumn(slots, row, nsteps)
    column.put(0, row)
    ring = 2 * (slots * nsteps + nstack) * 50
    assert column.nbytes == ring // slots
    events = {1: [GOES_ON, OTHER], 2: [RESET, OTHER]}
    for put, kept in enumerate([1, 3, 3, 3, 2, 0, 0, 0], start=1):
        row = next_row(random, row, nsteps, events.get(put, [GOES_ON, GOES_ON]))
        column.put(put % slots, row)
        assert column.nbytes == ring * min(put + 1, slots) // slots + kept * row[0, :nstack].nbytes


def test_frames_that_are_equal_in_number_but_not_in_sign_are_kept() -> None:
    rows = np.zeros((2, 1, 3, 1), np.float32)
    rows[1, 0, 0] = -0.0
    column = FrameColumn(2, rows[0], nsteps=2)
    column.load(np.array([0, 1]), {"rows": rows})
    assert np.signbit(column.get(np.array([1]))).any()


def test_what_is_drawn_and_what_was_put_are_other_arrays() -> None:
    rows, column = np.zeros((2, 2, 5, 3), np.uint8), FrameColumn(2, np.zeros((2, 5, 3), np.uint8), nsteps=3)
    rows[1] = 2  # begins with frames of its own
    for slot, row in enumerate(rows):
        column.put(slot, row)
        row[...] = 7
        column.get(np.array([slot, slot]))[...] = 9
    np.testing.assert_array_equal(column.get(np.array([0, 1])), [np.zeros((5, 3)), np.full((5, 3), 2)])
