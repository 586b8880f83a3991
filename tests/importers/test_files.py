"""Files as joblib writes them, compressed or not."""

import lzma
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.importers.baselines import read_baselines
from acer_tf.importers.files import read_decompressed
from acer_tf.importers.pickled import read_pickle
from acer_tf.storage import arrays
from acer_tf.storage.input_errors import as_input_error

COMPRESSIONS = [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3), ("lzma", 3)]
VALUE = {
    "a:0": np.arange(12, dtype=np.float32).reshape(3, 4),
    "b": [np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array(3, np.int64), np.zeros((0, 2), np.float32)],
    "c": np.random.default_rng(0).normal(size=(100, 100)),
    "d": "text",
    "e": np.arange(3, dtype=">f8"),
}


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("compress", COMPRESSIONS, ids=str)
def test_what_joblib_wrote_is_read(tmp_path: Path, compress: Any, protocol: int) -> None:
    joblib.dump(VALUE, tmp_path / "file", compress=compress, protocol=protocol)
    found = read_pickle(read_decompressed(tmp_path / "file"))
    assert found.keys() == VALUE.keys()
    for ours, theirs in ((found, VALUE), (dict(enumerate(found["b"])), dict(enumerate(VALUE["b"])))):
        for name, array in theirs.items():
            if isinstance(array, np.ndarray):
                np.testing.assert_array_equal(ours[name], array)
                assert ours[name].dtype == array.dtype.newbyteorder("=")
    assert found["d"] == "text"


def test_arrays_without_padding_before_them_are_read(tmp_path: Path) -> None:
    """As joblib wrote them before version 1.2."""
    joblib.dump(np.arange(3.0), tmp_path / "file", protocol=3)
    data = (tmp_path / "file").read_bytes()
    start = data.index(np.arange(3.0).tobytes())
    padding = data.index(b"\xff" * 2, start - 20) - 1
    old = data[:padding] + data[start:]
    name = old.index(b"X\x1b\x00\x00\x00numpy_array_alignment_bytes")
    old = old[:name] + old[old.index(b"K\x10", name) + 2 :]
    np.testing.assert_array_equal(read_pickle(old), np.arange(3.0))


@pytest.mark.parametrize("compress", COMPRESSIONS, ids=str)
def test_every_kind_of_truncation_is_told(tmp_path: Path, compress: Any) -> None:
    joblib.dump(VALUE | {"c": 0}, tmp_path / "file", compress=compress)
    data = (tmp_path / "file").read_bytes()
    for length in range(0, len(data), 7):
        (tmp_path / "file").write_bytes(data[:length])
        with (
            pytest.raises(InputError, match=r"file does not hold an agent \("),
            as_input_error(tmp_path / "file", "an agent"),
        ):
            read_pickle(read_decompressed(tmp_path / "file"))


@pytest.mark.parametrize("compress", COMPRESSIONS[1:], ids=str)
def test_a_bomb_takes_no_memory(tmp_path: Path, compress: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    joblib.dump({"acer_model/q/b:0": np.zeros(2**25, np.uint8)}, tmp_path / "file", compress=compress)
    assert (tmp_path / "file").stat().st_size < 2**19
    monkeypatch.setattr(arrays, "LARGEST_COMPRESSED", 2**20)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="would unpack to more than"):
            read_baselines(tmp_path / "file")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"ZF0x", "written by a joblib older than 0.10"),
        (b"\x04\x22\x4d\x18", "lz4; load it, and save it again without"),
    ],
)
def test_forms_that_are_not_read_are_named(tmp_path: Path, start: bytes, message: str) -> None:
    (tmp_path / "file").write_bytes(start + b"0" * 100)
    with pytest.raises(ValueError, match=message):
        read_decompressed(tmp_path / "file")


def test_arrays_in_files_of_their_own_are_not_looked_for(tmp_path: Path) -> None:
    data = (
        b"\x80\x02cjoblib.numpy_pickle\nNDArrayWrapper\n)\x81}X\x08\x00\x00\x00filenameX\x0b\x00\x00\x00/etc/passwdsb."
    )
    with pytest.raises(ValueError, match="in files of their own"):
        read_pickle(data)


def test_arrays_of_objects_in_a_joblib_file_are_refused(tmp_path: Path) -> None:
    joblib.dump(np.array([{}], dtype=object), tmp_path / "file")
    with pytest.raises(ValueError, match="does not hold numbers"):
        read_pickle(read_decompressed(tmp_path / "file"))


def test_a_dictionary_of_lzma_that_takes_large_memory_is_refused(tmp_path: Path) -> None:
    data = bytearray(lzma.compress(b"small", format=lzma.FORMAT_ALONE))
    (tmp_path / "file").write_bytes(data)
    assert read_decompressed(tmp_path / "file") == b"small"
    data[1:5] = (2**30).to_bytes(4, "little")
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(ValueError, match="Memory usage limit exceeded"):
        read_decompressed(tmp_path / "file")


def test_an_array_in_an_order_that_joblib_does_not_write_is_refused(tmp_path: Path) -> None:
    joblib.dump(np.zeros((2, 3)), tmp_path / "file")
    data = (tmp_path / "file").read_bytes()
    order = b"order\x94\x8c\x01"
    assert data.count(order + b"C") == 1
    with pytest.raises(ValueError, match="neither in C nor in Fortran order"):
        read_pickle(data.replace(order + b"C", order + b"A"))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing", r"missing does not exist; expected an ACER agent of baselines\."),
        (".", r"does not hold an ACER agent of baselines \(it is not a file"),
        ("a" * 300, r"a{300} cannot be read \(File name too long\)\.$"),
    ],
)
def test_what_is_no_file_is_told(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_baselines(tmp_path / path)
