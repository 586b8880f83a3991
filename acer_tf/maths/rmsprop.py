"""RMSProp in the form of TensorFlow 1."""

from collections.abc import Sequence

import keras
import tensorflow as tf


class RMSProp:
    """RMSProp in TF1's form, as baselines uses it.

        ms ← rho·ms + (1 − rho)·g²,   x ← x − lr·g / √(ms + epsilon)

    It differs from `keras.optimizers.RMSprop` in one way that matters: `ms` starts at ones, not zeros, so the first
    updates are up to 1/√epsilon times smaller. Epsilon is inside the root in both. TensorFlow still ships TF1's fused
    kernel; one call per variable reproduces TF1 bit for bit, including the (unused) momentum slot.

    The class has the methods of a Keras optimiser that `Model` calls, but is not one: Keras' `apply` keeps every graph
    in which it was traced until the process ends, 4 MB per agent.

    Attributes:
        learning_rate: to be set before each update.
        mean_squares: one slot per variable, in their order; created by `build`.
        momenta: likewise.
    """

    def __init__(self, rho: float, epsilon: float) -> None:
        """Creates the optimiser; `rho` is baselines' `rprop_alpha`, `epsilon` its `rprop_epsilon`."""
        self.learning_rate = tf.Variable(0.0)
        self._rho, self._epsilon = rho, epsilon

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Creates the slots: mean squares of ones, as in TF1 (Keras has zeros), and momenta of zeros."""
        self._variables: list[tf.Variable] = [variable.value for variable in variables]
        self.mean_squares = [tf.Variable(tf.ones_like(variable)) for variable in self._variables]
        self.momenta = [tf.Variable(tf.zeros_like(variable)) for variable in self._variables]

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        """Updates the variables in place with their gradients, in the same order."""
        # One fused call per variable: slot, root and step together.
        slots = zip(self._variables, self.mean_squares, self.momenta, gradients, strict=True)
        for variable, mean_square, momentum, gradient in slots:
            # TF1's fused kernel rounds exactly as the original does.
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
