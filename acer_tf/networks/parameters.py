"""Names under which a network's parameters are saved."""

import re
from collections.abc import Iterator, Sequence

import keras

from acer_tf.networks.trunk import Trunk


def named_parameters(trunk: Trunk, heads: Sequence[keras.layers.Layer]) -> dict[str, keras.Variable]:
    """Returns all trainable variables by name, in baselines' order: policy's network, critic's network, heads."""
    # Each branch is a scope of its own: both may have layers of the same names.
    scopes = [(f"{branch.name}/", branch.parts) for branch in trunk.branches]
    scopes += [("", trunk.ends.parts)] if trunk.ends is not None else []
    scopes += [("", [head]) for head in heads]
    params: dict[str, keras.Variable] = {}
    for scope, parts in scopes:
        variables = [variable for part in parts for variable in part.trainable_variables]
        names = _renumbered([variable.path for variable in variables])
        params |= {scope + name: variable for name, variable in zip(names, variables, strict=True)}
    return params


def _renumbered(paths: list[str]) -> Iterator[str]:
    """Renumbers automatically named layers: `dense_7/bias` becomes `dense/bias` if it is its network's first.

    Keras counts layers over the whole process; the names of saved weights must not depend on what was built before.
    """
    siblings: dict[str, list[str]] = {}
    for path in paths:
        name = parent = ""
        for layer in path.split("/"):
            stem = re.sub(r"_\d+$", "", layer)
            alike = siblings.setdefault(f"{parent}/{stem}", [])
            if layer not in alike:
                alike.append(layer)
            number = alike.index(layer)
            name += f"/{stem}_{number}" if number else f"/{stem}"
            parent += f"/{layer}"
        yield name.removeprefix("/")
