"""Everything that training changes in an agent, as groups of arrays; and parameters by name."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError
from acer_tf.model import Model
from acer_tf.policies.actor import Actor
from acer_tf.storage.agent_file import Arrays
from acer_tf.storage.arrays import check_arrays, finite_array
from acer_tf.system.streams import load_stream_state, stream_state

PREFIXES = {"parameters": "param/", "average": "average/", "optimizer": ""}
"""How the names in each group of a file begin in the model's state."""


def agent_arrays(model: Model, actor: Actor, rng: np.random.RandomState, statistics: Arrays) -> dict[str, Arrays]:
    """Returns the arrays of an agent's file: parameters, average, optimizer, random, and normalization where it is.

    Args:
        model: of the agent.
        actor: has the random stream of predictions.
        rng: the stream of initial weights and replay.
        statistics: of the normalisation.
    """
    groups: dict[str, Arrays] = {name: {} for name in PREFIXES}
    state = model.state_dict()
    random = {"sampling": state.pop("random"), "predictions": actor.generator.state.numpy()}
    random |= {f"replay_{name}": np.asarray(value) for name, value in stream_state(rng).items()}
    for name, array in state.items():
        group = next(group for group, prefix in PREFIXES.items() if name.startswith(prefix))
        groups[group][name.removeprefix(PREFIXES[group])] = array
    return groups | {"random": random} | ({"normalization": statistics} if statistics else {})


def model_state(groups: Mapping[str, Arrays]) -> dict[str, NDArray[Any]]:
    """Returns what `Model.load_state_dict` takes, but for the random stream; the opposite of `agent_arrays`."""
    return {f"{prefix}{name}": array for group, prefix in PREFIXES.items() for name, array in groups[group].items()}


def load_agent_arrays(
    groups: Mapping[str, Arrays],
    model: Model,
    actor: Actor,
    rng: np.random.RandomState,
    *,
    has_optimizer: bool,
    has_random: bool,
    source: str,
) -> None:
    """Puts the arrays of a file into a freshly built agent.

    Args:
        groups: what `agent_arrays` returned.
        model: of the agent.
        actor: likewise.
        rng: likewise.
        has_optimizer: whether the optimiser is the file's; else its slots stay as they are.
        has_random: whether the random streams go on as they were.
        source: name of the file.

    Raises:
        InputError: they are damaged, or of another network.
        KeyError: a group is missing.
    """
    fresh = agent_arrays(model, actor, rng, {})
    kept = {"optimizer": not has_optimizer, "random": not has_random}
    groups = {**groups, **{name: fresh[name] for name, is_kept in kept.items() if is_kept}}
    random = groups["random"]
    check_arrays(source, random, fresh["random"])
    load_stream_state(
        rng,
        {
            "keys": random["replay_keys"],
            "position": int(random["replay_position"]),
            "has_gauss": int(random["replay_has_gauss"]),
            "cached_gaussian": float(random["replay_cached_gaussian"]),
        },
    )
    actor.generator.state.assign(random["predictions"])
    model.load_state_dict(model_state(groups) | {"random": random["sampling"]}, source)


def load_parameters(model: Model, arrays: Mapping[str, Any], averages: Mapping[str, Any], exact_match: bool) -> None:
    """Sets parameters by name; the average policy follows: without one of its own, it is the same as the parameters.

    Args:
        model: of the agent.
        arrays: by name.
        averages: those of the average policy, for all or for none.
        exact_match: whether there must be one for each parameter.

    Raises:
        InputError: an entry is missing, unknown, of another shape or kind, or not finite; nothing has been changed
            then.
    """
    shapes = {name: tuple(variable.shape) for name, variable in model.policy.params.items()}
    missing = [name for name in shapes if name not in arrays]
    if exact_match and missing:
        raise InputError(f"the parameters lack {_some(missing)}; exact_match=False leaves those as they are.")
    if extra := [name for name in arrays if name not in shapes]:
        raise InputError(f"the model has no {_some(extra)}; get_parameters() shows what it has.")
    given = {name: _numbers(name, array, shapes[name]) for name, array in arrays.items()}
    followed = {name: _numbers(name, averages.get(name, array), shapes[name]) for name, array in arrays.items()}
    for name, param, average in zip(shapes, model.params, model.averages, strict=True):
        if name in given:
            param.assign(given[name])
            average.assign(followed[name])


def _numbers(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float32]:
    array = finite_array(f"the parameter {name}", value, np.float32)
    if array.shape != shape:
        raise InputError(f"the parameter {name} has shape {array.shape}; expected {shape}.")
    return array


def _some(names: list[str]) -> str:
    return ", ".join(map(str, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
