"""The configured optimiser, and the names under which its slots are saved."""

from collections.abc import Sequence

import keras
import tensorflow as tf

from acer_tf.config import Config
from acer_tf.errors import InputError, type_in_words
from acer_tf.maths.rmsprop import RMSProp


def make_optimizer(config: Config) -> RMSProp | keras.optimizers.Optimizer:
    """Creates the configured optimiser; a user's Keras optimiser is copied, without its slots.

    Raises:
        InputError: the configured object is not a Keras optimiser, or has its own learning-rate schedule.
    """
    if config.optimizer == "rmsprop":
        # To match baselines' digits, TF1's form: slots begin at one, epsilon is inside the root.
        return RMSProp(rho=config.rprop_alpha, epsilon=config.rprop_epsilon)
    if config.optimizer == "adam":
        return keras.optimizers.Adam(config.lr)
    optimizer = config.optimizer
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        raise InputError(f"optimizer is {type_in_words(optimizer)}; expected rmsprop, adam or a Keras optimizer.")
    settings = optimizer.get_config()
    if not isinstance(settings.get("learning_rate"), float | int):
        raise InputError("the optimizer has no rate, or a schedule of its own; give lr and lrschedule, which set it.")
    # A copy: two agents given the same object do not share slots.
    copy: keras.optimizers.Optimizer = type(optimizer).from_config(settings)
    return copy


def named_slots(optimizer: RMSProp | keras.optimizers.Optimizer, params: Sequence[str]) -> dict[str, tf.Variable]:
    """Returns the variables that the optimiser keeps between updates, by name.

    Args:
        optimizer: a built optimiser.
        params: names of the parameters for which it was built, in order.

    Returns:
        For RMSProp `ms/<parameter>` and `mom/<parameter>`; for any other optimiser `slot/<number>`, in Keras' order:
        the count of updates, then the slots. The learning rate is not among them: it is set before each update.
    """
    if isinstance(optimizer, RMSProp):
        groups = {"ms": optimizer.mean_squares, "mom": optimizer.momenta}
        return {f"{g}/{name}": v for g, slots in groups.items() for name, v in zip(params, slots, strict=True)}
    # Keras numbers them; the names in a user's optimiser are unknown here.
    slots = (v for v in optimizer.variables if v.path != optimizer.learning_rate.path)
    return {f"slot/{number}": variable.value for number, variable in enumerate(slots)}
