import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.nodes import Nodes, nodes


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Nodes, Path]]:
    with tempfile.TemporaryDirectory(prefix="acer-", ignore_cleanup_errors=True) as folder:
        with nodes(Path(folder)) as started:
            yield started, Path(folder)
