import lzma
import zipfile
import zlib
from pathlib import Path

import pytest

from acer_tf.errors import EnvironmentFailedError, InputError, SupersededError
from acer_tf.storage.input_errors import as_input_error


@pytest.mark.parametrize(
    "error",
    [
        *(AttributeError, EOFError, IndexError, MemoryError, NotImplementedError, OverflowError, RecursionError),
        *(UnicodeError, lzma.LZMAError, zipfile.BadZipFile, zlib.error),
    ],
)
def test_whatever_a_file_makes_python_raise_is_told_of_the_file(tmp_path: Path, error: type[Exception]) -> None:
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(InputError, match=r"file does not hold an agent \(so\)\.$"),
        as_input_error(tmp_path / "file", "an agent"),
    ):
        raise error("so")


@pytest.mark.parametrize("error", [EnvironmentFailedError, SupersededError])
def test_an_error_of_the_run_is_not_the_files(tmp_path: Path, error: type[Exception]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(error), as_input_error(tmp_path / "file", "an agent"):
        raise error("so")
