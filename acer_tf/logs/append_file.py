"""A file that grows by whole pieces."""

import io
import os
from collections.abc import Mapping
from pathlib import Path

from acer_tf.system.console import say


class AppendFile:
    """A file, created by its first `append_bytes`.

    Pieces reach it whole and at once: an interrupt tears none. What a full disk does not take waits for the next call.
    """

    def __init__(self, path: Path, head: bytes = b"") -> None:
        """`head` comes before the first piece."""
        self._path = path
        self._head = head
        self._file: io.FileIO | None = None
        self._is_begun = self._is_waiting = False
        self._unwritten = b""

    def append_bytes(self, piece: bytes) -> None:
        """Writes a piece; if that fails, says so.

        Raises:
            FileExistsError: at the first call, the file is there already; pieces of two runs never mix.
        """
        self._unwritten += (b"" if self._is_begun else self._head) + piece
        self._is_begun = True
        self._try_to_write()

    def flush(self) -> None:
        """Waits until all pieces are on the disk.

        Raises:
            OSError: the disk is full or cannot be written.
        """
        if self._is_begun:
            os.fsync(self._written().fileno())

    def state_dict(self) -> dict[str, int]:
        """Returns the bytes of all pieces so far, under the file's name; they are on the disk then.

        Raises:
            OSError: as `flush`.
        """
        self.flush()
        return {self._path.name: 0 if self._file is None else self._file.tell()}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Of a file of lines, drops what was written after `state_dict`, and a line that was cut; and goes on there."""
        if not state.get(self._path.name) or not self._path.exists():
            self._path.unlink(missing_ok=True)
            return
        data = self._path.read_bytes()[: state[self._path.name]]
        self._file, self._is_begun = io.FileIO(self._path, "r+"), True
        self._file.truncate(data.rfind(b"\n") + 1)
        self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Closes the file; may be called again."""
        if self._file is not None and not self._file.closed:
            self._try_to_write()
            self._file.close()

    def _try_to_write(self) -> None:
        try:
            self._written()
        except FileExistsError:
            raise
        except OSError as error:
            if not self._is_waiting:
                say(f"{self._path} cannot be written ({error.strerror}); its rows wait.", is_error=True)
            self._is_waiting = True
        else:
            self._is_waiting = False

    def _written(self) -> io.FileIO:
        """Returns the file after everything has been written to it."""
        if self._file is None:
            self._file = io.FileIO(self._path, "x")
        while self._unwritten:
            self._unwritten = self._unwritten[self._file.write(self._unwritten) :]
        return self._file
