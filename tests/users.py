"""Who a test is for the operating system."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

NOBODY = 65534


@contextlib.contextmanager
def closed_folder(mode: int) -> Iterator[Path]:
    """A folder of this mode, for a user whom permissions bind, which they do not where tests run as the superuser."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as parent:  # pytest's are for their owner alone
        Path(parent).chmod(0o755)
        folder = Path(parent, "closed")
        folder.mkdir()
        folder.chmod(mode)
        if user == 0:
            os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield folder
        finally:
            if user == 0:
                os.setresuid(0, 0, 0)
            folder.chmod(0o700)
