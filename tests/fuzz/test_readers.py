"""Changed files, given to every reader: what it says is an `InputError` of one sentence that names the file.

The slow test takes `ACER_FUZZ_MINUTES` (10) with the seed `ACER_FUZZ_SEED` (0).
"""

import contextlib
import functools
import os
import tempfile
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acer_tf.storage.arrays
from acer_tf.errors import LONGEST, InputError
from tests.fuzz.guard import bounded
from tests.fuzz.mutations import mutated
from tests.fuzz.readers import READERS, Files

SLOW = {
    "agents", "agents of format 1", "checkpoints, forged", "checkpoints, resumed",
    "imports of Stable Baselines", "imports of baselines",
}  # fmt: skip
"""Readers that build a network."""


@pytest.fixture(autouse=True, scope="module")
def _small_limit() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acer_tf.storage.arrays, "LARGEST_COMPRESSED", 2**20)
        yield


@functools.cache
def valid(name: str) -> Files:
    return READERS[name].files()


def write(folder: Path, files: Files) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def check(name: str, draw: Random) -> None:
    """Reads one changed file."""
    reader = READERS[name]
    path = draw.choice([path for path in valid(name) if path.startswith(reader.fuzzed)])
    content = mutated(valid(name)[path], draw)
    with tempfile.TemporaryDirectory(prefix="case-") as place:
        folder = Path(place)
        write(folder, {**({} if reader.is_alone else valid(name)), path: content})
        reader.seal(folder)
        try:
            with bounded(folder), contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
                reader.read(folder)
        except InputError as error:
            assert_is_a_sentence_about(folder, str(error))
        except BaseException as error:
            kept = Path(os.environ.get("ACER_FUZZ_KEEP", tempfile.gettempdir())) / f"fuzz-{Path(path).name}"
            kept.write_bytes(content)
            raise AssertionError(f"{name}: {path} raises {error!r}; it is kept as {kept}") from error


def assert_is_a_sentence_about(folder: Path, message: str) -> None:
    assert str(folder) in message, message
    assert message.endswith("."), message
    assert len(message) < 1.1 * LONGEST, message


@pytest.mark.parametrize("name", READERS)
def test_valid_files_are_read(name: str, tmp_path: Path) -> None:
    write(tmp_path, valid(name))
    READERS[name].seal(tmp_path)
    with bounded(tmp_path):
        READERS[name].read(tmp_path)


@pytest.mark.parametrize("name", READERS)
def test_changed_files_are_refused_with_one_sentence(name: str) -> None:
    @settings(max_examples=6 if name in SLOW else 40)
    @given(st.randoms(use_true_random=False))
    def check_one(draw: Random) -> None:
        check(name, draw)

    check_one()


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_ten_minutes_of_changed_files() -> None:
    end = time.monotonic() + 60 * float(os.environ.get("ACER_FUZZ_MINUTES", "10"))
    seed, number = os.environ.get("ACER_FUZZ_SEED", "0"), 0
    while time.monotonic() < end:
        for name in READERS:
            for _ in range(1 if name in SLOW else 10):
                number += 1
                try:
                    check(name, Random(f"{seed} {number}"))
                except AssertionError as error:
                    raise AssertionError(f"case {number} of seed {seed}: {error}") from error
