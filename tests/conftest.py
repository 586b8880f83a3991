import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.distributed.nodes import Nodes, nodes

# Before any test imports TensorFlow: the kernels that the recorded tolerances were found with.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# A shell has Ctrl-C ignored in what it starts in the background, and the processes of the tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Every run of the tests tries the same examples: what fails, fails again.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Nodes, Path]]:
    with tempfile.TemporaryDirectory(prefix="acer-", ignore_cleanup_errors=True) as folder:
        with nodes(Path(folder)) as started:
            yield started, Path(folder)
