import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.persistence.arrays import load_arrays, save_arrays

ARRAYS = {"a/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(3, dtype=np.int64)}


def test_round_trip_keeps_values_shapes_and_types(tmp_path):
    save_arrays(tmp_path / "new" / "weights.npz", ARRAYS)
    loaded = load_arrays(tmp_path / "new" / "weights.npz")
    assert loaded.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert loaded[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded[name], array, strict=True)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "weights.npz"
    save_arrays(path, ARRAYS)
    before = path.read_bytes()

    class Unwritable:
        def __array__(self, *args, **kwargs):
            raise RuntimeError("no data")

    with pytest.raises(RuntimeError, match="no data"):
        save_arrays(path, {"a": Unwritable()})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_no_array_of_objects_is_read(tmp_path):
    np.savez(tmp_path / "objects.npz", a=np.array([{}], dtype=object))
    with pytest.raises(InputError, match="not a readable npz file"):
        load_arrays(tmp_path / "objects.npz")


@pytest.mark.parametrize("keep", [0, 1, 10, 100, 300, -1])
def test_a_truncated_file_is_refused(tmp_path, keep):
    path = tmp_path / "weights.npz"
    save_arrays(path, ARRAYS)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError):
        load_arrays(path)


def test_a_flipped_bit_in_an_array_is_noticed(tmp_path):
    path = tmp_path / "weights.npz"
    save_arrays(path, ARRAYS)
    data = bytearray(path.read_bytes())
    position = data.index(ARRAYS["a/kernel"].tobytes()) + 5
    data[position] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError):
        load_arrays(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.npz is not a file"):
        load_arrays(tmp_path / "nothing.npz")
