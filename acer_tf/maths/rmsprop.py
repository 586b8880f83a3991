"""RMSProp in the form of TensorFlow 1."""

from collections.abc import Sequence

import keras
import tensorflow as tf


class RMSProp:
    """RMSProp in TF1's form, which baselines trains with.

        ms ← rho·ms + (1 − rho)·g²,   x ← x − lr·g / √(ms + epsilon)

    It differs from `keras.optimizers.RMSprop` where it matters: `ms` starts at ones, not zeros, so that the first
    updates are small, up to 1/√epsilon times smaller. Epsilon is inside the root in both. TensorFlow still ships TF1's
    fused kernel; one call a variable reproduces it bit for bit, its (unused) momentum slot included.

    The methods are those of a Keras optimiser that `Model` calls. It is none: Keras' `apply` keeps every graph that it
    was traced in until the process ends, 4 MB an agent.

    Attributes:
        learning_rate: set before each update.
        mean_squares: a slot for each variable, in their order; made by `build`.
        momenta: likewise.
    """

    def __init__(self, rho: float, epsilon: float) -> None:
        """Creates the optimiser; `rho` is baselines' `rprop_alpha`, `epsilon` its `rprop_epsilon`."""
        self.learning_rate = tf.Variable(0.0)
        self._rho, self._epsilon = rho, epsilon

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Creates the slots: mean squares of ones, as TF1's are (Keras' are zeros), and momenta of zeros."""
        self._variables: list[tf.Variable] = [variable.value for variable in variables]
        self.mean_squares = [tf.Variable(tf.ones_like(variable)) for variable in self._variables]
        self.momenta = [tf.Variable(tf.zeros_like(variable)) for variable in self._variables]

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        """Updates the variables in place by their gradients, in the same order."""
        # One fused call a variable: slot, root and step together.
        slots = zip(self._variables, self.mean_squares, self.momenta, gradients, strict=True)
        for variable, mean_square, momentum, gradient in slots:
            # TF1's fused kernel, so that every rounding is the original's.
            tf.raw_ops.ResourceApplyRMSProp(
                var=variable.handle,
                ms=mean_square.handle,
                mom=momentum.handle,
                lr=self.learning_rate,
                rho=self._rho,
                momentum=0.0,
                epsilon=self._epsilon,
                grad=gradient,
            )
