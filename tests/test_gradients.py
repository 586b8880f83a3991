from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from acer_tf.gradients import Gradients, first_not_finite, metrics, two_stage_gradients
from acer_tf.model import Model
from acer_tf.segment import Segment
from tests import gaussian_agents
from tests.agents import NENVS, NSTEPS, make_model, make_segment

SEED = tf.constant([1, 2])


def gradients_of(model: Model, segment: Segment, parts: bool = True) -> Gradients:
    return two_stage_gradients(model.policy, model.averages, segment, model.config, lambda: SEED, parts)


def recurrent(**config: Any) -> tuple[Model, Segment]:
    model, segment = make_model("lstm", network_kwargs={"nlstm": 4}, c=1.5, **config), make_segment()
    return model, segment._replace(states=model.initial_state(NENVS))


@pytest.mark.parametrize("burn_in", [0, 2])
def test_g_is_the_gradient_of_the_sum_over_the_steps_that_are_trained_on(burn_in: int) -> None:
    model, segment = recurrent(burn_in=burn_in, delta=0.01)
    gradients = gradients_of(model, segment)
    steps = NENVS * (NSTEPS - burn_in)
    f = gradients.evaluation.f
    with tf.GradientTape() as tape:
        tape.watch(f)
        losses = model.policy.losses(
            gradients.evaluation, model.policy.trained_part(segment, model.config), model.config
        )
    summed = -steps * tape.gradient(losses.loss, f).numpy()
    np.testing.assert_allclose(gradients.g, summed, rtol=1e-5, atol=1e-7)
    projection = gradients.trust_region.projection
    assert (projection.adj.numpy() > 0).any()
    np.testing.assert_allclose(gradients.grad_f, -projection.z / steps, rtol=1e-5, atol=1e-7)


def test_the_trust_region_does_not_change_with_the_length_of_the_burn_in() -> None:
    """Where the state is zero after it, a burn-in is as if these steps had not been collected."""
    (model, segment), (other, _) = recurrent(burn_in=2, delta=0.01), recurrent(delta=0.01)
    segment.masks[:, 2] = True
    names = ("actions", "rewards", "mus", "dones", "final_values", "obs", "masks")
    shorter = segment._replace(**{name: getattr(segment, name)[:, 2:] for name in names})
    ours, expected = gradients_of(model, segment), gradients_of(other, shorter)
    for one, same in zip(ours.trust_region.projection, expected.trust_region.projection, strict=True):
        np.testing.assert_allclose(one, same, rtol=1e-4, atol=1e-6)
    for one, same in zip(ours.raw, expected.raw, strict=True):
        np.testing.assert_allclose(one, same, rtol=1e-4, atol=1e-6)


def test_parts_are_empty_unless_asked_for() -> None:
    model, segment = make_model(), make_segment()
    gradients = gradients_of(model, segment, parts=False)
    assert (gradients.policy, gradients.critic) == ([], [])
    for one, same in zip(gradients.raw, gradients_of(model, segment).raw, strict=True):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("trust_region", [True, False])
def test_metrics_of_both_policies_have_the_same_names(trust_region: bool) -> None:
    models = make_model(trust_region=trust_region), gaussian_agents.make_model(trust_region=trust_region)
    names = [
        list(metrics(gradients_of(model, segment), model.policy, model.config))
        for model, segment in zip(models, (make_segment(), gaussian_agents.make_segment()), strict=True)
    ]
    assert names[0] == names[1]
    assert ("avg_norm_g" in names[0]) == ("average_kl" in names[0]) == trust_region


def spoiled(x: Any, value: float = np.nan) -> tf.Tensor:
    """A copy whose last entry is no finite number."""
    array = np.array(x, np.float32)
    array.reshape(-1)[-1] = value
    return tf.constant(array)


def with_segment(field: str, value: float) -> Any:
    return lambda s, g: (s._replace(**{field: spoiled(getattr(s, field), value)}), g)


def with_evaluation(field: str, value: float) -> Any:
    def spoil(segment: Segment, gradients: Gradients) -> tuple[Segment, Gradients]:
        array = spoiled(getattr(gradients.evaluation, field), value)
        return segment, gradients._replace(evaluation=gradients.evaluation._replace(**{field: array}))

    return spoil


def with_losses(field: str, value: float) -> Any:
    def spoil(segment: Segment, gradients: Gradients) -> tuple[Segment, Gradients]:
        array = spoiled(getattr(gradients.losses, field), value)
        return segment, gradients._replace(losses=gradients.losses._replace(**{field: array}))

    return spoil


def with_gradient(index: int, value: float) -> Any:
    def spoil(segment: Segment, gradients: Gradients) -> tuple[Segment, Gradients]:
        raw = list(gradients.raw)
        raw[index] = spoiled(raw[index], value)
        return segment, gradients._replace(raw=raw)

    return spoil


IN_ORDER: list[tuple[str, Any]] = [
    ("the reward", lambda value: with_segment("rewards", value)),
    ("the value at a time limit", lambda value: with_segment("final_values", value)),
    ("the behaviour policy mu", lambda value: with_segment("mus", value)),
    ("the policy f", lambda value: with_evaluation("f", value)),
    ("the critic q", lambda value: with_evaluation("q", value)),
    ("the importance ratio rho", lambda value: with_losses("rho_i", value)),
    ("the Retrace target q_ret", lambda value: with_losses("q_ret", value)),
    ("the loss", lambda value: with_losses("loss", value)),
    ("the gradient of pi/mlp_fc0/kernel", lambda value: with_gradient(0, value)),
    ("the gradient of pi/mlp_fc0/bias", lambda value: with_gradient(1, value)),
    ("the gradient of q_head/bias", lambda value: with_gradient(-1, value)),
]


@pytest.fixture(scope="module")
def finite() -> tuple[Segment, Gradients, list[str]]:
    model, segment = make_model(), make_segment()
    return segment, gradients_of(model, segment), list(model.policy.params)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize(("name", "spoil"), IN_ORDER, ids=[name for name, _ in IN_ORDER])
def test_the_quantity_that_is_not_finite_is_blamed(
    finite: tuple[Segment, Gradients, list[str]], name: str, spoil: Any, value: float
) -> None:
    *quantities, names = finite
    assert first_not_finite(*spoil(value)(*quantities), names) == name


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_of_several_the_one_that_is_computed_first_is_blamed(
    finite: tuple[Segment, Gradients, list[str]], first: int
) -> None:
    *quantities, names = finite
    for _, spoil in reversed(IN_ORDER[first:]):
        quantities = list(spoil(np.nan)(*quantities))
    assert first_not_finite(*quantities, names) == IN_ORDER[first][0]


def test_an_infinite_ratio_is_not_blamed(finite: tuple[Segment, Gradients, list[str]]) -> None:
    *quantities, names = finite
    infinite = with_losses("rho_i", np.inf)(*quantities)
    assert first_not_finite(*infinite, names) == "the norm of the gradient"
    assert first_not_finite(*with_losses("q_ret", np.nan)(*infinite), names) == "the Retrace target q_ret"


def test_missing_fields_are_not_blamed(finite: tuple[Segment, Gradients, list[str]]) -> None:
    segment, gradients, names = finite
    missing = segment._replace(final_values=(), states=())
    assert first_not_finite(missing, gradients, names) == "the norm of the gradient"


def test_either_value_of_a_gaussian_critic_is_blamed() -> None:
    model, segment = gaussian_agents.make_model(), gaussian_agents.make_segment()
    gradients, names = gradients_of(model, segment), list(model.policy.params)
    for field in ("q_i", "v"):
        critic = gradients.evaluation.q
        critic = critic._replace(**{field: spoiled(getattr(critic, field))})
        wrong = gradients._replace(evaluation=gradients.evaluation._replace(q=critic))
        assert first_not_finite(segment, wrong, names) == "the critic q"


def test_assertions_of_shapes_cost_nothing_in_a_graph() -> None:
    model, segment = make_model(), make_segment()
    inputs = segment._replace(enc_obs=(), states=(), final_values=())
    function = tf.function(lambda *fields: gradients_of(model, Segment(*fields)).clipped, autograph=False)
    graph = function.get_concrete_function(*tf.nest.map_structure(tf.constant, tuple(inputs))).graph
    assert not [op.name for op in graph.get_operations() if "ssert" in op.type]
