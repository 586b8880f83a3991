from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from gymnasium.spaces import Box
from numpy.random import RandomState
from numpy.typing import NDArray

from acer_tf.config import Config, Continuous
from acer_tf.errors import NotFiniteError
from acer_tf.gradients import Gradients, two_stage_gradients
from acer_tf.model import Model
from acer_tf.policies.gaussian import GaussianPolicy
from tests import reference_continuous as reference
from tests.agents import arrays, assert_same
from tests.gaussian_agents import NENVS, NFEATURES, NSTEPS, make_model, make_policy, make_segment
from tests.reference_continuous import Batch, Hyper

SETTINGS = ("sigma", "learn_sigma", "dueling", "use_q_opc")
CASES = [
    (1, None, Hyper()),
    (3, None, Hyper()),
    (3, "copy", Hyper()),
    (1, "copy", Hyper(learn_sigma=True)),
    (3, None, Hyper(learn_sigma=True, sigma=0.4, delta=0.3)),
    (2, None, Hyper(dueling=False)),
    (2, None, Hyper(use_q_opc=False)),
    (2, None, Hyper(correction=False)),
    (2, None, Hyper(q_lambda=0.7)),
    (2, None, Hyper(trust_region=False, c=5.0)),
]


def model_of(hyper: Hyper, dimensions: int, value_network: Any, **config: Any) -> Model:
    values = hyper._asdict()
    settings = {name: values.pop(name) for name in SETTINGS}
    return make_model(dimensions, 1, value_network, settings, **values, **config, max_grad_norm=None)


def gradients_of(model: Model, segment: Any) -> Gradients:
    """What `Model.gradients` traces, step by step: the same numbers, sooner for one call."""
    generator = tf.random.Generator.from_seed(0, alg="philox")  # as the model's
    return two_stage_gradients(
        model.policy, model.averages, segment, model.config, lambda: generator.uniform_full_int([2], tf.int32)
    )


def batch_of(segment: Any, gradients: Gradients) -> Batch:
    u, sampled, _ = gradients.evaluation.samples
    fields = segment.obs, segment.actions, segment.rewards, segment.mus, segment.dones, u, sampled
    return Batch(*(np.asarray(field, np.float64) for field in fields))


def in_float64(model: Model, variables: list[tf.Variable]) -> dict[str, NDArray[np.float64]]:
    return {name: x.numpy().astype(np.float64) for name, x in zip(model.policy.params, variables, strict=True)}


def assert_close(ours: Any, theirs: Any, name: str) -> None:
    """To 1e-5 of the largest entry."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, name
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max() + 1e-7, err_msg=name)


@pytest.mark.parametrize(("dimensions", "value_network", "hyper"), CASES)
def test_every_quantity_equals_the_float64_reference(dimensions: int, value_network: Any, hyper: Hyper) -> None:
    model = model_of(hyper, dimensions, value_network)
    segment = make_segment(dimensions, learn_sigma=hyper.learn_sigma)
    gradients = gradients_of(model, segment)
    params, averages = in_float64(model, model.params), in_float64(model, model.averages)
    expected = reference.update(params, averages, batch_of(segment, gradients), hyper)

    evaluation, losses = gradients.evaluation, gradients.losses
    ours = {
        "f": evaluation.f, "v": evaluation.q.v, "bootstrap_v": evaluation.bootstrap_v, "q_i": evaluation.q.q_i,
        "q_sampled": evaluation.samples.q, "rho_i": losses.rho_i, "rho_sampled": losses.terms.rho_sampled,
        "q_ret": losses.q_ret, "q_opc": losses.terms.q_opc, "v_target": losses.terms.v_target, "gain_f": losses.gain.f,
        "g": gradients.g, "z": -gradients.grad_f * NENVS * NSTEPS, "entropy": losses.entropy, "loss_q": losses.loss_q,
    }  # fmt: skip
    if hyper.trust_region:
        ours |= {"k": gradients.trust_region.k, "z": gradients.trust_region.projection.z}
    if hyper.correction:
        ours["gain_bc"] = losses.gain.bc
    for name, array in ours.items():
        assert_close(array, expected[name], name)
    assert_close(losses.loss_f, -expected["gain_f"].mean(), "loss_f")
    assert_close(losses.loss_bc, -expected["gain_bc"].mean(), "loss_bc")
    for name, raw in zip(model.policy.params, gradients.raw, strict=True):
        assert_close(raw, expected["gradient"][name], name)


@pytest.mark.parametrize("hyper", [Hyper(), Hyper(use_q_opc=False)])
def test_returns_go_on_where_a_time_limit_cut_an_episode_short(hyper: Hyper) -> None:
    segment, (model, plain) = make_segment(), (model_of(hyper, 2, None, bootstrap_truncated=on) for on in (True, False))
    assert (segment.final_values != 0).sum() > 1
    gradients, without = gradients_of(model, segment), gradients_of(plain, segment).losses
    params, averages = in_float64(model, model.params), in_float64(model, model.averages)
    batch = batch_of(segment, gradients)._replace(final_values=segment.final_values)
    expected = reference.update(params, averages, batch, hyper)
    ours, others = ({**losses.terms._asdict(), "q_ret": losses.q_ret} for losses in (gradients.losses, without))
    for name in ("q_ret", "q_opc", "v_target"):
        assert_close(ours[name], expected[name], name)
        assert np.abs(ours[name] - others[name]).max() > 0.1, name
    for name, raw in zip(model.policy.params, gradients.raw, strict=True):
        assert_close(raw, expected["gradient"][name], name)


@pytest.mark.parametrize("value_network", [None, "copy"])
def test_values_of_states_are_v(value_network: Any) -> None:
    model, segment = make_model(value_network=value_network), make_segment()
    expected = reference.value(in_float64(model, model.params), segment.obs[:, 0])
    np.testing.assert_allclose(model.actor.values(segment.obs[:, 0], model.initial_state(NENVS)), expected, rtol=1e-5)


@pytest.mark.parametrize(("dimensions", "learn_sigma"), [(1, False), (3, False), (3, True)])
def test_everything_acts_in_these_cases(dimensions: int, learn_sigma: bool) -> None:
    segment = make_segment(dimensions, learn_sigma=learn_sigma)
    gradients = gradients_of(model_of(Hyper(learn_sigma=learn_sigma), dimensions, None), segment)
    losses, projection = gradients.losses, gradients.trust_region.projection
    assert segment.dones[:, :-1].any() and not segment.dones.all()
    assert (losses.rho_i.numpy() > 1.5).any() and (losses.rho_i.numpy() < 0.5).any()
    assert (losses.gain.bc.numpy() != 0).any()
    assert 0.1 < (projection.adj.numpy() > 0).mean() < 1
    assert (np.abs(losses.terms.q_opc - losses.q_ret) > 0.01).any()
    assert ((gradients.trust_region.k * projection.z).numpy().sum(axis=-1) <= 0.1 + 1e-4).all()
    assert all((raw.numpy() != 0).any() for raw in gradients.raw)


def test_the_first_policy_has_the_asked_sigma_and_a_mean_near_zero() -> None:
    for learn_sigma in (False, True):
        policy = make_policy(3, sigma=0.2, learn_sigma=learn_sigma)
        obs = np.random.default_rng(0).normal(size=(20_000, NFEATURES)).astype(np.float32)
        state, mask = tf.zeros([20_000, 0]), tf.zeros([20_000], tf.bool)
        actions, mus, _ = policy.act(tf.constant(obs), state, mask, tf.constant([1, 2]))
        assert actions.shape == (20_000, 3)
        assert np.abs(mus[:, :3]).max() < 0.05
        z = (actions - mus[:, :3]).numpy() / 0.2
        np.testing.assert_allclose(z.mean(axis=0), 0, atol=3 / np.sqrt(len(z)))
        np.testing.assert_allclose(z.std(axis=0), 1, atol=3 / np.sqrt(2 * len(z)))
        if learn_sigma:
            np.testing.assert_allclose(mus[:, 3:], np.log(0.2), rtol=1e-6)
        else:
            assert mus.shape == (20_000, 3)


def test_samples_are_of_the_current_policy_and_new_in_every_update() -> None:
    model = make_model(2)
    draws = [model.gradients(make_segment()).evaluation for _ in range(20)]
    first, second, *_ = draws
    assert all((x.numpy() != y.numpy()).all() for x, y in zip(first.samples[:2], second.samples[:2], strict=True))
    assert first.samples.u.shape == (NENVS, NSTEPS, 5, 2)
    z = (np.concatenate([draw.samples.u for draw in draws], axis=2) - first.f.numpy()[:, :, None]) / 0.3
    assert abs(z.mean()) < 3 / np.sqrt(z.size) and abs(z.std() - 1) < 3 / np.sqrt(2 * z.size)


def test_traced_and_step_by_step_are_the_same() -> None:
    segment = make_segment()
    traced, eager = make_model().gradients(segment), gradients_of(make_model(), segment)
    assert_close(traced.evaluation.samples.u, eager.evaluation.samples.u, "u")
    for ours, theirs in zip(traced.raw, eager.raw, strict=True):
        assert_close(ours, theirs, "raw")


@pytest.mark.parametrize("learn_sigma", [True, False])
def test_updates_follow_from_the_seed(learn_sigma: bool) -> None:
    models = [make_model(2, settings={"learn_sigma": learn_sigma}) for _ in range(2)]
    before = arrays(models[0])
    for seed in range(3):
        models[0].train(make_segment(2, seed, learn_sigma=learn_sigma), lr=0.01)
        models[1].train_and_report(make_segment(2, seed, learn_sigma=learn_sigma), lr=0.01)
    assert_same(*models)
    assert all((before[name] != array).any() for name, array in arrays(models[0]).items() if "mom/" not in name)


def test_on_policy_ratios_are_one() -> None:
    model = make_model(3)
    segment = make_segment(3)
    f = gradients_of(model, segment).evaluation.f.numpy()
    losses = gradients_of(model, segment._replace(mus=f)).losses
    np.testing.assert_array_equal(losses.rho_i, np.ones((NENVS, NSTEPS)))
    np.testing.assert_array_equal(losses.gain.bc, np.zeros((NENVS, NSTEPS)))


def test_report_changes_nothing() -> None:
    model = make_model(2)
    before = model.state_dict()
    report = model.report(make_segment())
    after = model.state_dict()
    assert list(report)[:3] == ["loss", "loss_q", "entropy"] and "avg_norm_adj" in report
    gradients = gradients_of(model, make_segment())
    shift = (gradients.evaluation.f - gradients.trust_region.f_avg).numpy() / 0.3
    assert_close(report["average_kl"], 0.5 * (shift**2).sum(axis=-1).mean(), "average_kl")
    assert_close(report["mean_rho"], gradients.losses.rho_i.numpy().mean(), "mean_rho")
    for name, array in after.items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("value_network", ["shared", "copy"])
def test_recurrent_policies_carry_a_state_and_burn_in(value_network: str) -> None:
    space = Box(-np.inf, np.inf, (NFEATURES,), np.float32)
    policy = GaussianPolicy(
        "lstm", space, Box(-1, 1, (2,)), RandomState(0), Continuous(), value_network=value_network, nlstm=4
    )
    model = Model(policy, Config(nsteps=NSTEPS, replay_state="stored", burn_in=2, max_grad_norm=None), 0)
    state = np.random.default_rng(0).normal(size=model.initial_state(NENVS).shape).astype(np.float32)
    assert state.shape == (NENVS, 8 if value_network == "shared" else 16)
    segment = make_segment()._replace(states=state)
    acted, carried = [], state
    for t in range(NSTEPS):
        _, mu, carried = model.act(segment.obs[:, t], carried, segment.masks[:, t])
        acted.append(mu)
    evaluation = gradients_of(model, segment).evaluation
    assert evaluation.q.q_i.shape == (NENVS, NSTEPS - 2)
    np.testing.assert_allclose(evaluation.f, np.stack(acted, axis=1)[:, 2:], atol=1e-6)
    before = arrays(model)
    model.train(segment, lr=0.01)
    moved = {name for name, array in arrays(model).items() if (array != before[name]).any()}
    assert {name for name in moved if name.startswith("param/")} == {f"param/{name}" for name in policy.params}


def test_an_update_that_is_not_finite_is_refused_and_named() -> None:
    model = make_model()
    before, segment = arrays(model), make_segment()
    rewards = np.full_like(segment.rewards, np.nan)
    with pytest.raises(NotFiniteError, match=r"^the reward is not finite"):
        model.train(segment._replace(rewards=rewards), lr=0.1)
    for name, array in arrays(model).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
