"""The recordings among the fixtures, and altered copies of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from acer_tf.recordings.compare import compare
from acer_tf.recordings.comparison import Case
from acer_tf.recordings.recorded import read

GOLDEN = Path(__file__).parent.parent / "golden"

Arrays = dict[str, Any]


def compared(name: str) -> Case:
    return compare(read(GOLDEN / f"{name}.npz"))


def failures(case: Case) -> set[str]:
    return {quantity.name for quantity in case.quantities if not quantity.passed}


def altered(folder: Path, name: str, change: Callable[[Arrays, dict[str, Any]], None]) -> Path:
    """Writes a copy under another name after `change(arrays, config)` has been at it."""
    with np.load(GOLDEN / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    config = json.loads(str(arrays["config"]))
    change(arrays, config)
    path = folder / "another-name.npz"
    np.savez(path, **(arrays | {"config": np.array(json.dumps(config))}))
    return path
