"""Layers of Stable Baselines under this package's names, as documented."""

import itertools
import re
from pathlib import Path

import numpy as np

from acer_tf.importers.layers import network

PAGE = Path(__file__).parents[2] / "docs" / "from-stable-baselines.md"
ROW = re.compile(r"^\| .* \| `model/([\w/]+):0`.* \| `([\w/]+)`.* \|$", flags=re.MULTILINE)
POLICIES = {
    "MlpLnLstmPolicy": ("shared_fc0", "lstm1", "shared_fc2", "pi_fc0", "vf_fc0"),
    "MlpLstmPolicy": ("pi_fc0", "lstm1"),
    "CnnPolicy": ("c1", "c2", "c3", "fc1"),
}
LSTM = ("wx", "wh", "b")
KINDS = {"MlpLnLstmPolicy": (*LSTM, "gx", "bx", "gh", "bh", "gc", "bc"), "MlpLstmPolicy": LSTM}


def renamed(policy: str) -> set[tuple[str, str]]:
    """Names of parameters in Stable Baselines and here; each array holds a number of its own, which shows its way."""
    numbers = itertools.count(1)
    old = {
        layer: {kind: np.full((2, 2), next(numbers), np.float32) for kind in kinds}
        for layer in (*POLICIES[policy], "vf", "pi", "q")
        for kinds in [KINDS[policy] if layer == "lstm1" else ("w", "b")]
    }
    found, _, new = network(old)
    assert found == policy
    names = {float(array.flat[0]): name for name, array in new.items()}
    return {
        (f"{layer}/{kind}", names.get(float(array.flat[0]), ""))
        for layer, arrays in old.items()
        for kind, array in arrays.items()
    }


def test_the_table_of_names_is_what_is_imported() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) == 10
    assert set(rows) <= set().union(*map(renamed, POLICIES))
