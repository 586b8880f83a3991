"""The trunk below the heads: torsos and recurrent cores of policy and critic, shared or separate."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import keras
import numpy as np
import tensorflow as tf

from acer_tf.config import Config
from acer_tf.errors import InputError
from acer_tf.networks import lstm, sb_policies, torsos  # noqa: F401  (register the networks that ship)
from acer_tf.networks.registry import Network, NetworkFn, Recurrent, Split, check_pixels, network_fn
from acer_tf.packing import Packed
from acer_tf.system.console import say

LONGEST_REASON = 300
"""Characters quoted from Keras' message about a network that cannot be built."""


class Latents(NamedTuple):
    """The trunk's outputs for N x T observations.

    Attributes:
        policy: [N, T, F] float32, features for the policy.
        critic: [N, T, F'] float32, features for the critic; the same tensor where the critic shares the network.
        state: [N, P] float32, the state after the last step.
    """

    policy: tf.Tensor
    critic: tf.Tensor
    state: tf.Tensor


class Stateless(keras.layers.Layer):
    """The recurrent core of a feed-forward network: the identity, with an empty state."""

    state_size = 0

    def call(self, features: tf.Tensor, masks: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns features [N, T, F] and state [N, 0] unchanged."""
        return features, state


class Branch:
    """One network: a torso applied to all N x T observations at once, then a recurrent core through time.

    The core computes in float32 whatever the torso's precision, since its state would carry every rounding error on.

    Attributes:
        name: scope of its parameters.
        parts: torso and recurrent core.
        state_size: numbers in the state of one environment, P.
        nfeatures: width of its features, F.
    """

    def __init__(
        self, name: str, network: NetworkFn | Recurrent, observation_space: gym.spaces.Box, precision: str
    ) -> None:
        """Builds the network.

        Args:
            name: scope of its parameters.
            network: a torso, or a torso and a recurrent core.
            observation_space: space of one observation.
            precision: precision of the torso.
        """
        self.name = name
        torso, make_core = network if isinstance(network, Recurrent) else (network, Stateless)
        self._packed = observation_space if isinstance(observation_space, Packed) else None
        spaces = self._packed.parts if self._packed is not None else observation_space
        inputs = tf.nest.map_structure(lambda space: keras.Input(space.shape, dtype=str(space.dtype)), spaces)
        with computing_in(precision):
            outputs = torso(inputs)
        # A float32 layer: Keras casts its inputs.
        self._torso = keras.Model(
            tf.nest.flatten(inputs), keras.layers.Flatten(dtype="float32")(outputs), name=self.name
        )
        self._core = make_core()
        self.parts = [self._torso, self._core]
        self.state_size = int(self._core.state_size)
        obs = tf.zeros([1, 1, *observation_space.shape], str(observation_space.dtype))
        features, _ = self(obs, tf.zeros([1, 1], tf.bool), tf.zeros([1, self.state_size]))  # builds the core
        self.nfeatures = int(features.shape[-1])

    def __call__(self, obs: tf.Tensor, masks: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns features [N, T, F] and the state after the last step, [N, P]; arguments as for `Trunk`."""
        rows = tf.nest.map_structure(lambda part: tf.reshape(part, [-1, *part.shape[2:]]), obs)
        if self._packed is not None and not isinstance(rows, dict):
            rows = unpacked(rows, self._packed)
        nsteps = masks.shape[1]
        features = self._torso(tf.nest.flatten(rows))
        features, state = self._core(tf.reshape(features, [-1, nsteps, features.shape[-1]]), masks, state)
        return features, state


class Trunk:
    """Everything below the heads: the networks of policy and critic, and the state they carry.

    Attributes:
        branches: the policy's network and, if it is separate, the critic's.
        ends: the separate last layers, as one Keras model, if only the first layers are shared; otherwise None.
        widths: widths of the features for the policy and for the critic.
        state_size: numbers in the state of one environment, P; those of the policy's network come first.
    """

    def __init__(
        self,
        network: str | Network,
        observation_space: gym.spaces.Box,
        rng: np.random.RandomState,
        precision: str = Config.precision,
        /,
        value_network: str | Network | None = None,
        **network_kwargs: Any,
    ) -> None:
        """Builds the networks; initial weights are drawn from `rng`, those of the policy's network first.

        Args:
            network: name of a network, or a `registry.Network`.
            observation_space: space of one observation.
            rng: generator of the initial weights.
            precision: precision of the layers, "float32" or "bfloat16"; parameters and features are float32.
            value_network: the critic's network: None or "shared" for the policy's; "copy" for a separate network built
                the same way, with its own state; or another network.
            **network_kwargs: arguments of the named network.

        Raises:
            InputError: the network or one of its arguments does not exist, or does not suit the observations.
        """
        own = network_fn(network, rng, network_kwargs)
        check_pixels(network, observation_space)
        is_shared = value_network is None or value_network == "shared"
        if isinstance(own, Split) and not is_shared:
            raise InputError(f"value_network is {value_network!r}, but the network itself decides what is shared.")
        self.ends: keras.Model | None = None
        with _naming_observations(network, observation_space):
            if isinstance(own, Split):
                self.branches = [Branch("shared", own.body, observation_space, precision)]
                inputs = keras.Input((self.branches[0].nfeatures,))
                with computing_in(precision):
                    outputs = own.ends(inputs)
                self.ends = keras.Model(inputs, outputs, name="ends")
                self.widths = [int(output.shape[-1]) for output in outputs]
            else:
                self.branches = [Branch("pi", own, observation_space, precision)]
                if not is_shared:
                    critic = _value_network(value_network, own)
                    self.branches.append(Branch("vf", critic, observation_space, precision))
                self.widths = [self.branches[0].nfeatures, self.branches[-1].nfeatures]
        self.state_size = sum(branch.state_size for branch in self.branches)

    def __call__(self, obs: tf.Tensor, masks: tf.Tensor, state: tf.Tensor) -> Latents:
        """Computes the features of T steps of N environments.

        Args:
            obs: [N, T, *observation], in the space's dtype; packed observations may also be given as parts by name.
            masks: [N, T] bool, True where an episode ended before the step, so the state is reset to zero.
            state: [N, P] float32, before the first step.
        """
        states = tf.split(state, [branch.state_size for branch in self.branches], axis=1)
        features, states = zip(*(b(obs, masks, s) for b, s in zip(self.branches, states, strict=True)), strict=True)
        policy, critic = features[0], features[-1]
        if self.ends is not None:
            nsteps, width = policy.shape[1:]
            ends = [tf.cast(x, tf.float32) for x in self.ends(tf.reshape(policy, [-1, width]))]
            policy, critic = (tf.reshape(x, [-1, nsteps, x.shape[-1]]) for x in ends)
        return Latents(policy, critic, tf.concat(states, axis=1))


def unpacked(packed: tf.Tensor, space: Packed) -> dict[str, tf.Tensor]:
    """Restores the parts of packed observations, [B, bytes]: images [B, H, W, C] uint8, vectors [B, F] float32."""
    parts, stop = {}, 0
    for name, part in space.parts.items():
        start, stop = stop, stop + part.low.nbytes
        entries = packed[:, start:stop]
        if name not in space.images:
            entries = tf.bitcast(tf.reshape(entries, [-1, *part.shape, part.dtype.itemsize]), tf.float32)
        parts[name] = tf.reshape(entries, [-1, *part.shape])
    return parts


@contextlib.contextmanager
def _naming_observations(network: object, space: gym.spaces.Box) -> Iterator[None]:
    """Turns errors of Keras and TensorFlow about a network into one sentence that names the observations."""
    try:
        yield
    except InputError:
        raise
    except (TypeError, ValueError, tf.errors.OpError) as error:
        name = f"network '{network}'" if isinstance(network, str) else "the network"
        parts = space.parts.items() if isinstance(space, Packed) else [("observations", space)]
        observations = ", ".join(f"{part} of shape {box.shape} and type {box.dtype}" for part, box in parts)
        reason = " ".join(str(error).split())[:LONGEST_REASON].rstrip(".")
        if "output size would be" in reason:
            reason = "the images are too small for its convolutions; choose smaller ones, such as cnn_minatar"
        raise InputError(f"{name} cannot be built for {observations}: {reason}.") from error


@contextlib.contextmanager
def computing_in(precision: str) -> Iterator[None]:
    """Makes layers created in the block compute in a precision, with float32 parameters, whatever Keras is set to."""
    before = keras.config.floatx(), keras.config.image_data_format(), keras.config.dtype_policy()
    _configure_keras("float32", "channels_last", "mixed_bfloat16" if precision == "bfloat16" else precision)
    try:
        yield
    finally:
        _configure_keras(*before)


def _configure_keras(floatx: str, image_data_format: str, dtype_policy: Any) -> None:
    keras.config.set_floatx(floatx)
    keras.config.set_image_data_format(image_data_format)
    keras.config.set_dtype_policy(dtype_policy)


def _value_network(value_network: object, own: NetworkFn | Recurrent) -> NetworkFn | Recurrent:
    if callable(value_network) or isinstance(value_network, Recurrent):
        return value_network
    if value_network == "copy":
        return own
    raise InputError(f"value_network is {value_network!r}; expected 'shared', 'copy', None or a function.")


def named_parameters(trunk: Trunk, heads: Sequence[keras.layers.Layer]) -> dict[str, keras.Variable]:
    """Returns all trainable variables by name, in baselines' order: policy's network, critic's network, heads.

    Raises:
        InputError: a variable occurs twice, or two have the same name.
    """
    # Each branch is a separate scope: both may have layers of the same names.
    scopes = [(f"{branch.name}/", branch.parts) for branch in trunk.branches]
    scopes += [("", [trunk.ends])] if trunk.ends is not None else []
    scopes += [("", [head]) for head in heads]
    params: dict[str, keras.Variable] = {}
    for scope, parts in scopes:
        variables = [variable for part in parts for variable in part.trainable_variables]
        if fixed := [variable.path for part in parts for variable in part.non_trainable_variables]:
            say(
                f"{fixed[0]} is not trained, so no file, copy or collector has it: the function that makes the network "
                "must give it the same value each time",
                is_error=True,
            )
        names = _renumbered([variable.path for variable in variables])
        for name, variable in zip(names, variables, strict=True):
            _check_own(scope + name, variable, params)
            params[scope + name] = variable
    return params


def _check_own(name: str, variable: keras.Variable, params: Mapping[str, keras.Variable]) -> None:
    """Checks that a weight and its name are unique: otherwise it would be trained twice, or not at all."""
    if any(variable is other for other in params.values()):
        raise InputError(
            f"the network shares {name} between policy and critic; make its layers inside the function, so that "
            "each call has its own, or choose another value_network."
        )
    if name in params:
        raise InputError(f"two weights of the network are named {name}; give its layers other names.")


def _renumbered(paths: list[str]) -> Iterator[str]:
    """Renumbers automatically named layers: `dense_7/bias` becomes `dense/bias` if it is the first in its network.

    Keras counts layers across the process; the names of saved weights must not depend on what was built before.
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
