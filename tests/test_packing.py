import numpy as np
import pytest
from gymnasium.spaces import Box

from acer_tf.errors import NotFiniteError
from acer_tf.networks.trunk import unpacked
from acer_tf.packing import Packed

IMAGE = Box(0, 255, (2, 3, 1), np.uint8)
VECTOR = Box(-np.inf, np.inf, (3,), np.float32)
SPACE = Packed({"speed": VECTOR, "camera": IMAGE})


def test_what_is_packed_comes_back_to_the_bit() -> None:
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (4, 6)).astype(np.uint8)
    vectors = random.normal(size=(4, 3)).astype(np.float32)
    vectors[0] = -0.0, 1e-42, np.finfo(np.float32).max
    packed = SPACE.pack([vectors, images])
    assert packed.shape == (4, 3 * 4 + 6) and packed.dtype == np.uint8
    parts = {name: part.numpy() for name, part in unpacked(packed, SPACE).items()}
    assert parts["speed"].tobytes() == vectors.tobytes()
    np.testing.assert_array_equal(parts["camera"], images.reshape(4, 2, 3, 1))
    np.testing.assert_array_equal(SPACE.pack([vectors[2], images[2]]), packed[2])
    assert SPACE.images == {"camera": IMAGE} and SPACE.contains(packed[0])


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e300])
def test_numbers_that_float32_does_not_hold_are_refused(number: float) -> None:
    with pytest.raises(NotFiniteError, match="the observation's part speed holds a number that is not finite"):
        SPACE.pack([np.array([0, number, 1.0]), np.zeros(6, np.uint8)])


def test_spaces_are_equal_if_all_parts_are() -> None:
    same_size = Packed({"speed": Box(-np.inf, np.inf, (1,), np.float32), "camera": Box(0, 255, (2, 7, 1), np.uint8)})
    assert same_size.shape == SPACE.shape
    assert SPACE == Packed({"speed": VECTOR, "camera": IMAGE}) != same_size
    assert Box(0, 255, SPACE.shape, np.uint8) != SPACE
