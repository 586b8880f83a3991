import keras
import numpy as np
import tensorflow as tf

from acer_tf.maths.rmsprop import RMSProp
from tests import reference


def test_follows_the_float64_loop_for_100_steps() -> None:
    random = np.random.default_rng(0)
    variables = [keras.Variable(random.normal(size=shape).astype(np.float32)) for shape in ((4, 3), (3,))]
    optimizer = RMSProp(rho=0.9, epsilon=1e-3)
    optimizer.build(variables)
    x = [variable.numpy().astype(np.float64) for variable in variables]
    mean_squares = [np.ones(array.shape) for array in x]
    for step in range(100):
        lr = 0.01 * (1 - step / 100)
        gradients = [np.exp(random.normal(-2, 2)) * random.normal(size=array.shape).astype(np.float32) for array in x]
        optimizer.learning_rate.assign(lr)
        optimizer.apply([tf.constant(gradient, tf.float32) for gradient in gradients])
        for i, gradient in enumerate(gradients):
            x[i], mean_squares[i] = reference.rmsprop(x[i], mean_squares[i], gradient, lr, 0.9, 1e-3)
    for i, variable in enumerate(variables):
        np.testing.assert_allclose(variable, x[i], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(optimizer.mean_squares[i], mean_squares[i], rtol=1e-5)


def test_first_step_comes_from_slots_of_one_and_epsilon_inside_the_root() -> None:
    variable = keras.Variable([2.0])
    optimizer = RMSProp(rho=0.75, epsilon=8.0)
    optimizer.build([variable])
    optimizer.learning_rate.assign(0.5)
    assert optimizer.mean_squares[0].numpy() == 1
    optimizer.apply([tf.constant([1.0])])
    # mean square 0.75 + 0.25 = 1, root of 1 + 8 = 3.
    np.testing.assert_allclose(variable, [2 - 0.5 / 3], rtol=1e-6)
    np.testing.assert_allclose(optimizer.momenta[0], [0.5 / 3], rtol=1e-6)  # the last update, as TF1 saves it


def test_a_learning_rate_of_zero_moves_only_the_slots() -> None:
    variable = keras.Variable([2.0, -1.0])
    optimizer = RMSProp(rho=0.5, epsilon=1e-5)
    optimizer.build([variable])
    optimizer.apply([tf.constant([3.0, 0.0])])
    np.testing.assert_array_equal(variable, [2.0, -1.0])
    np.testing.assert_array_equal(optimizer.mean_squares[0], [5.0, 0.5])
