"""What sinks have in common that write one file."""

from collections.abc import Mapping

from acer_tf.logs.append_file import AppendFile
from acer_tf.logs.logger import Sink


class FileSink(Sink):
    """Keeps to one file, `_file`, that grows by whole pieces; a subclass makes and fills it."""

    _file: AppendFile

    def state_dict(self) -> dict[str, int]:
        """See `Sink`."""
        return self._file.state_dict()

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """See `Sink`."""
        self._file.load_state_dict(state)

    def close(self) -> None:
        """Closes the file; may be called again."""
        self._file.close()
