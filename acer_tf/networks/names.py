"""Names of the built-in networks, with the types and defaults of their arguments; without TensorFlow."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args

from msgspec import Meta

from acer_tf.errors import InputError
from acer_tf.schema import Count, is_setting, validated
from acer_tf.suggestions import suggestion

ActivationName = Literal[
    "celu", "elu", "exponential", "gelu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
    "leaky_relu", "linear", "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu",
    "soft_shrink", "softmax", "softplus", "softsign", "sparse_plus", "sparse_sigmoid", "sparsemax", "squareplus",
    "swish", "tanh", "tanh_shrink", "threshold",
]  # fmt: skip
ACTIVATIONS = get_args(ActivationName)
"""Names of Keras' activations, the only ones that a file can ask for."""
LayerCount = Annotated[int, Meta(ge=0, le=1024, description="a whole number from 0 to 1024")]
Widths = Annotated[tuple[Count, ...], Meta(description="whole numbers >= 1, such as [16, 32]")]
Convolutions = Annotated[
    tuple[tuple[Count, Count, Count], ...],
    Meta(description="filters, size and stride of each convolution, such as [[32, 8, 4], [64, 4, 2]]"),
]
NetArch = Annotated[
    list[int | str | dict[str, list[int]]], Meta(description="a list such as [64, {pi: [32], vf: [32]}]")
]
FeatureExtraction = Literal["mlp", "cnn", "multi_input"]
Torso = Literal["mlp", "cnn", "cnn_a3c", "cnn_small", "cnn_minatar", "impala_cnn", "conv_only"]


class Argument(NamedTuple):
    """An argument of a network.

    Attributes:
        kind: type of the values that a command line or a file can give; see `acer_tf.schema.validated`.
        default: value if none is given.
    """

    kind: Any
    default: Any


def _sb_policy(feature_extraction: str = "mlp", **more: Argument) -> dict[str, Argument]:
    return {
        "net_arch": Argument(NetArch | None, None),
        "act_fun": Argument(ActivationName, "tanh"),
        "layers": Argument(Widths | None, None),
        **more,
        "feature_extraction": Argument(FeatureExtraction, feature_extraction),
        "cnn_extractor": Argument(Torso, "cnn"),
    }


def _lstm_policy(feature_extraction: str = "mlp", layer_norm: bool = False) -> dict[str, Argument]:
    n_lstm, normalized = Argument(Count, 256), Argument(bool, layer_norm)
    return _sb_policy(feature_extraction, n_lstm=n_lstm, layer_norm=normalized)


_NLSTM = {"nlstm": Argument(Count, 128)}
_LSTM = {**_NLSTM, "layer_norm": Argument(bool, False)}

NETWORKS: dict[str, Mapping[str, Argument]] = {
    "mlp": {
        "num_layers": Argument(LayerCount, 2),
        "num_hidden": Argument(Count, 64),
        "activation": Argument(ActivationName, "tanh"),
        "layer_norm": Argument(bool, False),
    },
    "cnn": {},
    "cnn_a3c": {},
    "cnn_small": {},
    "cnn_minatar": {},
    "impala_cnn": {"depths": Argument(Widths, (16, 32, 32))},
    "conv_only": {"convs": Argument(Convolutions, ((32, 8, 4), (64, 4, 2), (64, 3, 1)))},
    "lstm": _LSTM,
    "lnlstm": _NLSTM,
    "cnn_lstm": _LSTM,
    "cnn_lnlstm": _NLSTM,
    "impala_cnn_lstm": {},
    "MlpPolicy": _sb_policy(),
    "MlpLstmPolicy": _lstm_policy(),
    "MlpLnLstmPolicy": _lstm_policy(layer_norm=True),
    "CnnPolicy": _sb_policy("cnn"),
    "MultiInputPolicy": _sb_policy("multi_input"),
    "CnnLstmPolicy": _lstm_policy("cnn"),
    "CnnLnLstmPolicy": _lstm_policy("cnn", layer_norm=True),
    "MultiInputLstmPolicy": _lstm_policy("multi_input"),
}
"""Arguments of each network by name; a test compares them with the functions."""

ARGUMENTS = {name for arguments in NETWORKS.values() for name in arguments}


def check_network(network: str, known: Collection[str] = NETWORKS) -> None:
    """Checks that a network has this name.

    Raises:
        InputError: no network has; the message names the nearest.
    """
    if network not in known:
        raise InputError(f"network '{network}' does not exist{suggestion(network, known)}.")


def checked_arguments(network: str, arguments: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments of a network in their types.

    Args:
        network: its name, for the message.
        arguments: the arguments given, by name.
        known: types of the arguments that it takes, by name; values for anything but types of settings stay as given.

    Raises:
        InputError: it does not take one of them (the message names the nearest), or a value does not fit.
    """
    for argument in arguments:
        if argument not in known:
            choices = suggestion(argument, known) or "; it takes none"
            raise InputError(f"network '{network}' does not take the argument {argument}{choices}.")
    return {
        name: validated(name, value, known[name]) if is_setting(known[name]) else value
        for name, value in arguments.items()
    }


def arguments_from_outside(network: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Checks arguments for a built-in network from a command line or a file, as `checked_arguments` does."""
    return checked_arguments(network, arguments, {name: known.kind for name, known in NETWORKS[network].items()})


def default_arguments(network: object) -> dict[str, Any]:
    """Returns the defaults of a built-in network's arguments by name; none for any other network."""
    return {name: argument.default for name, argument in NETWORKS.get(str(network), {}).items()}
