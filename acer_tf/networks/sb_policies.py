"""The networks of Stable Baselines 2's policies (`common/policies.py`), partly shared by policy and critic."""

import itertools
from collections.abc import Callable, Sequence
from functools import partial

import keras
import numpy as np
from keras import KerasTensor

from acer_tf.errors import InputError
from acer_tf.networks.layers import SQRT2, Activation, activation, fc, flat, joined
from acer_tf.networks.lstm import LSTM, LayerNormLSTM
from acer_tf.networks.names import Widths
from acer_tf.networks.registry import NetworkFn, Observations, Recurrent, Split, network_fn, register
from acer_tf.schema import Count, to_python

LSTM_PLACE = "lstm"
NetArch = Sequence[int | str | dict[str, Sequence[int]]]


def feed_forward_policy(
    rng: np.random.RandomState,
    net_arch: NetArch | None = None,
    act_fun: Activation = "tanh",
    layers: Widths | None = None,
    feature_extraction: str = "mlp",
    cnn_extractor: str | NetworkFn = "cnn",
) -> Split:
    """The networks of MlpPolicy (two separate networks, of 64 and 64 tanh units) and CnnPolicy (Nature DQN's, shared).

    MultiInputPolicy, from Stable-Baselines3, has both: Nature DQN's for images, if any, then the separate networks.

    Args:
        rng: generator of the initial weights.
        net_arch: widths of the shared layers, then, last, `dict(pi=[...], vf=[...])` for the separate layers. After a
            CNN there are none by default.
        act_fun: activation of those layers, a Keras name or a function.
        layers: widths of the layers of both, if there is no `net_arch`; none after a CNN alone.
        feature_extraction: torso before these layers: "mlp" (none), "cnn" for images, or "multi_input" for images,
            alone or in a Dict, and none for anything else.
        cnn_extractor: torso for images: a name, or a function of float32 images divided by 255.

    Raises:
        InputError: an argument is of the wrong type.
    """
    if net_arch is None:
        own = [64, 64] if layers is None else list(layers)
        net_arch = [{"pi": own, "vf": own}] if feature_extraction != "cnn" else []
    shared, ends = _parsed(net_arch)
    if LSTM_PLACE in shared:
        raise InputError(
            "net_arch has an 'lstm', but the policy is not recurrent; choose MlpLstmPolicy or CnnLstmPolicy."
        )
    torso = _torso(rng, feature_extraction, cnn_extractor)
    return Split(
        lambda inputs: _mlp(torso(inputs), "shared_fc", _widths(shared), act_fun, rng), _ends(rng, ends, act_fun)
    )


def recurrent_policy(
    rng: np.random.RandomState,
    net_arch: NetArch | None = None,
    act_fun: Activation = "tanh",
    layers: Widths | None = None,
    n_lstm: Count = 256,
    layer_norm: bool = False,
    feature_extraction: str = "mlp",
    cnn_extractor: str | NetworkFn = "cnn",
) -> Split:
    """The networks of MlpLstmPolicy and CnnLstmPolicy: layers or Nature DQN's torso, then an LSTM, all shared.

    Args:
        rng: generator of the initial weights.
        net_arch: as in `feed_forward_policy`, with "lstm" in its place among the shared layers: `[64, "lstm"]`.
        act_fun: activation of the layers.
        layers: widths of the layers before the LSTM, if there is no `net_arch`; none after a CNN or multi_input.
        n_lstm: units of the LSTM.
        layer_norm: whether the LSTM has layer normalisation.
        feature_extraction: as in `feed_forward_policy`.
        cnn_extractor: as in `feed_forward_policy`.

    Raises:
        InputError: an argument is of the wrong type.
    """
    if net_arch is None:
        widths = [64, 64] if layers is None else layers
        net_arch = [*(widths if feature_extraction == "mlp" else ()), LSTM_PLACE]
    shared, ends = _parsed(net_arch)
    if shared.count(LSTM_PLACE) != 1:
        raise InputError(f"net_arch {list(net_arch)} has no single 'lstm'; expected one, such as [64, 'lstm'].")
    place = shared.index(LSTM_PLACE)
    before, after = _widths(shared[:place]), _widths(shared[place + 1 :])
    torso = _torso(rng, feature_extraction, cnn_extractor)
    body = Recurrent(
        lambda inputs: _mlp(torso(inputs), "shared_fc", before, act_fun, rng),
        lambda: (LayerNormLSTM if layer_norm else LSTM)(n_lstm, rng),
    )
    return Split(body, _ends(rng, ends, act_fun, after))


register("MlpPolicy")(feed_forward_policy)
register("CnnPolicy", sees_pixels=True)(partial(feed_forward_policy, feature_extraction="cnn"))
register("MultiInputPolicy")(partial(feed_forward_policy, feature_extraction="multi_input"))
register("MlpLstmPolicy")(recurrent_policy)
register("MlpLnLstmPolicy")(partial(recurrent_policy, layer_norm=True))
register("CnnLstmPolicy", sees_pixels=True)(partial(recurrent_policy, feature_extraction="cnn"))
register("CnnLnLstmPolicy", sees_pixels=True)(partial(recurrent_policy, feature_extraction="cnn", layer_norm=True))
register("MultiInputLstmPolicy")(partial(recurrent_policy, feature_extraction="multi_input"))


def _parsed(net_arch: NetArch) -> tuple[list[int | str], dict[str, Sequence[int]]]:
    """Splits `net_arch` into the widths of the shared layers, with "lstm", and those of policy and critic."""
    net_arch = to_python(net_arch)
    if not isinstance(net_arch, list | tuple):
        raise InputError(f"net_arch is {net_arch!r}; expected a list such as [64, dict(pi=[32], vf=[32])].")
    *shared, last = [*net_arch, {}] if not net_arch or not isinstance(net_arch[-1], dict) else net_arch
    ends = {"pi": [], "vf": []} | last
    are_lists = all(isinstance(own, list | tuple) for own in ends.values())
    own = [*itertools.chain(*ends.values())] if are_lists else []
    widths = [*(width for width in shared if width != LSTM_PLACE), *own]
    if not are_lists or len(ends) > 2 or not all(isinstance(width, int) and width >= 1 for width in widths):
        raise InputError(f"net_arch is {net_arch!r}; expected a list such as [64, dict(pi=[32], vf=[32])].")
    return shared, ends


def _widths(shared: Sequence[int | str]) -> list[int]:
    """Returns the widths of shared layers, without the LSTM's place."""
    return [width for width in shared if isinstance(width, int)]


def _torso(rng: np.random.RandomState, feature_extraction: str, cnn_extractor: str | NetworkFn) -> NetworkFn:
    if feature_extraction == "mlp":
        return flat
    if feature_extraction not in ("cnn", "multi_input"):
        raise InputError(f"feature_extraction is {feature_extraction!r}; expected 'mlp', 'cnn' or 'multi_input'.")
    extractor = network_fn(cnn_extractor, rng, {})
    if isinstance(extractor, Recurrent | Split):
        raise InputError(f"cnn_extractor is {cnn_extractor!r}; expected a feed-forward network such as cnn.")

    def torso(inputs: Observations) -> KerasTensor:
        is_image = isinstance(inputs, dict) or (len(inputs.shape) == 4 and inputs.dtype == "uint8")
        if feature_extraction == "multi_input" and not is_image:
            return flat(inputs)
        if isinstance(cnn_extractor, str):
            return keras.layers.Flatten()(extractor(inputs))
        return joined(lambda image: extractor(keras.ops.cast(image, "float32") / 255.0), inputs)

    return torso


def _ends(
    rng: np.random.RandomState, widths: dict[str, Sequence[int]], act_fun: Activation, shared: Sequence[int] = ()
) -> Callable[[KerasTensor], tuple[KerasTensor, KerasTensor]]:
    """Returns the layers of policy and critic; their weights are drawn alternately, as in Stable Baselines."""

    def ends(features: KerasTensor) -> tuple[KerasTensor, KerasTensor]:
        pi = vf = _mlp(features, "after_fc", shared, act_fun, rng)
        for i, (pi_width, vf_width) in enumerate(itertools.zip_longest(widths["pi"], widths["vf"])):
            pi = pi if pi_width is None else _layer(pi, f"pi_fc{i}", pi_width, act_fun, rng)
            vf = vf if vf_width is None else _layer(vf, f"vf_fc{i}", vf_width, act_fun, rng)
        return pi, vf

    return ends


def _mlp(
    h: KerasTensor, name: str, widths: Sequence[int], act_fun: Activation, rng: np.random.RandomState
) -> KerasTensor:
    for i, width in enumerate(widths):
        h = _layer(h, f"{name}{i}", width, act_fun, rng)
    return h


def _layer(h: KerasTensor, name: str, width: int, act_fun: Activation, rng: np.random.RandomState) -> KerasTensor:
    return activation(act_fun)(fc(name, width, rng, scale=SQRT2)(h))
