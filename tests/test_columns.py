import blosc2
import numpy as np
import pytest

from acer_tf.columns import CompressedColumn, PlainColumn, compress
from acer_tf.errors import InputError

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


def test_frames_that_repeat_take_little() -> None:
    frames = np.repeat(images()[0, :1], 24, axis=0)
    assert len(compress(frames)) < 2 * len(compress(frames[:1]))


def test_what_is_dumped_loads() -> None:
    column, other = filled(), CompressedColumn(4, SHAPE)
    other.load(np.array([1, 3]), column.dump(np.array([2, 0])))
    np.testing.assert_array_equal(other.get(np.array([1, 3])), [images(2)[0], images(0)[1]])


def test_parts_that_would_unpack_to_something_else_are_refused() -> None:
    arrays = filled().dump(np.array([0]))
    other = CompressedColumn(4, (2, 6, 10, 11, 1))
    with pytest.raises(InputError, match="would unpack to 600 bytes; expected 660"):
        other.load(np.array([0]), arrays)
    bomb = bytearray(compress(np.zeros(600, np.uint8)))
    bomb[4:8] = (2**31 - 1).to_bytes(4, "little")  # the header's word on the size
    assert blosc2.get_cbuffer_sizes(bytes(bomb))[0] == 2**31 - 1
    parts = np.frombuffer(bytes(bomb) * 2, np.uint8)
    with pytest.raises(InputError, match="unpack"):
        filled().load(np.array([0]), {"parts": parts, "sizes": np.full((1, 2), len(bomb))})


@pytest.mark.parametrize("sizes", [[[10**9, 1]], [[-1, 3]], [[1]], [[1, 1], [1, 1]]])
def test_sizes_that_lie_are_refused(sizes: list[list[int]]) -> None:
    arrays = filled().dump(np.array([0]))
    with pytest.raises(InputError, match="saved replay has"):
        filled().load(np.array([0]), {**arrays, "sizes": np.array(sizes)})


def test_plain_rows_of_another_shape_or_dtype_are_refused() -> None:
    column = PlainColumn(4, np.zeros((2, 3), np.float32))
    for rows in (np.zeros((1, 2, 4), np.float32), np.zeros((1, 2, 3)), np.zeros((2, 2, 3), np.float32)):
        with pytest.raises(InputError, match="saved replay has rows"):
            column.load(np.array([0]), {"rows": rows})
