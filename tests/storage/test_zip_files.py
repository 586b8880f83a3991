import contextlib
import io
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.storage.agent_file import read_agent
from acer_tf.storage.arrays import load_arrays
from acer_tf.storage.zip_files import MOST_MEMBERS, check_members
from tests.memory import at_most
from tests.zips import zipped


@contextlib.contextmanager
def refused(message: str) -> Iterator[None]:
    """Without taking much memory."""
    with at_most(40e6), pytest.raises(InputError, match=message):
        yield


def npy(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def with_directory(file: bytes, entries: list[bytes]) -> bytes:
    """The file with another directory: these entries, and as many as there are."""
    end = file.rindex(b"PK\x05\x06")
    start = struct.unpack_from("<L", file, end + 16)[0]
    directory = b"".join(entries)
    counts = struct.pack("<HHLL", len(entries), len(entries), len(directory), start)
    return file[:start] + directory + file[end : end + 8] + counts + file[end + 20 :]


def entry_of(file: bytes, name: str | None = None, **numbers: int) -> bytes:
    """The first entry of the directory, under another name and with other numbers (<L, at their places)."""
    start = file.index(b"PK\x01\x02")
    length = struct.unpack_from("<H", file, start + 28)[0]
    entry = bytearray(file[start : start + 46 + length])
    for place, number in numbers.items():
        struct.pack_into("<L", entry, {"packed": 20, "size": 24, "offset": 42}[place], number)
    if name is not None:
        entry[28:30], entry[46:] = struct.pack("<H", len(name)), name.encode()
    return bytes(entry)


def members_of(file: bytes, largest_unpacked: int = 2**20) -> None:
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        check_members(archive, largest_unpacked)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_ordinary_files_pass(method: int) -> None:
    members_of(zipped({"a": b"1" * 1000, "b": b"", "folder/c": b"3"}, method))
    members_of(zipped({}))


def test_members_that_share_bytes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    """1,000 members of 4 MB in a file of 4 MB."""
    file = zipped({"parameters.npz": bytes(4_000_000)})
    path = tmp_path / "agent.zip"
    path.write_bytes(with_directory(file, [entry_of(file, f"{i:09d}.npz") for i in range(1000)]))
    with refused(r"0000\d+\.npz and 0000\d+\.npz overlap"):
        read_agent(path)


def test_a_member_that_reaches_into_the_directory_is_refused() -> None:
    file = zipped({"a": b"1" * 1000})
    with pytest.raises(ValueError, match="a and the directory overlap"):
        members_of(with_directory(file, [entry_of(file, packed=1500, size=1500)]))


def test_a_name_that_is_repeated_20_000_times_is_refused_without_opening_a_member(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = zipped({"a.npy": npy(np.zeros(3))})
    path = tmp_path / "names.npz"
    path.write_bytes(with_directory(file, [entry_of(file)] * 20_000))
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("a member was opened"))
    with refused("it has 20,000 members, more than 10,000"):
        load_arrays(path)
    path.write_bytes(with_directory(file, [entry_of(file)] * MOST_MEMBERS))
    with refused("two members have the same name"):
        load_arrays(path)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [({"size": 2**31}, "a has 1000 bytes but announces 2147483648"), ({"packed": 900}, "a has 900 bytes but")],
)
def test_uncompressed_members_that_lie_about_their_size_are_refused(numbers: dict[str, int], message: str) -> None:
    file = zipped({"a": b"1" * 1000})
    with pytest.raises(ValueError, match=message):
        members_of(with_directory(file, [entry_of(file, **numbers)]))


def test_compressed_members_count_together_whatever_size_they_announce(tmp_path: Path) -> None:
    """A bomb cannot hide as 'not compressed' by announcing the size that it has."""
    bomb = zipped({"a": bytes(2**25)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="it would unpack to"):
        members_of(bomb, 2**24)
    packed = len(bomb) // 2
    hidden = with_directory(bomb, [entry_of(bomb, packed=packed, size=packed)])
    with pytest.raises(ValueError, match="it has compressed members"):
        members_of(hidden, 0)
    path = tmp_path / "hidden.npz"
    path.write_bytes(hidden)
    with refused(r"hidden\.npz is not a readable npz file"):
        load_arrays(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_are_never_written_are_refused(method: int) -> None:
    """LZMA's header may ask for a dictionary of 4 GiB."""
    with pytest.raises(ValueError, match=f"a is compressed with method {method}"):
        members_of(zipped({"a": b"1" * 1000}, method))


def test_an_agent_holds_nothing_compressed_within_its_members_either(tmp_path: Path) -> None:
    """Else a thousand members of 1 MB each could unpack to 1 GiB each."""
    npz = io.BytesIO()
    np.savez_compressed(npz, a=np.zeros(2**25, np.uint8))
    path = tmp_path / "agent.zip"
    path.write_bytes(zipped({"data.json": b'{"format": 2}', "model.npz": npz.getvalue()}))
    with refused("it has compressed members"):
        read_agent(path)
