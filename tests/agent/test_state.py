import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acer_tf
from acer_tf.agent import ACER
from acer_tf.errors import InputError
from tests.small_agents import everything, observations, tiny

KERNEL = "pi_head/kernel"


@pytest.fixture(scope="module")
def agent() -> ACER:
    return tiny()


def test_parameters_by_name_and_as_variables(agent: ACER) -> None:
    arrays = agent.get_parameters()
    assert list(arrays) == [
        "pi/mlp_fc0/kernel", "pi/mlp_fc0/bias", "pi_head/kernel", "pi_head/bias", "q_head/kernel", "q_head/bias",
    ]  # fmt: skip
    for variable, array in zip(agent.get_parameter_list(), arrays.values(), strict=True):
        np.testing.assert_array_equal(variable, array)
    arrays[KERNEL] += 1
    assert (agent.get_parameters()[KERNEL] != arrays[KERNEL]).all(), "they are copies"


def test_loaded_parameters_decide_what_the_policy_does(agent: ACER) -> None:
    other = tiny(seed=3)
    other.load_parameters(agent.get_parameters())
    obs = observations(agent)
    np.testing.assert_array_equal(other.action_probability(obs), agent.action_probability(obs))


def test_some_of_the_parameters() -> None:
    agent = tiny()
    before = everything(agent)
    agent.load_parameters({KERNEL: np.ones((4, 2))}, exact_match=False)
    after = everything(agent)
    changed = {name for name, array in after.items() if (array != before[name]).any()}
    assert changed == {f"param/{KERNEL}", f"average/{KERNEL}"}
    assert (after[f"param/{KERNEL}"] == 1).all() and (after[f"average/{KERNEL}"] == 1).all()


def without(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: array for key, array in arrays.items() if key != name}


@pytest.mark.parametrize(
    ("change", "exact_match", "message"),
    [
        (lambda a: without(a, KERNEL), True, r"the parameters lack pi_head/kernel; exact_match=False leaves these"),
        (lambda a: {}, True, r"lack pi/mlp_fc0/kernel, pi/mlp_fc0/bias, pi_head/kernel and 3 more"),
        (lambda a: {}, False, "no parameters are given; the model has pi/mlp_fc0/kernel, pi/mlp_fc0/bias, pi_head/"),
        (lambda a: a | {"pi_head/scale": np.ones(2)}, True, "the model has no pi_head/scale; get_parameters"),
        (lambda a: {"pi_head/scale": np.ones(2)}, False, "the model has no pi_head/scale"),
        (lambda a: a | {KERNEL: np.ones((2, 4))}, True, r"pi_head/kernel has shape \(2, 4\); expected \(4, 2\)"),
        (lambda a: {KERNEL: "abc"}, False, "pi_head/kernel is of type <U3; expected numbers"),
        (lambda a: a | {KERNEL: a[KERNEL] * 1j}, True, "is of type complex64; expected numbers"),
        (lambda a: a | {KERNEL: a[KERNEL] * np.nan}, True, "pi_head/kernel holds a number that is not finite"),
        (lambda a: a | {KERNEL: np.full((4, 2), -np.inf)}, True, "pi_head/kernel holds a number that is not finite"),
        (lambda a: a | {KERNEL: np.full((4, 2), 1e300)}, True, "not finite; expected finite numbers of type float32"),
    ],
)
def test_what_does_not_fit_is_named_and_changes_nothing(
    agent: ACER, change: Any, exact_match: bool, message: str
) -> None:
    before = everything(agent)
    other = {name: array + 1 for name, array in agent.get_parameters().items()}
    with pytest.raises(InputError, match=message):
        agent.load_parameters(change(other), exact_match)
    for name, array in everything(agent).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_a_file_that_is_none(agent: ACER, tmp_path: Any) -> None:
    with pytest.raises(InputError, match="absent is not a file; expected the file of a trained agent"):
        agent.load_parameters(tmp_path / "absent")
    with pytest.raises(InputError, match="it is a list; expected a path, or a file open for reading"):
        agent.load_parameters([np.zeros(3)])  # type: ignore[arg-type]


USE_ONE_THREAD = """
import tensorflow as tf
from acer_tf import ACER
agent = ACER("mlp", "CartPole-v1", n_cpu_tf_sess=1)
print(tf.config.threading.get_intra_op_parallelism_threads(), tf.config.threading.get_inter_op_parallelism_threads())
"""


def test_threads_are_set_before_tensorflow_starts() -> None:
    root = Path(acer_tf.__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", USE_ONE_THREAD], check=True, capture_output=True, text=True, cwd=root)
    assert done.stdout.split() == ["1", "1"]


def test_when_tensorflow_has_started_it_is_said_that_it_is_too_late() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny(n_cpu_tf_sess=None)
    with pytest.warns(UserWarning, match="TensorFlow has started with .* threads; it is too late for 63") as caught:
        ACER("mlp", "CartPole-v1", n_cpu_tf_sess=63)
    assert caught[0].filename == __file__
