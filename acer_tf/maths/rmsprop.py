"""RMSProp in the form of TensorFlow 1."""

import keras
import tensorflow as tf


class RMSProp(keras.optimizers.Optimizer):
    """RMSProp in TF1's form, which baselines trains with.

        ms ← ρ·ms + (1 − ρ)·g²,   x ← x − lr·g / √(ms + epsilon)

    It differs from `keras.optimizers.RMSprop` where it matters: `ms` starts at ones, not zeros, so that the first
    updates are small, up to 1/√epsilon times smaller. Epsilon is inside the root in both. TensorFlow still ships TF1's
    fused kernel; one call a variable reproduces it to the bit, its (unused) momentum slot included.
    """

    def __init__(self, learning_rate: float, rho: float, epsilon: float) -> None:
        """Creates the optimiser; `rho` is baselines' `rprop_alpha`, `epsilon` its `rprop_epsilon`."""
        super().__init__(learning_rate=learning_rate, name="rmsprop")
        self.rho = rho
        self.epsilon = epsilon

    def build(self, variables: list[keras.Variable]) -> None:
        """Creates the slots: mean squares of ones, momentum of zeros."""
        super().build(variables)
        # TF1's rms slot starts at ones; Keras would start at zeros.
        self.mean_squares = [self.add_variable_from_reference(v, name="ms", initializer="ones") for v in variables]
        self.momenta = [self.add_variable_from_reference(v, name="mom") for v in variables]

    def update_step(self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor) -> None:
        """Updates one variable in place; Keras passes TensorFlow's variable, not its own."""
        index = self._get_variable_index(variable)
        # TF1's fused kernel, so that every rounding is the original's.
        tf.raw_ops.ResourceApplyRMSProp(
            var=variable.handle,
            ms=self.mean_squares[index].value.handle,
            mom=self.momenta[index].value.handle,
            lr=learning_rate,
            rho=self.rho,
            momentum=0.0,
            epsilon=self.epsilon,
            grad=gradient,
        )
