"""Archives by hand, to be changed."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path


def members(path: Path) -> dict[str, bytes]:
    """The content of each member by its name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(content: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of these members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return file.getvalue()


def write_members(path: Path, content: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> None:
    """Writes an archive of these members."""
    path.write_bytes(zipped(content, method))
