import zipfile

import numpy as np
import pytest

import acer_tf.storage.arrays
from acer_tf.errors import InputError
from acer_tf.storage.arrays import check_arrays, finite_array, load_arrays, numeric_array, save_arrays
from tests.memory import at_most
from tests.zips import write_members

ARRAYS = {"a/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(3, dtype=np.int64)}


def test_round_trip_keeps_values_shapes_and_types(tmp_path):
    save_arrays(tmp_path / "new" / "weights.npz", ARRAYS)
    loaded = load_arrays(tmp_path / "new" / "weights.npz")
    assert loaded.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert loaded[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded[name], array, strict=True)


def test_a_path_may_begin_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    save_arrays("~/a.npz", {"a": np.arange(3)})
    assert (tmp_path / "a.npz").is_file() and load_arrays("~/a.npz")["a"].tolist() == [0, 1, 2]


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
    with pytest.raises(InputError, match=r"a{300} is not a readable npz file of arrays \(.*File name too long"):
        load_arrays(tmp_path / ("a" * 300))
    with pytest.raises(InputError, match=r"nothing\.npz is not a file"):
        load_arrays(tmp_path / "nothing.npz")


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def described(shape: str, descr: str = "'<f4'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


HEADERS = [
    described("(1000000000000,)"),
    described("(2, -2)"),
    described("(-1,)"),
    described("(True,)"),
    described("(0, -1)"),
    described("(0, 99999999999999999999999)"),
    described("'x'"),
    described("(1L,"),
    described("(1,)", "'|O'"),
    described("(1,)", "[('a', '<f4')]"),
    described("(1,)", "'<U2'"),
    described("(1,)", "'|V4'"),
    described("(1,)", "'nonsense'"),
    "",
    "{",
    "'''",
    "{[]: 1}",
    "{'a': 1}",
    "(" * 5000,
    "-" * 9000 + "1",
    "__import__('os').system('false')",
]


@pytest.mark.parametrize("header", HEADERS)
def test_headers_that_lie_are_refused_before_memory_is_taken(tmp_path, header):
    path = tmp_path / "lie.npz"
    write_members(path, {"a.npy": npy(header, bytes(4))}, zipfile.ZIP_DEFLATED)
    with at_most(30e6), pytest.raises(InputError, match=r"lie\.npz is not a readable npz file"):
        load_arrays(path)


@pytest.mark.parametrize("shape", ["(1180591620717411303424, 0)", "(16777216, 0)", "(0, 99999999999999999999999)"])
def test_arrays_without_numbers_have_no_long_axes(tmp_path, shape):
    write_members(tmp_path / "lie.npz", {"a.npy": npy(described(shape))}, zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match=r"lie\.npz is not a readable npz file .*a\.npy holds an array of shape"):
        load_arrays(tmp_path / "lie.npz")
    write_members(tmp_path / "none.npz", {"a.npy": npy(described("(0, 84, 84, 4)"))}, zipfile.ZIP_DEFLATED)
    assert load_arrays(tmp_path / "none.npz")["a"].shape == (0, 84, 84, 4)


def test_a_small_file_does_not_become_a_large_array(tmp_path, monkeypatch):
    monkeypatch.setattr(acer_tf.storage.arrays, "LARGEST_COMPRESSED", 2**20)
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, a=np.zeros(2**19, np.uint8), b=np.zeros(2**25, np.uint8))
    assert path.stat().st_size < 2**17
    with at_most(2**20), pytest.raises(InputError, match="it would unpack to"):
        load_arrays(path)
    np.savez_compressed(path, a=np.zeros(2**19, np.uint8))
    assert load_arrays(path)["a"].shape == (2**19,)


@pytest.mark.parametrize("name", ["../../evil.npy", "/evil.npy", "a/b.npy"])
def test_names_of_members_are_only_names(tmp_path, name):
    path = tmp_path / "in" / "names.npz"
    path.parent.mkdir()
    write_members(path, {name: npy(described("()"), bytes(4))}, zipfile.ZIP_DEFLATED)
    assert list(load_arrays(path)) == [name.removesuffix(".npy")]
    assert sorted(tmp_path.rglob("*")) == [path.parent, path]


def test_no_other_member_is_read(tmp_path):
    write_members(
        tmp_path / "a.npz", {"a.npy": npy(described("()"), bytes(4)), "note.txt": b"hello"}, zipfile.ZIP_DEFLATED
    )
    with pytest.raises(InputError):
        load_arrays(tmp_path / "a.npz")


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_changed_file_is_refused_or_the_same(tmp_path, is_compressed):
    path = tmp_path / "weights.npz"
    (np.savez_compressed if is_compressed else np.savez)(path, **ARRAYS)
    data, random = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(100):
        changed = bytearray(data)
        for position in random.integers(0, len(data), random.integers(1, 4)):
            changed[position] = random.integers(256)
        path.write_bytes(changed)
        try:
            loaded = load_arrays(path)
        except InputError:
            refused += 1
            continue
        for name in loaded.keys() & ARRAYS.keys():  # names have no checksum; `check_arrays` knows them
            np.testing.assert_array_equal(loaded[name], ARRAYS[name], strict=True)
    assert 0 < refused < 100


def test_expected_arrays_pass():
    check_arrays("a.npz", ARRAYS, {name: np.zeros_like(array) for name, array in ARRAYS.items()})
    check_arrays("a.npz", {"b": np.int16([1])}, {"b": np.zeros(1, np.float32)})  # which holds it


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"a/kernel": np.zeros((3, 2), np.float32)},
            r"of another network: a/kernel has shape \(3, 2\) there, \(2, 3\)",
        ),
        ({"extra": np.zeros(1)}, r"of another network: extra has shape \(1,\) there, none here"),
        ({"b": np.array(3.0)}, ": b is of type float64; expected numbers of type int64"),
        ({"a/kernel": np.full((2, 3), np.nan, np.float32)}, ": a/kernel holds a number that is not finite"),
        ({"a/kernel": np.full((2, 3), 1e39)}, "expected finite numbers of type float32"),
        ({"a/kernel": np.full((2, 3), "x")}, "is of type <U1"),
    ],
)
def test_other_arrays_are_refused_by_name(changes, message):
    with pytest.raises(InputError, match=rf"^a\.npz is damaged.*{message}"):
        check_arrays("a.npz", ARRAYS | changes, ARRAYS)


def test_a_missing_array_is_named():
    with pytest.raises(InputError, match=r"b has shape none there, \(\) here\."):
        check_arrays("a.npz", {"a/kernel": ARRAYS["a/kernel"]}, ARRAYS)


@pytest.mark.parametrize("value", [3, [True, False], np.arange(3, dtype=np.uint8), [[0.5, np.nan]]])
def test_numbers_make_an_array(value):
    np.testing.assert_array_equal(numeric_array("it", value), np.array(value), strict=True)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x", "it is of type <U1; expected numbers"),
        ([1, None], "it is of type object; expected numbers"),
        (1j, "it is of type complex128; expected numbers"),
        ([[1], [1, 2]], "it cannot be an array: its rows differ in length"),
    ],
)
def test_other_things_make_none(value, message):
    with pytest.raises(InputError, match=rf"^{message}\.$"):
        numeric_array("it", value)


def test_a_finite_array_is_a_copy():
    given = np.float32([1, 2])
    copy = finite_array("x", given, np.float32)
    given[0] = 5
    np.testing.assert_array_equal(copy, np.float32([1, 2]), strict=True)
    np.testing.assert_array_equal(finite_array("x", [1, 2], np.float64), np.float64([1, 2]), strict=True)
