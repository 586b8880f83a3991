"""Names of the built-in networks and of their arguments, available without importing TensorFlow."""

from collections.abc import Collection, Iterable

from acer_tf.errors import InputError
from acer_tf.suggestions import suggestion

_CORE = ("net_arch", "act_fun", "layers", "feature_extraction", "cnn_extractor")
_RECURRENT_CORE = (*_CORE[:3], "n_lstm", "layer_norm", *_CORE[3:])

NETWORKS: dict[str, tuple[str, ...]] = {
    "mlp": ("num_layers", "num_hidden", "activation", "layer_norm"),
    "cnn": (),
    "cnn_a3c": (),
    "cnn_small": (),
    "cnn_minatar": (),
    "impala_cnn": ("depths",),
    "conv_only": ("convs",),
    "lstm": ("nlstm", "layer_norm"),
    "lnlstm": ("nlstm",),
    "cnn_lstm": ("nlstm", "layer_norm"),
    "cnn_lnlstm": ("nlstm",),
    "impala_cnn_lstm": (),
    "MlpPolicy": _CORE,
    "MlpLstmPolicy": _RECURRENT_CORE,
    "MlpLnLstmPolicy": _RECURRENT_CORE,
    "CnnPolicy": _CORE,
    "MultiInputPolicy": _CORE,
    "CnnLstmPolicy": _RECURRENT_CORE,
    "CnnLnLstmPolicy": _RECURRENT_CORE,
    "MultiInputLstmPolicy": _RECURRENT_CORE,
}
"""Arguments of each network; a test compares them with the functions."""

ACTIVATIONS = (
    "celu", "elu", "exponential", "gelu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
    "leaky_relu", "linear", "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu",
    "soft_shrink", "softmax", "softplus", "softsign", "sparse_plus", "sparse_sigmoid", "sparsemax", "squareplus",
    "swish", "tanh", "tanh_shrink", "threshold",
)  # fmt: skip
"""Keras' activations by name, all that a file can ask for."""


def check_network(network: str, known: Collection[str] = NETWORKS) -> None:
    """Checks that a network has this name.

    Raises:
        InputError: none has; the message has the nearest.
    """
    if network not in known:
        raise InputError(f"network '{network}' does not exist{suggestion(network, known)}.")


def check_arguments(network: str, arguments: Iterable[str], known: Collection[str]) -> None:
    """Checks that a network takes arguments of these names.

    Args:
        network: its name, for the message.
        arguments: names that were given.
        known: names that it takes.

    Raises:
        InputError: it does not take one of them; the message has the nearest.
    """
    for argument in arguments:
        if argument not in known:
            choices = suggestion(argument, known) or "; it takes none"
            raise InputError(f"network '{network}' does not take the argument {argument}{choices}.")
