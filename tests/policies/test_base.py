"""States: in replay as when acting."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.errors import InputError
from acer_tf.model import Model
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.runner import Runner
from acer_tf.segment import Segment
from tests.agents import NACT, NENVS, NFEATURES, NSTEPS, make_model, make_policy, make_segment

STORED = Config(replay_state="stored")
POLICIES = {
    "lstm": {"nlstm": 4},
    "lnlstm": {"nlstm": 3, "value_network": "copy"},
}


def recurrent_policy(network: str = "lstm", seed: int = 0) -> CategoricalPolicy:
    """A policy with weights of order 1, so that a state makes a difference."""
    policy = make_policy(network, seed, **POLICIES[network])
    random = np.random.default_rng(seed)
    for variable in policy.params.values():
        variable.assign(random.normal(size=variable.shape))
    return policy


def recurrent_segment(policy: CategoricalPolicy, seed: int = 0, **kwargs: int) -> Segment:
    segment = make_segment(seed, **kwargs)
    shape = policy.initial_state(len(segment.obs)).shape
    return segment._replace(states=np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def steps(segment: Segment, first: int, last: int) -> Segment:
    """Steps `first` to `last` - 1, the bootstrap step at `last`."""
    names = ("actions", "rewards", "mus", "dones", "final_values")
    cut = {name: getattr(segment, name)[:, first:last] for name in names}
    return segment._replace(obs=segment.obs[:, first : last + 1], masks=segment.masks[:, first : last + 1], **cut)


def assert_close(ours: Any, theirs: Any) -> None:
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@settings(deadline=None, max_examples=15)
@given(network=st.sampled_from(list(POLICIES)), seed=st.integers(0, 99), reset=st.integers(1, NSTEPS - 1))
def test_a_segment_with_a_reset_inside_equals_two_segments(network: str, seed: int, reset: int) -> None:
    policy = recurrent_policy(network)
    segment = recurrent_segment(policy, seed)
    segment.masks[:, reset] = True
    whole = policy.evaluate(segment, STORED)
    before = policy.evaluate(steps(segment, 0, reset), STORED)
    after = policy.evaluate(steps(segment, reset, NSTEPS), Config())  # from the zero state
    f, q = (np.concatenate(pair, axis=1) for pair in zip(before[:2], after[:2], strict=True))
    assert_close(whole[:3], (f, q, after.bootstrap_v))


@settings(deadline=None, max_examples=15)
@given(network=st.sampled_from(list(POLICIES)), seed=st.integers(0, 99), nenvs=st.integers(1, 4))
def test_a_batch_of_environments_equals_each_alone(network: str, seed: int, nenvs: int) -> None:
    policy = recurrent_policy(network)
    segment = recurrent_segment(policy, seed, nenvs=nenvs)
    together = policy.evaluate(segment, STORED)
    for env in range(nenvs):
        alone = policy.evaluate(Segment(*(array[env : env + 1] for array in segment)), STORED)
        assert_close(alone[:3], (array[env : env + 1] for array in together[:3]))


@pytest.mark.parametrize("network", POLICIES)
def test_acting_does_not_depend_on_the_number_of_environments(network: str) -> None:
    model = Model(recurrent_policy(network), Config(), seed=0)
    segment = recurrent_segment(model.policy, nenvs=3, nsteps=6)
    together, alone = segment.states, [segment.states[env : env + 1] for env in range(3)]
    for t in range(6):
        obs, masks = segment.obs[:, t], segment.masks[:, t]
        _, mus, together = model.act(obs, together, masks)
        for env in range(3):
            own = slice(env, env + 1)
            _, mu, alone[env] = model.act(obs[own], alone[env], masks[own])
            assert_close((mu, alone[env]), (mus[own], together[own]))


@pytest.mark.parametrize("network", POLICIES)
def test_acting_step_by_step_equals_training_in_one_go(network: str) -> None:
    model = Model(recurrent_policy(network), STORED, seed=0)
    segment = recurrent_segment(model.policy)
    given_state, state, mus = segment.states.copy(), segment.states, []
    for t in range(NSTEPS):
        _, mu, state = model.act(segment.obs[:, t], state, segment.masks[:, t])
        mus.append(mu)
    np.testing.assert_allclose(np.stack(mus, axis=1), model.policy.evaluate(segment, STORED).f, rtol=1e-5, atol=1e-6)
    assert (state.dtype, state.shape) == (np.float32, segment.states.shape)
    np.testing.assert_array_equal(segment.states, given_state)


@pytest.mark.parametrize("replay_state", ["zero", "stored"])
def test_steps_of_the_burn_in_only_warm_the_state_up(replay_state: str) -> None:
    """An update is then that of the other steps alone, from the state that the burn-in ends with."""
    configs = {"burn_in": 2, "replay_state": replay_state}, {"replay_state": "stored"}
    common: dict[str, Any] = {"network_kwargs": {"nlstm": 4}, "trust_region": False, "bootstrap_truncated": True}
    model, other = (make_model("lstm", **common, **kw) for kw in configs)
    segment = recurrent_segment(model.policy)
    start = segment if replay_state == "stored" else segment._replace(states=model.initial_state(NENVS))
    warmed = steps(segment, 2, NSTEPS)
    ours = model.gradients(segment)
    theirs = other.gradients(warmed._replace(states=warmed_up(model, start, model.params)))
    assert ours.evaluation.f.shape == (NENVS, NSTEPS - 2, NACT)
    assert_close(ours.evaluation[:3], theirs.evaluation[:3])
    assert_close(ours.losses[:6], theirs.losses[:6])
    assert_close(ours.raw, theirs.raw)

    average_start = warmed._replace(states=warmed_up(model, start, model.averages))
    f_avg = model.policy.average_statistics(segment, model.averages, model.config)
    assert_close([f_avg], [other.policy.average_statistics(average_start, other.averages, other.config)])


def warmed_up(model: Model, segment: Segment, weights: list[tf.Variable]) -> NDArray[np.float32]:
    """The state after two steps with these weights."""
    with keras.StatelessScope(state_mapping=zip(model.policy.params.values(), weights, strict=True)):
        state: NDArray[np.float32] = model.policy.network(segment.obs[:, :2], segment.masks[:, :2], segment.states)[-1]
    return np.asarray(state)


@pytest.mark.parametrize("config", [Config(), STORED, Config(burn_in=2)])
def test_the_average_policy_has_a_state_of_its_own(config: Config) -> None:
    policy, other = recurrent_policy(seed=0), recurrent_policy(seed=1)
    segment = recurrent_segment(policy)
    averages = [tf.Variable(variable.value) for variable in other.params.values()]
    f_avg = policy.average_statistics(segment, averages, config)
    assert_close([f_avg], [other.evaluate(segment, config).f])
    assert np.abs(f_avg - policy.evaluate(segment, config).f).max() > 0.01


def test_zero_ignores_the_stored_state_and_stored_uses_it() -> None:
    policy = recurrent_policy()
    segment = recurrent_segment(policy)._replace(masks=np.zeros((NENVS, NSTEPS + 1), np.bool_))
    emptied = segment._replace(states=policy.initial_state(NENVS))
    zero, stored = policy.evaluate(segment, Config()), policy.evaluate(segment, STORED)
    assert_close(zero[:3], policy.evaluate(emptied, STORED)[:3])
    assert np.abs(zero.f - stored.f).max() > 0.01


@pytest.mark.parametrize("burn_in", [0, 2])
def test_fields_that_are_not_read_may_be_missing(burn_in: int) -> None:
    policy, config = recurrent_policy(), Config(burn_in=burn_in)
    whole = recurrent_segment(policy)
    without = whole._replace(states=(), final_values=())
    ours, expected = (
        policy.losses(policy.evaluate(segment, config), policy.trained_part(segment, config), config)
        for segment in (without, whole)
    )
    assert_close(ours[:7], expected[:7])


def test_ratios_on_policy_are_one_with_stored_states_only() -> None:
    """Right after collecting, on segments that start in the middle of episodes; actions' probabilities over mus."""
    env = make_training_env("CartPole-v1", 4)
    policy = CategoricalPolicy(
        "lstm", env.single_observation_space, env.single_action_space, np.random.RandomState(0), nlstm=16
    )
    head = policy.params["pi_head/kernel"]
    head.assign(100 * head.value)
    model = Model(policy, Config(replay_state="stored", rprop_alpha=0.9), seed=0)
    runner = Runner(env, model, 20, seed=0)
    for _ in range(30):
        model.train(runner.run(), 0.03)
    off: dict[str, list[NDArray[Any]]] = {"zero": [], "stored": []}
    mid_episode = 0
    for _ in range(8):
        segment = runner.run()
        mid_episode += (~segment.masks[:, 0]).sum()
        for replay_state, errors in off.items():
            f = policy.evaluate(segment, Config(replay_state=replay_state)).f
            errors.append(np.abs(np.asarray(f) / segment.mus - 1))
    env.close()
    assert mid_episode > 16
    assert np.max(off["stored"]) < 1e-5
    share = np.mean(np.array(off["zero"]) > 1e-3)
    print(f"ratios off by more than 1e-3 from the zero state: {share:.0%}, at most {np.max(off['zero']):.2f}")
    assert share > 0.2


@pytest.mark.parametrize("state", [None, 0.0, np.zeros((NENVS, 7)), np.zeros((NENVS + 1, 8)), np.zeros(8)])
def test_a_state_of_another_shape(state: Any) -> None:
    model = make_model("lstm", network_kwargs={"nlstm": 4})
    with pytest.raises(InputError, match=r"^the state has shape .*; expected \(2, 8\) \(environments, numbers in"):
        model.act(np.zeros((NENVS, NFEATURES), np.float32), state, np.zeros(NENVS, np.bool_))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"replay_state": "stored"},
            "replay_state is 'stored', but the network has no state; .* or replay_state 'zero'",
        ),
        ({"burn_in": 3}, "burn_in is 3, but the network has no state; choose a recurrent network such as lstm"),
    ],
)
def test_states_asked_of_a_feed_forward_network(config: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_model(**config)


@pytest.mark.parametrize("network", POLICIES)
def test_values_are_those_of_the_next_step(network: str) -> None:
    """Of the last observation, from the state after the last step: what a segment bootstraps from if it ends there."""
    model = Model(recurrent_policy(network), STORED, seed=0)
    segment = recurrent_segment(model.policy)
    segment.masks[:, -1] = False
    state = segment.states
    for t in range(NSTEPS):
        state = model.act(segment.obs[:, t], state, segment.masks[:, t]).state
    expected = model.policy.evaluate(segment, STORED).bootstrap_v
    np.testing.assert_allclose(model.actor.values(segment.obs[:, NSTEPS], state), expected, rtol=1e-4, atol=1e-5)
