import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.atari.game import FRAME_SHAPE
from acer_tf.envs.atari.shared_rows import GameRows, SharedRows


def test_every_row_has_memory_of_its_own_of_the_type_it_says() -> None:
    shared = SharedRows(5)
    whole, part = vars(shared.rows(range(5))), vars(shared.rows(range(1, 3)))
    for number, (name, array) in enumerate(whole.items()):
        assert GameRows.__annotations__[name] == NDArray[array.dtype.type]
        assert array.shape == (5, *(FRAME_SHAPE if "frames" in name else ()))
        array[...] = number % 2
        part[name][...] = (number + 1) % 2
    for number, array in enumerate(whole.values()):
        expected = np.array([0, 1, 1, 0, 0]) ^ number % 2
        np.testing.assert_array_equal(array.reshape(5, -1)[:, -1], expected.astype(array.dtype))
