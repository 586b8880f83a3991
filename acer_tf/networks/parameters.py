"""Names of a network's parameters, under which they are saved."""

import re
from collections.abc import Iterator, Sequence

import keras

from acer_tf.networks.trunk import Trunk


def named_parameters(trunk: Trunk, heads: Sequence[keras.layers.Layer]) -> dict[str, keras.Variable]:
    """Returns all trainable variables by name, in baselines' order: policy's network, critic's network, heads."""
    scopes = [(f"{branch.name}/", branch.parts) for branch in trunk.branches]  # both may have layers of the same names
    scopes += [("", trunk.ends.parts)] if trunk.ends is not None else []
    scopes += [("", [head]) for head in heads]
    params: dict[str, keras.Variable] = {}
    for scope, parts in scopes:
        variables = [variable for part in parts for variable in part.trainable_variables]
        names = _numbered_anew([variable.path for variable in variables])
        params |= {scope + name: variable for name, variable in zip(names, variables, strict=True)}
    return params


def _numbered_anew(paths: list[str]) -> Iterator[str]:
    """Numbers layers that Keras named from the start: `dense_7/bias` is the first `dense/bias` of its network.

    Keras counts them through the whole process; the names of saved weights must not depend on what was built before.
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
