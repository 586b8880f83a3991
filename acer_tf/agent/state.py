"""The state of an agent, without its environments."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.agent.settings import Settings
from acer_tf.agent.spaces import Spaces
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.normalize import load_normalization_state, normalization_state
from acer_tf.errors import InputError
from acer_tf.model import Model
from acer_tf.policies.actor import Actor
from acer_tf.policies.make import make_policy
from acer_tf.storage.agent_file import Arrays
from acer_tf.storage.arrays import check_arrays, finite_array
from acer_tf.system.streams import load_stream_state, prediction_seed, stream_state

WEIGHTS = ("param/", "average/")
"""Prefixes of the policy's and the average policy's parameters in `Model.state_dict`; all others are slots."""


class Normalization:
    """Running moments of observations and returns: the environments', or without environments, the last known ones."""

    def __init__(self, arrays: Arrays) -> None:
        """Starts with these moments, which may be empty."""
        self._arrays = arrays
        self._env: FrameStack | None = None

    @property
    def arrays(self) -> Arrays:
        """The moments by name, as `normalization_state` returns them."""
        return self._arrays if self._env is None else normalization_state(self._env)

    def assign(self, arrays: Arrays) -> None:
        """Replaces the moments, also in the environments."""
        self._arrays = arrays
        if self._env is not None:
            fresh = normalization_state(self._env)
            load_normalization_state(self._env, {name: arrays.get(name, array) for name, array in fresh.items()})

    def attach(self, env: FrameStack) -> None:
        """Moves to other environments, and gives them the moments so far."""
        arrays, self._env = self.arrays, env
        self.assign(arrays)


class AgentState:
    """An agent: settings, spaces, model, the actor for predictions, the numpy stream, normalization and counters.

    Attributes:
        settings: the validated arguments of the constructor.
        spaces: the user's and the networks'.
        normalization: running moments of observations and returns.
        num_timesteps: agent steps so far, over all environments.
        n_envs: number of environments in which it last trained.
        rng: numpy's stream, first for initial weights, then for counts and slots of replay; missing before `build`.
    """

    rng: np.random.RandomState

    def __init__(self, settings: Settings, spaces: Spaces, normalization: Arrays | None = None) -> None:
        self.settings = settings
        self.spaces = spaces
        self.normalization = Normalization(normalization or {})
        self.num_timesteps = self.n_envs = 0
        self._built: tuple[Model, Actor] | None = None

    @property
    def seed(self) -> int:
        """Seed of the random streams."""
        assert self.settings.seed is not None
        return self.settings.seed

    def build(self) -> None:
        """Builds the model and the random streams from the seed."""
        settings = self.settings
        _use_threads(settings.n_cpu_tf_sess)
        self.rng = np.random.RandomState(self.seed)
        policy = make_policy(
            settings.policy,
            self.spaces.network_observations,
            self.spaces.network_actions,
            self.rng,
            self.seed,
            settings.continuous,
            settings.config.precision,
            **(settings.policy_kwargs or {}),
        )
        stream = tf.random.Generator.from_seed(prediction_seed(self.seed), alg="philox")
        self._built = Model(policy, settings.config, self.seed), Actor(policy, stream)

    @property
    def model(self) -> Model:
        """Policy, average policy and optimiser; raises InputError before `build`."""
        return self._parts[0]

    @property
    def actor(self) -> Actor:
        """The actor for predictions, with its own random stream; raises InputError before `build`."""
        return self._parts[1]

    @property
    def _parts(self) -> tuple[Model, Actor]:
        if self._built is None:
            raise InputError("the agent has no networks yet; call setup_model() first.")
        return self._built

    def restart_streams(self) -> None:
        """Restarts all random streams from the seed."""
        self.model.reseed(self.seed)
        self.actor.generator.reset_from_seed(prediction_seed(self.seed))
        self.rng.seed(self.seed)

    def arrays(self) -> dict[str, Arrays]:
        """Returns everything that training changes, in groups: model, random, and, if any, normalization."""
        model = self.model.state_dict()
        random = {"sampling": model.pop("random"), "predictions": self.actor.generator.state.numpy()}
        random |= {f"replay_{name}": np.asarray(value) for name, value in stream_state(self.rng).items()}
        moments = self.normalization.arrays
        return {"model": model, "random": random} | ({"normalization": moments} if moments else {})

    def load_arrays(self, groups: Mapping[str, Arrays], source: str, *, has_optimizer: bool, has_random: bool) -> None:
        """Loads the result of `arrays` into a freshly built agent, with or without the optimiser's slots and streams.

        Raises:
            InputError: the arrays are damaged, or of another network.
            KeyError: a group is missing.
        """
        fresh, model = self.arrays(), groups["model"]
        random = groups["random"] if has_random else fresh["random"]
        check_arrays(source, random, fresh["random"])
        if not has_optimizer:
            slots = {name: array for name, array in fresh["model"].items() if not name.startswith(WEIGHTS)}
            model = {name: array for name, array in model.items() if name.startswith(WEIGHTS)} | slots
        stream = {name: random[f"replay_{name}"] for name in stream_state(self.rng)}
        load_stream_state(self.rng, {name: array if array.ndim else array.item() for name, array in stream.items()})
        self.actor.generator.state.assign(random["predictions"])
        self.model.load_state_dict(model | {"random": random["sampling"]}, source)

    def parameters(self) -> dict[str, tf.Variable]:
        """Returns the policy's variables by name."""
        return dict(zip(self.model.policy.params, self.model.params, strict=True))

    def load_parameters(
        self, arrays: Mapping[str, Any], averages: Mapping[str, Any] | None = None, *, exact_match: bool = True
    ) -> None:
        """Sets parameters by name; the average policy follows.

        Args:
            arrays: arrays by name.
            averages: parameters of the average policy, where they differ.
            exact_match: whether every parameter must have an array.

        Raises:
            InputError: see `ACER.load_parameters`; nothing has been changed.
        """
        variables, averages = self.parameters(), averages or {}
        missing = [name for name in variables if name not in arrays]
        if exact_match and missing:
            raise InputError(f"the parameters lack {_some(missing)}; exact_match=False leaves these unchanged.")
        if not arrays:
            raise InputError(f"no parameters are given; the model has {_some(list(variables))}.")
        if extra := [name for name in arrays if name not in variables]:
            raise InputError(f"the model has no {_some(extra)}; get_parameters() shows what it has.")
        shapes = {name: tuple(variable.shape) for name, variable in variables.items()}
        given = {name: _numbers(name, array, shapes[name]) for name, array in arrays.items()}
        followed = {name: _numbers(name, averages.get(name, array), shapes[name]) for name, array in arrays.items()}
        for (name, param), average in zip(variables.items(), self.model.averages, strict=True):
            if name in given:
                param.assign(given[name])
                average.assign(followed[name])


def _use_threads(threads: int | None) -> None:
    """Sets TensorFlow's threads within and between operations, or warns if it has started; None does nothing."""
    if threads is None:
        return
    threading = tf.config.threading
    try:
        threading.set_intra_op_parallelism_threads(threads)
        threading.set_inter_op_parallelism_threads(threads)
    except RuntimeError:
        in_use = threading.get_intra_op_parallelism_threads() or "all"
        if in_use != threads:
            warnings.warn(f"TensorFlow has started with {in_use} threads; it is too late for {threads}", stacklevel=5)


def _numbers(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float32]:
    array = finite_array(f"the parameter {name}", value, np.float32)
    if array.shape != shape:
        raise InputError(f"the parameter {name} has shape {array.shape}; expected {shape}.")
    return array


def _some(names: list[str]) -> str:
    return ", ".join(map(str, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
