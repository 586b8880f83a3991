import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from acer_tf.errors import InputError, NotFiniteError
from acer_tf.model import Model
from acer_tf.segment import Segment
from acer_tf.system.traced import Traced
from tests import gaussian_agents, reference
from tests.agents import NACT, NENVS, NFEATURES, NSTEPS, arrays, assert_same, linear, make_model, make_segment
from tests.reference import Hyper, Linear, State
from tests.small_agents import tiny

CONFIGS: list[dict[str, Any]] = [
    {"c": 1.5, "delta": 0.1},
    {"c": 1.5, "trust_region": False},
    {"c": 1.5, "max_grad_norm": None},
    {"max_grad_norm": 0.01, "alpha": 0.5, "rprop_alpha": 0.5},
    {"c": 1.5, "bootstrap_truncated": True},
]


def state_of(model: Model) -> State:
    def as_linear(variables: list[tf.Variable]) -> Linear:
        return Linear(*(variable.numpy().astype(np.float64) for variable in variables))

    return State(as_linear(model.params), as_linear(model.averages), as_linear(model.optimizer.mean_squares))


@pytest.mark.parametrize("config", CONFIGS)
def test_updates_equal_the_float64_reference(config: dict[str, Any]) -> None:
    model = make_model(linear, gamma=0.9, rprop_epsilon=1e-3, ent_coef=0.05, **config)
    c = model.config
    hyper = Hyper(0.9, c.c, c.delta, c.trust_region, 0.5, 0.05, c.max_grad_norm, 0.1, c.rprop_alpha, 1e-3, c.alpha)
    expected = state_of(model)
    for seed in range(10):
        segment = make_segment(seed)
        h = hyper._replace(final_values=segment.final_values if c.bootstrap_truncated else None)
        expected = reference.update(
            expected, segment.obs, segment.actions, segment.rewards, segment.mus, segment.dones, h
        )
        model.train(segment, lr=0.1)
    for group, actual in zip(expected, state_of(model), strict=True):
        for ours, theirs in zip(actual, group, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


def rare_action(segment: Segment) -> Segment:
    """Every action was all but impossible for the behaviour policy: ratios near a million."""
    mus = np.full_like(segment.mus, 1 / (NACT - 1))
    np.put_along_axis(mus, segment.actions[..., None], 0.0, -1)
    return segment._replace(mus=mus)


def all_done(segment: Segment) -> Segment:
    masks = np.ones_like(segment.masks)
    return segment._replace(masks=masks, dones=masks[:, 1:])


def one_step(segment: Segment) -> Segment:
    cut = {name: getattr(segment, name)[:, :1] for name in ("actions", "rewards", "mus", "dones", "final_values")}
    return segment._replace(enc_obs=segment.obs[:, :2], obs=segment.obs[:, :2], masks=segment.masks[:, :2], **cut)


@pytest.mark.parametrize("extreme", [rare_action, all_done, one_step])
def test_the_gradient_of_extreme_segments_equals_the_float64_reference(extreme: Callable[[Segment], Segment]) -> None:
    model = make_model(linear, gamma=0.9, ent_coef=0.05, delta=0.1, nsteps=1 if extreme is one_step else NSTEPS)
    c, segment = model.config, extreme(make_segment())
    h = Hyper(0.9, c.c, c.delta, True, 0.5, 0.05, None, 0.1, c.rprop_alpha, c.rprop_epsilon, c.alpha)
    expected = reference.linear_gradient(
        state_of(model), segment.obs, segment.actions, segment.rewards, segment.mus, segment.dones, h
    )
    for ours, theirs in zip(model.gradients(segment).raw, expected, strict=True):
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5 * np.abs(theirs).max())


def test_everything_acts_in_these_cases() -> None:
    gradients = make_model(linear, c=1.5, delta=0.1, max_grad_norm=0.01).gradients(make_segment(0))
    assert 0.2 < (gradients.trust_region.projection.adj.numpy() > 0).mean() < 1
    assert (gradients.losses.rho_i.numpy() > 1.5).any()
    assert (gradients.losses.gain.bc.numpy() != 0).any()
    assert gradients.norm > 0.1
    np.testing.assert_allclose(tf.linalg.global_norm(gradients.clipped), 0.01, rtol=1e-5)


@pytest.mark.parametrize(("config", "value_network"), [(CONFIGS[1], "shared"), (CONFIGS[3], "copy")])
def test_train_and_train_and_report_end_equal(config: dict[str, Any], value_network: str) -> None:
    models = [make_model(network_kwargs={"value_network": value_network}, **config) for _ in range(2)]
    assert_same(*models)
    for seed in range(5):
        models[0].train(make_segment(seed), lr=0.01)
        models[1].train_and_report(make_segment(seed), lr=0.01)
    assert_same(*models)
    before = arrays(make_model(network_kwargs={"value_network": value_network}, **config))
    assert all((before[name] != array).any() for name, array in arrays(models[0]).items())


@pytest.mark.parametrize("kind", ["mlp", "lstm", "lstm from zero", "continuous"])
def test_calls_without_dispatch_and_unread_arrays_equal_plain_ones_to_the_bit(kind: str) -> None:
    make, segment_of = MANY[kind]
    model, plain = make(), make()
    plain._unread = {"enc_obs": (), "dones": ()}
    plain._train = tf.function(plain._update, autograph=False)
    for seed in range(3):
        model.train(segment_of(seed), lr=0.01)
        plain.train(segment_of(seed), lr=0.01)
    assert_same(model, plain)


def lstm_segment(seed: int) -> Segment:
    return make_segment(seed)._replace(states=np.random.default_rng(seed).normal(size=(NENVS, 16)).astype(np.float32))


LSTM = {"network": "lstm", "network_kwargs": {"nlstm": 8}, "replay_state": "stored", "burn_in": 1}
MANY: dict[str, tuple[Callable[[], Model], Callable[[int], Segment]]] = {
    "mlp": (lambda: make_model(delta=0.1, c=1.5), make_segment),
    "lstm": (lambda: make_model(**LSTM), lstm_segment),
    "lstm from zero": (lambda: make_model(**LSTM | {"replay_state": "zero"}), lstm_segment),
    "continuous": (gaussian_agents.make_model, lambda seed: gaussian_agents.make_segment(2, seed)),
}


@pytest.mark.parametrize("case", MANY)
def test_many_updates_in_one_call_equal_single_ones_to_the_bit(case: str) -> None:
    make, segment = MANY[case]
    one_by_one, at_once = make(), make()
    for number in (3, 1, 4):
        segments = [segment(10 * number + i) for i in range(number)]
        for each in segments:
            one_by_one.train(each, lr=0.01 * number)
        at_once.train_many(segments, lr=0.01 * number)
    assert_same(one_by_one, at_once)
    assert one_by_one.updates == at_once.updates == 8
    np.testing.assert_array_equal(one_by_one.state_dict()["random"], at_once.state_dict()["random"])
    assert at_once._train_many.traces == 1


def test_of_many_updates_only_the_one_that_is_not_finite_is_refused() -> None:
    one_by_one, at_once = make_model(), make_model()
    segments = [make_segment(seed) for seed in range(4)]
    segments[2] = with_one(segments[2], "rewards", np.nan)
    for segment in segments[:2]:
        one_by_one.train(segment, lr=0.1)
    with pytest.raises(NotFiniteError, match=r"^the reward is not finite, so the update was not made") as error:
        at_once.train_many(segments, lr=0.1)
    np.testing.assert_array_equal(error.value.batch["rewards"], segments[2].rewards)
    assert_same(one_by_one, at_once)
    assert one_by_one.updates == at_once.updates == 2


def test_an_update_that_fails_after_a_call_of_many_blames_its_own_segment() -> None:
    model, bad = make_model(), with_one(make_segment(9), "rewards", np.nan)
    model.train_many([make_segment(seed) for seed in range(3)], lr=0.1)
    with pytest.raises(NotFiniteError, match=r"^the reward is not finite") as error:
        model.train(bad, lr=0.1)
    np.testing.assert_array_equal(error.value.batch["rewards"], bad.rewards)
    assert model.updates == 3


def test_without_trust_region_the_gradient_is_that_of_the_loss() -> None:
    model = make_model(trust_region=False, c=1.5, max_grad_norm=None)
    segment = make_segment()
    with tf.GradientTape() as tape:
        loss = model.policy.losses(model.policy.evaluate(segment, model.config), segment, model.config).loss
    gradients = model.gradients(segment)
    assert gradients.trust_region is None
    for ours, plain, clipped in zip(gradients.raw, tape.gradient(loss, model.params), gradients.clipped, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(ours, clipped)


def test_a_huge_delta_is_as_no_trust_region() -> None:
    segment = make_segment()
    wide, off, narrow = (
        make_model(c=1.5, **config).gradients(segment).raw
        for config in ({"delta": 1e9}, {"trust_region": False}, {"delta": 0.01})
    )
    for one, other in zip(wide, off, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    assert any(not np.allclose(one, other, atol=1e-3) for one, other in zip(narrow, off, strict=True))


def test_gradients_are_the_sum_of_a_policy_and_a_critic_part_and_change_nothing() -> None:
    model = make_model(network_kwargs={"value_network": "copy"}, delta=0.1)
    before, segment = arrays(model), make_segment()
    gradients = model.gradients(segment)
    reached = {"pi": (True, False), "vf": (False, True)}
    for name, raw, policy, critic in zip(
        model.policy.params, gradients.raw, gradients.policy, gradients.critic, strict=True
    ):
        by_policy, by_critic = reached[name.split("/")[0].removesuffix("_head").replace("q", "vf")]
        assert ((policy is not None), (critic is not None)) == (by_policy, by_critic), name
        parts = [part.numpy() for part in (policy, critic) if part is not None]
        np.testing.assert_allclose(raw, sum(parts), rtol=1e-5, atol=1e-7)
    z = gradients.trust_region.projection.z.numpy()
    np.testing.assert_allclose(gradients.grad_f, -z / (NENVS * NSTEPS), rtol=1e-6)
    assert ((gradients.trust_region.k.numpy() * z).sum(axis=-1) <= 0.1 + 1e-4).all()
    for name, array in arrays(model).items():
        np.testing.assert_array_equal(array, before[name])


def test_report_has_baselines_names_then_ours_and_the_values_of_gradients() -> None:
    model, segment = make_model(delta=0.1, max_grad_norm=0.01, c=1.5), make_segment()
    gradients = model.gradients(segment)
    report = model.train_and_report(segment, lr=0.01)
    projection = gradients.trust_region.projection
    norms = [np.linalg.norm(x, axis=-1).mean() for x in (projection.z, gradients.trust_region.k, gradients.g)]
    expected = {
        **{name: getattr(gradients.losses, name) for name in list(report)[:7]},
        "norm_grads": tf.linalg.global_norm(gradients.raw),
        "norm_grads_q": tf.linalg.global_norm([x for x in gradients.critic if x is not None]),
        "norm_grads_policy": tf.linalg.global_norm([x for x in gradients.policy if x is not None]),
        "avg_norm_grads_f": norms[0],
        "avg_norm_k": norms[1],
        "avg_norm_g": norms[2],
        "avg_norm_k_dot_g": np.abs(projection.k_dot_g).mean(),
        "avg_norm_adj": np.abs(projection.adj).mean(),
        "mean_rho": gradients.losses.rho_i.numpy().mean(),
        "truncated_share": (gradients.losses.rho_i.numpy() > 1.5).mean(),
        "trust_region_share": (projection.adj.numpy() > 0).mean(),
        "average_kl": model.policy.kl(gradients.trust_region.f_avg, gradients.evaluation.f).numpy().mean(),
    }
    assert list(report) == list(expected)
    assert list(report)[:7] == [
        "loss", "loss_q", "entropy", "loss_policy", "loss_f", "loss_bc", "explained_variance",
    ]  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose(report[name], value, rtol=1e-5, err_msg=name)
        assert type(report[name]) is float
    assert all(0 < report[name] < 1 for name in ("truncated_share", "trust_region_share"))
    without = make_model(trust_region=False).train_and_report(segment, lr=0.01)
    assert list(without) == [*list(expected)[:8], "mean_rho", "truncated_share"]


def test_average_starts_at_the_parameters_and_follows_the_new_ones() -> None:
    fresh = Model(make_model().policy, make_model(alpha=0.8).config, 0)
    for average, param in zip(fresh.averages, fresh.params, strict=True):
        np.testing.assert_array_equal(average, param)
    model = make_model(alpha=0.8)
    before = [average.numpy() for average in model.averages]
    model.train(make_segment(), lr=0.1)
    for average, old, param in zip(model.averages, before, model.params, strict=True):
        np.testing.assert_allclose(average, 0.8 * old + 0.2 * param.numpy(), rtol=1e-5, atol=1e-6)


def test_learning_rate_of_zero_moves_only_slots_and_average() -> None:
    model = make_model()
    before = arrays(model)
    model.train(make_segment(), lr=0.0)
    changed = {name.split("/")[0] for name, array in arrays(model).items() if (array != before[name]).any()}
    assert changed == {"ms", "average"}


def test_one_trace_per_mode_and_shape() -> None:
    model = make_model()
    for seed in range(4):
        model.train(make_segment(seed), lr=0.1 / (seed + 1))
        model.train_and_report(make_segment(seed), lr=0.1 / (seed + 1))
        model.act(make_segment(seed).obs[:, 0], model.initial_state(NENVS), np.zeros(NENVS, np.bool_))
    assert [traced.traces for traced in (model._train, model._metrics, model.actor._sample)] == [1, 1, 1]
    model.train(make_segment(nsteps=3), lr=0.1)
    model.train(make_segment(nsteps=3), lr=0.1)
    assert model._train.traces == 2


@pytest.mark.slow
def test_nothing_is_traced_twice_in_ten_thousand_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[Traced] = []
    trace = Traced._trace

    def noted(self: Traced, *arguments: Any) -> Any:
        traced.append(self)
        return trace(self, *arguments)

    monkeypatch.setattr(Traced, "_trace", noted)
    agent = tiny(replay_ratio=4)
    agent.learn(21_000, log_interval=50)
    assert agent.model.updates >= 10_000
    assert len(traced) == len({id(mode) for mode in traced}) >= 3  # new segments, replay, metrics, acting


def test_acting_draws_from_the_probabilities_it_gives() -> None:
    model = make_model(seed=1)
    obs = np.repeat(np.random.default_rng(0).normal(size=(1, NFEATURES)), 1000, axis=0).astype(np.float32)
    calls = [model.act(obs, model.initial_state(1000), np.zeros(1000, np.bool_)) for _ in range(5)]
    mus = calls[0].mus
    logits = model.policy.network(obs[:, None], np.zeros((1000, 1), np.bool_), model.initial_state(1000)).logits[:, 0]
    np.testing.assert_allclose(mus, reference.softmax(logits.numpy()), rtol=1e-5)
    assert (calls[0].actions.dtype, mus.dtype, calls[0].state.shape) == (np.int64, np.float32, (1000, 0))
    actions = np.stack([call.actions for call in calls])
    assert len(np.unique(actions, axis=0)) == 5, "the stream goes on from call to call"
    expected = 5000 * mus[0]
    counts = np.bincount(actions.ravel(), minlength=NACT)
    assert expected.min() > 100
    assert ((counts - expected) ** 2 / expected).sum() < 13.8  # 99.9 % of χ² with 2 degrees of freedom


def test_actions_follow_from_the_seed() -> None:
    obs, mask = np.zeros((100, NFEATURES), np.float32), np.zeros(100, np.bool_)
    policy, config = make_model().policy, make_model().config
    first, again, other = (Model(policy, config, seed) for seed in (1, 1, 2))
    state = first.initial_state(100)
    for _ in range(3):
        actions = first.act(obs, state, mask).actions
        np.testing.assert_array_equal(actions, again.act(obs, state, mask).actions)
        assert (actions != other.act(obs, state, mask).actions).any()


def test_saved_and_loaded_models_are_the_same_and_train_alike(tmp_path: Path) -> None:
    model, other = make_model(), make_model(seed=9)
    for seed in range(3):
        model.train(make_segment(seed), lr=0.1)
    model.save(tmp_path / "model.npz")
    other.load(tmp_path / "model.npz")
    assert_same(model, other)
    for trained in (model, other):
        trained.train(make_segment(4), lr=0.1)
    assert_same(model, other)
    with np.load(tmp_path / "model.npz") as file:
        assert {name.split("/")[0] for name in file.files} == {"param", "average", "ms", "mom"}
        assert len(file.files) == 4 * len(model.params)


def refuse(model: Model, path: Path, message: str) -> None:
    before = arrays(model)
    with pytest.raises(InputError, match=message):
        model.load(path)
    for name, array in arrays(model).items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize(
    ("network_kwargs", "message"),
    [
        ({"num_hidden": 7}, r"of another network: average/pi/mlp_fc0/bias has shape \(7,\) there, \(8,\) here"),
        ({"num_layers": 1}, r"average/pi/mlp_fc1/bias has shape none there, \(8,\) here"),
        ({"num_layers": 3}, r"average/pi/mlp_fc2/bias has shape \(8,\) there, none here"),
        ({"value_network": "copy"}, "average/vf/"),
    ],
)
def test_weights_of_another_network(tmp_path: Path, network_kwargs: dict[str, Any], message: str) -> None:
    make_model(network_kwargs=network_kwargs).save(tmp_path / "other.npz")
    refuse(make_model(), tmp_path / "other.npz", message)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path, model = tmp_path / "model.npz", make_model()
    refuse(model, path, "model.npz is not a file")
    make_model(seed=1).save(path)
    whole = path.read_bytes()
    for size in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        refuse(model, path, "not a readable npz file")
    flipped = bytearray(whole)
    flipped[whole.index(b"\x93NUMPY") + 200] ^= 1
    path.write_bytes(flipped)
    refuse(model, path, "not a readable npz file")


def test_a_state_comes_back_with_the_random_stream() -> None:
    model, other = make_model(), make_model(seed=9)
    obs, mask = np.zeros((50, NFEATURES), np.float32), np.zeros(50, np.bool_)
    start = model.initial_state(50)
    for seed in range(3):
        model.train(make_segment(seed), lr=0.1)
        model.act(obs, start, mask)
    state = model.state_dict()
    other.load_state_dict(state)
    for seed in range(3):
        np.testing.assert_array_equal(model.act(obs, start, mask).actions, other.act(obs, start, mask).actions)
        model.train(make_segment(seed), lr=0.1)
        other.train(make_segment(seed), lr=0.1)
    assert_same(model, other)
    assert any((array != model.state_dict()[name]).any() for name, array in state.items()), "it was a copy"


def test_the_state_of_another_network_changes_nothing() -> None:
    model, other = make_model(), make_model(network_kwargs={"num_hidden": 9})
    before = model.state_dict()
    with pytest.raises(InputError, match="the checkpoint is damaged, or of another network: average/"):
        model.load_state_dict(other.state_dict())
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


@pytest.mark.parametrize("name", ["param/q_head/bias", "average/q_head/bias", "ms/q_head/bias"])
def test_a_state_that_is_not_finite_changes_nothing(name: str) -> None:
    model = make_model()
    before = model.state_dict()
    other = {key: array + 1 for key, array in before.items()}
    with pytest.raises(InputError, match=f"the checkpoint is damaged: {name} holds a number that is not finite"):
        model.load_state_dict(other | {name: before[name] * np.nan})
    for key, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[key], err_msg=key)


def with_one(segment: Segment, field: str, value: float) -> Segment:
    array = getattr(segment, field).copy()
    array[0, 1] = value
    return segment._replace(**{field: array})


@pytest.mark.parametrize("max_grad_norm", [10, None])
def test_an_update_that_is_not_finite_is_refused_and_named(max_grad_norm: float | None) -> None:
    model = make_model(max_grad_norm=max_grad_norm)
    before = arrays(model)
    for field, value, name in (
        ("rewards", np.nan, "the reward"),
        ("rewards", 3e38, "the loss"),
        ("mus", np.nan, "the behaviour policy mu"),
        ("obs", np.inf, "the policy f"),
    ):
        bad = with_one(make_segment(), field, value)
        for train in (model.train, model.train_and_report):
            with pytest.raises(NotFiniteError, match=rf"^{name} is not finite, so the update was not made") as error:
                train(bad, lr=0.1)
            np.testing.assert_array_equal(error.value.batch[field], getattr(bad, field))
            for parameter, array in arrays(model).items():
                np.testing.assert_array_equal(array, before[parameter], err_msg=parameter)
    model.train(make_segment(), lr=0.1)
    assert any((array != before[parameter]).any() for parameter, array in arrays(model).items())


def test_parameters_are_freed_with_their_model() -> None:
    model = make_model()
    model.train(make_segment(), 1e-3)
    kept = [weakref.ref(variable) for variable in (*model.params, *model.averages)]
    del model
    gc.collect()
    assert all(reference() is None for reference in kept)
