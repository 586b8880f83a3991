"""Reads the recorded steps of an expert."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from acer_tf.errors import InputError, install, type_in_words
from acer_tf.storage.arrays import load_arrays, numeric_array


def expert_arrays(dataset: Any) -> dict[str, Any]:
    """Returns `obs` and `actions`, one row per step, and `episode_starts` if known.

    Args:
        dataset: arrays with these names; the path of an npz file of them, as Stable Baselines wrote it; a Minari
            dataset, or its id.
    """
    if isinstance(dataset, Mapping):
        arrays = dict(dataset)
    elif isinstance(dataset, Path) or (isinstance(dataset, str) and dataset.endswith(".npz")):
        arrays = load_arrays(dataset)
    elif isinstance(dataset, str):
        arrays = _of_minari(_minari_dataset(dataset))
    elif hasattr(dataset, "iterate_episodes"):
        arrays = _of_minari(dataset)
    else:
        raise InputError(
            f"the dataset is {type_in_words(dataset)}; expected arrays obs and actions by name, the path of an npz "
            "file, or a Minari dataset or its id."
        )
    for name in ("obs", "actions"):
        if name not in arrays:
            raise InputError(f"the dataset has {', '.join(map(str, arrays)) or 'nothing'}; expected obs and actions.")
        if not isinstance(arrays[name], Mapping | tuple):
            numeric_array(f"the dataset's array {name}", arrays[name])
    return {name: arrays[name] for name in ("obs", "actions", "episode_starts") if name in arrays}


def _minari_dataset(name: str) -> Any:
    try:
        import minari

        return minari.load_dataset(name)
    except ImportError as error:  # of Minari, or of the package that reads its files
        raise InputError(
            f"the dataset '{name}' is an id of Minari, which is not installed ({error}); "
            f"install it with: {install('minari')}, or give arrays."
        ) from error
    except (ValueError, KeyError, OSError) as error:
        raise InputError(
            f"the Minari dataset '{name}' cannot be loaded ({error}); minari list local shows all."
        ) from error


def _of_minari(dataset: Any) -> dict[str, Any]:
    """Joins the episodes; each has one more observation than actions."""
    episodes = list(dataset.iterate_episodes())
    if not episodes:
        raise InputError("the Minari dataset has no episodes.")
    lengths = [len(episode.actions) for episode in episodes]
    parts = [_without_last(episode.observations, length) for episode, length in zip(episodes, lengths, strict=True)]
    starts = np.zeros(sum(lengths), np.bool_)
    starts[np.cumsum([0, *lengths[:-1]])] = True
    return {
        "obs": _joined(parts),
        "actions": np.concatenate([episode.actions for episode in episodes]),
        "episode_starts": starts,
    }


def _without_last(observations: Any, length: int) -> Any:
    if isinstance(observations, Mapping):
        return {name: _without_last(part, length) for name, part in observations.items()}
    if isinstance(observations, tuple):
        return tuple(_without_last(part, length) for part in observations)
    return observations[:length]


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], Mapping):
        return {name: _joined([part[name] for part in parts]) for name in parts[0]}
    if isinstance(parts[0], tuple):
        return tuple(_joined(list(part)) for part in zip(*parts, strict=True))
    return np.concatenate(parts)
