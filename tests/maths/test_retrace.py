import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from acer_tf.maths.retrace import retrace
from tests import reference

GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "small_math.npz")
CASES = json.loads(str(GOLDEN["config"]))["retrace"]

Array = NDArray[Any]


def solve(arrays: dict[str, Array], gamma: float) -> Array:
    return retrace(**{name: tf.constant(array) for name, array in arrays.items()}, gamma=gamma).numpy()


def inputs(nenvs: int, nsteps: int, seed: int, dones: float = 0.2) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    return {
        "rewards": random.normal(size=(nenvs, nsteps)),
        "continues": (random.random((nenvs, nsteps)) >= dones).astype(np.float64),
        "q_i": 3 * random.normal(size=(nenvs, nsteps)),
        "v": 3 * random.normal(size=(nenvs, nsteps + 1)),
        "rho_i": random.gamma(1.0, 1.0, (nenvs, nsteps)),
    }


@pytest.mark.parametrize("j", range(len(CASES)))
def test_equals_what_baselines_recorded(j: int) -> None:
    case = CASES[j]
    flat = {name: GOLDEN[f"retrace/{j}/{name}"] for name in ("R", "D", "q_i", "v", "rho_i", "qret")}
    by_env = {name: array.reshape(case["nenvs"], -1) for name, array in flat.items()}
    continues = (1 - by_env["D"]).astype(np.float32)
    q_ret = retrace(by_env["R"], continues, by_env["q_i"], by_env["v"], by_env["rho_i"], case["gamma"])
    np.testing.assert_allclose(q_ret, by_env["qret"], rtol=1e-5, atol=1e-5)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 4), st.integers(1, 25), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**32))
def test_equals_the_loop(nenvs: int, nsteps: int, gamma: float, dones: float, seed: int) -> None:
    arrays = inputs(nenvs, nsteps, seed, dones)
    expected = reference.retrace(**arrays, gamma=gamma)
    np.testing.assert_allclose(solve(arrays, gamma), expected, rtol=1e-10, atol=1e-10)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 10), st.integers(1, 10), st.integers(0, 2**32))
def test_two_episodes_in_a_segment_are_as_two_segments(first: int, second: int, seed: int) -> None:
    arrays = inputs(2, first + second, seed, dones=0.0)
    arrays["continues"][:, first - 1] = 0
    together = solve(arrays, 0.9)
    head = {name: array[:, :first] for name, array in arrays.items()} | {"v": arrays["v"][:, : first + 1]}
    tail = {name: array[:, first:] for name, array in arrays.items()}
    apart = [solve(part, 0.9) for part in (head, tail)]
    np.testing.assert_allclose(together, np.concatenate(apart, axis=1), rtol=1e-12, atol=1e-12)


def test_nothing_after_an_end_counts() -> None:
    arrays = inputs(1, 6, seed=0, dones=0.0)
    arrays["continues"][0, 3] = 0
    changed = {name: array.copy() for name, array in arrays.items()}
    for name in ("rewards", "q_i", "rho_i", "v"):
        changed[name][:, 4:] += 5
    before, after = (solve(x, 0.99) for x in (arrays, changed))
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert before[0, 3] == arrays["rewards"][0, 3]
    assert (before[:, 4:] != after[:, 4:]).all()


def test_without_corrections_it_is_the_discounted_return() -> None:
    arrays = inputs(3, 8, seed=1, dones=0.0)
    arrays["rho_i"][:] = 1
    arrays["q_i"] = arrays["v"][:, :-1]
    discounts = 0.9 ** np.arange(8)
    q_ret = solve(arrays, 0.9)
    np.testing.assert_allclose(q_ret[:, 0], arrays["rewards"] @ discounts + 0.9**8 * arrays["v"][:, 8])


def test_one_step_bootstraps_whatever_the_ratio_is() -> None:
    arrays = inputs(5, 1, seed=2, dones=0.0)
    expected = arrays["rewards"] + 0.9 * arrays["v"][:, 1:]
    np.testing.assert_allclose(solve(arrays, 0.9), expected)


@pytest.mark.parametrize("nsteps", [1, 2, 5])
def test_a_graph_gives_the_same(nsteps: int) -> None:
    arrays = {name: array.astype(np.float32) for name, array in inputs(3, nsteps, seed=4).items()}
    graph = tf.function(lambda tensors: retrace(**tensors, gamma=0.9))
    np.testing.assert_allclose(graph(arrays), retrace(**arrays, gamma=0.9), rtol=1e-6)


def test_ratios_are_truncated_at_one() -> None:
    arrays = inputs(3, 8, seed=3)
    arrays["rho_i"] += 1
    large = solve(arrays, 0.9)
    arrays["rho_i"][:] = 1
    np.testing.assert_array_equal(large, solve(arrays, 0.9))


def test_no_gradient_flows_through_it() -> None:
    variables = {name: tf.constant(array) for name, array in inputs(2, 5, seed=4).items()}
    with tf.GradientTape() as tape:
        tape.watch(variables)
        q_ret = retrace(**variables, gamma=0.9)
    assert set(tape.gradient(q_ret, variables).values()) == {None}


@pytest.mark.parametrize("name", ["rewards", "continues", "q_i", "v", "rho_i"])
def test_other_shapes_are_refused(name: str) -> None:
    arrays = inputs(2, 5, seed=0)
    with pytest.raises(ValueError, match="dimension"):
        solve(arrays | {name: arrays[name][:, 1:]}, 0.9)
