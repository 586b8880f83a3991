from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from acer_tf.recordings import replica
from acer_tf.recordings.comparison import EXACT, UnsupportedError
from acer_tf.recordings.recorded import Recorded, read
from tests.recordings.recordings import GOLDEN, altered

NAME = "acer_model/q/b"


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return read(GOLDEN / "mlp_value_copy.npz")


def variables(recorded: Recorded) -> list[tf.Variable]:
    policy = replica.policy(recorded, np.random.RandomState(0))
    return [variable.value for variable in policy.params.values()]


def test_the_config_has_what_was_recorded(recorded: Recorded) -> None:
    config = replica.config(recorded)
    assert config.nsteps == recorded.setting("nsteps")
    assert config.delta == recorded.setting("delta")


def test_parameters_get_the_recorded_values_in_order(recorded: Recorded) -> None:
    ours = variables(recorded)
    assert replica.misfits(recorded, ours) == []
    replica.load(recorded, "param", ours)
    for name, variable in zip(recorded.setting("params"), ours, strict=True):
        np.testing.assert_array_equal(variable.numpy().ravel(), recorded[f"param/{name}"].ravel())


def test_another_number_or_shape_of_parameters_is_a_misfit(recorded: Recorded) -> None:
    ours = variables(recorded)
    for others in (ours[:-1], [*ours[:-1], tf.Variable(tf.zeros([9]))]):
        (quantity,) = replica.misfits(recorded, others)
        assert (quantity.name, quantity.passed) == ("shapes of parameters", False)
    with_axes = [tf.Variable(variable[tf.newaxis]) for variable in ours]
    assert replica.misfits(recorded, with_axes) == []


def test_a_network_that_does_not_exist_is_unsupported(tmp_path: Path) -> None:
    unknown = read(altered(tmp_path, "mlp_discrete", lambda arrays, config: config.update(network="mlq")))
    with pytest.raises(UnsupportedError, match="network 'mlq' does not exist"):
        replica.policy(unknown, np.random.RandomState(0))


def test_batches_are_segments(recorded: Recorded) -> None:
    nenvs, nsteps = recorded.setting("nenvs"), recorded.setting("nsteps")
    segment = replica.segment(recorded, 1)
    assert segment.obs.shape[:2] == (nenvs, nsteps + 1)
    assert segment.actions.shape == segment.rewards.shape == segment.dones.shape == (nenvs, nsteps)
    np.testing.assert_array_equal(segment.rewards.ravel(), recorded["batch/rewards"][1])


def test_arrays_that_are_missing_count_as_zeros(recorded: Recorded) -> None:
    names = recorded.setting("params")
    ours = [recorded.group("grad_policy").get(name) for name in names]
    assert any(array is None for array in ours), "the critic's own parameters have no gradient of the policy"
    assert all(quantity.error == 0 for quantity in replica.per_parameter(recorded, "grad_policy", ours, EXACT))
    reached = [array is not None for array in ours]
    ours = [None if has else np.ones(recorded[f"param/{name}"].shape) for name, has in zip(names, reached, strict=True)]
    assert all(quantity.error > 0 for quantity in replica.per_parameter(recorded, "grad_policy", ours, EXACT))
    assert not list(replica.per_parameter(recorded, "grad_other", ours, EXACT))
