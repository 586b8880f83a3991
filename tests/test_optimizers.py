from typing import Any

import keras
import numpy as np
import pytest

from acer_tf.config import Config
from acer_tf.errors import InputError
from acer_tf.maths.rmsprop import RMSProp
from acer_tf.optimizers import make_optimizer, named_slots
from tests.agents import assert_same, make_model, make_segment

RATE = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)


def test_names() -> None:
    rmsprop = make_optimizer(Config(rprop_alpha=0.9, rprop_epsilon=1e-3))
    assert isinstance(rmsprop, RMSProp) and (rmsprop._rho, rmsprop._epsilon) == (0.9, 1e-3)
    assert type(make_optimizer(Config(optimizer="adam"))) is keras.optimizers.Adam
    own = keras.optimizers.Lion(beta_1=0.5)
    own.build([keras.Variable(np.zeros(2))])
    copies = [make_optimizer(Config(optimizer=own)) for _ in range(2)]
    assert copies[0] is not copies[1]
    for copy in copies:
        assert type(copy) is keras.optimizers.Lion and copy.beta_1 == 0.5 and not copy.built


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (lambda: keras.optimizers.Adam(RATE), "no rate, or a schedule of its own; give lr and lrschedule"),
        (lambda: keras.layers.Dense(1), "optimizer is .*; expected rmsprop, adam or a Keras optimizer"),
        (lambda: "adm", "optimizer is 'adm'; expected rmsprop, adam or a Keras optimizer"),
        (lambda: None, "optimizer is None; expected rmsprop"),
    ],
)
def test_what_cannot_work(optimizer: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_optimizer(Config(optimizer=optimizer()))


def test_slots_have_names_that_stay() -> None:
    variables = [keras.Variable(np.zeros(2)), keras.Variable(np.zeros(3))]
    rmsprop = RMSProp(0.9, 1e-5)
    rmsprop.build(variables)
    assert list(named_slots(rmsprop, ["a/x", "b"])) == ["ms/a/x", "ms/b", "mom/a/x", "mom/b"]
    for number in range(2):  # Keras numbers optimizers through the process
        adam = keras.optimizers.Adam(0.1)
        adam.build(variables)
        slots = named_slots(adam, ["a/x", "b"])
        assert list(slots) == [f"slot/{i}" for i in range(5)], number
        assert [tuple(slot.shape) for slot in slots.values()] == [(), (2,), (2,), (3,), (3,)]


def test_an_update_is_keras_own_at_the_rate_of_the_schedule() -> None:
    """One step of SGD is the clipped gradient times the rate, whatever the optimizer was made with."""
    model = make_model(optimizer=keras.optimizers.SGD(0.5), max_grad_norm=0.1)
    segment = make_segment()
    before = [param.numpy() for param in model.params]
    clipped = [gradient.numpy() for gradient in model.gradients(segment).clipped]
    model.train(segment, lr=0.2)
    for param, old, gradient in zip(model.params, before, clipped, strict=True):
        np.testing.assert_allclose(param, old - 0.2 * gradient, rtol=1e-4, atol=1e-7)


def test_adam_comes_back_with_its_slots() -> None:
    model, other = make_model(optimizer="adam"), make_model(optimizer="adam", seed=3)
    model.train(make_segment(), lr=0.1)
    other.load_state_dict(model.state_dict())
    for trained in (model, other):
        trained.train(make_segment(1), lr=0.1)
    assert_same(model, other)
    with pytest.raises(InputError, match="of another network: mom/"):
        other.load_state_dict(make_model().state_dict())
