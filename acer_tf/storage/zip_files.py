"""Checks zip files of unknown origin by their directory alone, without unpacking anything."""

import itertools
import zipfile

MOST_MEMBERS = 10_000
LOCAL_HEADER = 30
"""Length in bytes of the header before a member's name and data."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def check_members(archive: zipfile.ZipFile, largest_unpacked: int) -> None:
    """Checks that the members can be read within limits.

    Reading them then takes at most the memory of the file's size plus `largest_unpacked`: no byte of the file belongs
    to two members, uncompressed members announce their true size, and reading stops at the announced size.

    Args:
        archive: the archive, open for reading.
        largest_unpacked: most bytes of all compressed members together; 0 refuses compressed members.

    Raises:
        ValueError: there are more than `MOST_MEMBERS`, two of them have the same name or share bytes, or one is
            compressed with a method that this package never uses, announces a wrong size or is too large.
    """
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise ValueError(f"it has {len(members):,} members, more than {MOST_MEMBERS:,}")
    if len({member.filename for member in members}) < len(members):
        raise ValueError("two members have the same name")
    _check_places(archive, members)
    for member in members:
        if member.compress_type not in METHODS:
            raise ValueError(f"{member.filename} is compressed with method {member.compress_type}")
        if member.compress_type == zipfile.ZIP_STORED and member.file_size != member.compress_size:
            raise ValueError(f"{member.filename} has {member.compress_size} bytes but announces {member.file_size}")
    unpacked = sum(member.file_size for member in members if member.compress_type != zipfile.ZIP_STORED)
    if unpacked > largest_unpacked:
        raise ValueError(
            f"it would unpack to {unpacked / 2**30:.1f} GiB" if largest_unpacked else "it has compressed members"
        )


def _check_places(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> None:
    places = sorted((m.header_offset, m.header_offset + LOCAL_HEADER + m.compress_size, m.filename) for m in members)
    places.append((archive.start_dir, archive.start_dir, "the directory"))
    for (_, stop, name), (start, _, next_name) in itertools.pairwise(places):
        if stop > start:
            raise ValueError(f"{name} and {next_name} overlap")
