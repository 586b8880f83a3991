"""Builds a model in the state of a recorded baselines model; parameters are matched by their order."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.config import Config
from acer_tf.errors import InputError
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.recordings.comparison import ARRAY, SCALAR, Measure, Quantity, UnsupportedError
from acer_tf.recordings.recorded import Recorded
from acer_tf.segment import Segment


def config(recorded: Recorded) -> Config:
    """Returns the recorded hyper-parameters, with defaults for those that were not recorded."""
    return Config(**recorded.settings(field.name for field in dataclasses.fields(Config)))


def policy(recorded: Recorded, rng: np.random.RandomState) -> CategoricalPolicy:
    """Builds the recorded network with weights drawn from `rng`.

    Raises:
        UnsupportedError: this package has no such network.
    """
    # The bounds are not recorded; only image networks look at them.
    space = gym.spaces.Box(0, 255, tuple(recorded.setting("obs_shape")), np.dtype(recorded.setting("obs_dtype")).type)
    actions = gym.spaces.Discrete(recorded.setting("nact"))
    # In baselines, one_dim_bias decides whether biases of convolutions have axes of length 1; ours never do.
    arguments = {name: value for name, value in recorded.setting("network_kwargs").items() if name != "one_dim_bias"}
    try:
        return CategoricalPolicy(recorded.setting("network"), space, actions, rng, **arguments)
    except InputError as error:
        raise UnsupportedError(str(error)) from error


def misfits(recorded: Recorded, variables: Sequence[tf.Variable]) -> list[Quantity]:
    """Returns a failed quantity if the number or the shapes of the parameters differ, apart from axes of length 1."""
    ours = [_core(variable.shape) for variable in variables]
    theirs = [_core(recorded[f"param/{name}"].shape) for name in recorded.setting("params")]
    return [] if ours == theirs else [Quantity("shapes of parameters", math.inf, 0.0)]


def load(recorded: Recorded, group: str, variables: Sequence[tf.Variable]) -> None:
    """Assigns the arrays of a recorded group to variables."""
    for name, variable in zip(recorded.setting("params"), variables, strict=True):
        variable.assign(recorded[f"{group}/{name}"].reshape(variable.shape))


def segment(recorded: Recorded, call: int) -> Segment:
    """Returns the batch of an update; frames are not stacked, so each observation is a single frame."""
    nenvs, nsteps = recorded.setting("nenvs"), recorded.setting("nsteps")

    def rows(name: str, steps: int) -> NDArray[Any]:
        array: NDArray[Any] = recorded[f"batch/{name}"][call]
        return array.reshape(nenvs, steps, *array.shape[1:])

    obs = rows("obs", nsteps + 1)
    states = recorded["batch/states"] if "batch/states" in recorded else np.zeros((nenvs, 0))
    return Segment(
        enc_obs=obs,
        obs=obs,
        actions=rows("actions", nsteps),
        rewards=rows("rewards", nsteps),
        mus=rows("mus", nsteps),
        dones=rows("dones", nsteps),
        masks=rows("masks", nsteps + 1),
        states=states.astype(np.float32),
        final_values=np.zeros((nenvs, nsteps), np.float32),
    )


def per_parameter(recorded: Recorded, group: str, ours: Iterable[Any], measure: Measure = ARRAY) -> Iterator[Quantity]:
    """Compares an array per parameter; an array that is missing on one side counts as zeros.

    Args:
        recorded: the recording; if it lacks the group, nothing is compared.
        group: name of the group.
        ours: variables or arrays, in the order of the parameters; None where there is none.
        measure: the error measure.
    """
    if not recorded.has_parameters(group):
        return
    for name, value in zip(recorded.setting("params"), ours, strict=True):
        array = np.zeros(recorded[f"param/{name}"].shape) if value is None else np.asarray(value)
        pairs = recorded.matches(group, name, array) or [(array, np.zeros(array.shape))]
        yield max((measure(f"{group}/{name}", *pair) for pair in pairs), key=lambda quantity: quantity.error)


def metrics(recorded: Recorded, reports: Sequence[Mapping[str, float]]) -> Iterator[Quantity]:
    """Compares the metrics of each update with the recorded log."""
    for name, column in zip(map(str, recorded["log_names"]), recorded["log"].T, strict=True):
        yield SCALAR(f"log/{name}", [report.get(name, np.nan) for report in reports], column)


def _core(shape: Sequence[int]) -> list[int]:
    return [length for length in shape if length != 1]
