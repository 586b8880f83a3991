"""What version 0.1.0 saved (tests/fixtures) loads, and acts as it did then."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import acer_tf
from acer_tf import ACER
from acer_tf.storage.arrays import load_arrays
from tests.small_agents import assert_same, vec_env

FIXTURES = Path(__file__).parents[1] / "fixtures"
AGENTS = {
    "format-1": ["mlp", "lstm", "cnn", "gaussian"],
    "format-2": ["mlp", "lstm", "cnn", "gaussian", "multidiscrete", "normalized"],
}
STEPS = 3


def acts(agent: ACER, obs: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Most probable and drawn actions, the stream that these come from included."""
    state, found = None, {}
    for step in range(STEPS):
        mask = np.arange(len(obs)) == (len(obs) - 1 if step == 1 else -1)
        probabilities = agent.action_probability(obs, state, mask)
        for i, part in enumerate(probabilities if isinstance(probabilities, tuple) else (probabilities,)):
            found[f"probability{i}_{step}"] = part
        found[f"best_{step}"], _ = agent.predict(obs, state, mask, deterministic=True)
        found[f"drawn_{step}"], state = agent.predict(obs, state, mask)
        if state is not None:
            found[f"state_{step}"] = state
    return found


def assert_acts_as_recorded(agent: ACER, predictions: Path) -> None:
    expected = load_arrays(predictions)
    found = acts(agent, expected["obs"])
    assert found.keys() == expected.keys() - {"obs"}
    for key, array in found.items():
        if array.dtype.kind == "f":  # bit for bit where it was recorded
            assert_allclose(array, expected[key], rtol=1e-6, atol=1e-6, err_msg=key)
        else:
            assert_array_equal(array, expected[key], err_msg=key)


@pytest.mark.parametrize("name", [f"{form}/{name}" for form, names in AGENTS.items() for name in names])
def test_agents_act_as_they_did_and_are_saved_again(name: str, tmp_path: Path) -> None:
    agent = ACER.load(FIXTURES / f"{name}.zip")
    agent.save(tmp_path / "agent")
    again = ACER.load(tmp_path / "agent")
    assert_same(agent, again)
    assert (agent.num_timesteps, agent.seed, agent.n_steps, agent.precision) == (120, 7, 10, "float32")
    for one in (agent, again):
        assert_acts_as_recorded(one, FIXTURES / f"{name}-predictions.npz")


def test_weights_of_a_saved_model_begin_a_training(tmp_path: Path) -> None:
    """A learning rate of 0 keeps them as they were loaded."""
    model = acer_tf.learn(
        "mlp", vec_env(), total_timesteps=40, lr=0.0, load_path=FIXTURES / "model.npz", num_hidden=16, seed=0
    )
    for name, array in load_arrays(FIXTURES / "model.npz").items():
        if name.startswith("param/"):
            assert_array_equal(model.state_dict()[name], array, err_msg=name)
    model.save(tmp_path / "model.npz")
    assert load_arrays(tmp_path / "model.npz").keys() == load_arrays(FIXTURES / "model.npz").keys()
