import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete

from acer_tf.agent import ACER
from acer_tf.errors import InputError
from tests.counter import Counter
from tests.full_disk import full_disk
from tests.pictures import Pictures
from tests.small_agents import TINY, enlarge, observations, tiny, vec_env

USE = """
import sys
import numpy as np
import tensorflow as tf

for folder in sys.argv[1:]:
    act = tf.saved_model.load(folder + "/model").signatures["serving_default"]
    with np.load(folder + "/inputs.npz") as inputs:
        given = {name: tf.constant(inputs[name]) for name in inputs.files}
    np.savez(folder + "/outputs.npz", **{name: value.numpy() for name, value in act(**given).items()})
assert not any(name.startswith("acer_tf") for name in sys.modules)
"""


class Mixed(gymnasium.Env[Any, int]):
    """Shows something of every kind."""

    observation_space = Dict(
        {
            "choice": Discrete(3, start=-1),
            "choices": MultiDiscrete([2, 3]),
            "flags": MultiBinary(2),
            "small": Box(-1, 1, (2, 2), np.float64),
        }
    )
    action_space = Discrete(6)


def write(folder: Path, agent: ACER, **inputs: Any) -> None:
    folder.mkdir()
    agent.export(folder / "model")
    np.savez(folder / "inputs.npz", **inputs)


def test_an_exported_policy_acts_alike_without_this_package(tmp_path: Path) -> None:
    """Of other numbers of observations, normalised, recurrent, with continuous actions, and of mixed observations."""
    box = tiny(env=vec_env("Pendulum-v1"), normalize_observations=True)
    box.learn(10)
    enlarge(box, 30)
    recurrent = tiny("CnnLstmPolicy", Images(), policy_kwargs={"n_lstm": 3, "cnn_extractor": "cnn_small"})
    enlarge(recurrent)
    mixed = tiny(env=Mixed(), policy_kwargs=TINY)
    enlarge(mixed)

    random = np.random.default_rng(1)
    pendulum = observations(box, 7)
    write(tmp_path / "box", box, obs=pendulum)
    images, state = random.integers(0, 256, (5, 24, 24, 2)).astype(np.uint8), random.normal(size=(5, 6))
    mask = np.array([True, False, False, True, False])
    write(tmp_path / "recurrent", recurrent, obs=images, state=state.astype(np.float32), mask=mask)
    Mixed.observation_space.seed(0)
    parts = [Mixed.observation_space.sample() for _ in range(9)]
    joined = {name: np.stack([part[name] for part in parts]) for name in Mixed.observation_space}
    write(tmp_path / "mixed", mixed, **{f"obs_{name}": array for name, array in joined.items()})

    folders = [str(tmp_path / name) for name in ("box", "recurrent", "mixed")]
    subprocess.run([sys.executable, "-c", USE, *folders], check=True, cwd=tmp_path)
    outputs = [dict(np.load(f"{folder}/outputs.npz")) for folder in folders]
    np.testing.assert_allclose(outputs[0]["action"], box.predict(pendulum, deterministic=True)[0], rtol=1e-6)
    actions, after = recurrent.predict(images, state, mask, deterministic=True)
    np.testing.assert_array_equal(outputs[1]["action"], actions)
    np.testing.assert_allclose(outputs[1]["state"], after, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(outputs[2]["action"], mixed.predict(joined, deterministic=True)[0])
    assert outputs[0].keys() == outputs[2].keys() == {"action"}
    assert len(set(actions.tolist())) + len(set(outputs[2]["action"].tolist())) > 2, "the policies are not constant"


class Joint(Counter):
    """Takes three choices at once."""

    action_space = MultiDiscrete([3, 5, 2], start=[1, -2, 0])


@pytest.mark.parametrize("space", [MultiDiscrete([3, 5], start=[1, -2]), MultiDiscrete([[2, 3]]), MultiBinary(3)])
def test_joint_actions_are_exported_as_the_environment_takes_them(space: Any, tmp_path: Path) -> None:
    class Other(Joint):
        action_space = space

    agent = tiny(env=Other(1), policy_kwargs=TINY)
    enlarge(agent, 30)
    agent.export(tmp_path / "model")
    obs = observations(agent, 20)
    act = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    actions = act(obs=tf.constant(obs))["action"].numpy()
    np.testing.assert_array_equal(actions, agent.predict(obs, deterministic=True)[0])
    assert actions.dtype == space.dtype and all(action in space for action in actions)
    assert len(np.unique(actions, axis=0)) > 1, "the policy is not constant"


class Images(gymnasium.Env[Any, int]):
    """Shows small pictures."""

    observation_space = Box(0, 255, (24, 24, 2), np.uint8)
    action_space = Discrete(5)


def run_onnx(path: Path, inputs: dict[str, Any]) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def run_tflite(path: Path, inputs: dict[str, Any]) -> dict[str, Any]:
    outputs: dict[str, Any] = tf.lite.Interpreter(str(path)).get_signature_runner()(**inputs)
    return outputs


RUN = {"onnx": run_onnx, "tflite": run_tflite}


@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
@pytest.mark.parametrize("form", RUN)
@pytest.mark.parametrize("kind", ["images", "continuous", "joint", "recurrent", "mixed", "pictures"])
def test_policies_act_alike_in_onnxruntime_and_in_tflite(kind: str, form: Any, tmp_path: Path) -> None:
    agent, obs = agents(kind)
    enlarge(agent, 30)
    inputs = {f"obs_{name}": part for name, part in obs.items()} if isinstance(obs, dict) else {"obs": obs}
    state, mask = None, None
    if kind == "recurrent":
        state = np.random.default_rng(2).normal(size=(9, 6)).astype(np.float32)
        mask = np.arange(9) % 3 == 0
        inputs |= {"state": state, "mask": mask}
    expected, after = agent.predict(obs, state, mask, deterministic=True)
    agent.export(tmp_path / "policy", form)
    outputs = RUN[form](tmp_path / "policy", inputs)
    np.testing.assert_allclose(outputs["action"], expected, rtol=1e-5, atol=1e-5)
    assert len(np.unique(expected, axis=0)) > 1, "the policy is constant"
    if after is not None:
        state_after = outputs["next_state" if form == "onnx" else "state"]
        np.testing.assert_allclose(state_after, after, rtol=1e-5, atol=1e-5)


def agents(kind: str) -> tuple[ACER, Any]:
    """An agent of a kind, and nine observations."""
    bright = np.linspace(1, 256, 9).astype(int)[:, None, None, None]
    images = np.random.default_rng(1).integers(0, bright, (9, 24, 24, 2)).astype(np.uint8)
    if kind == "images":
        return tiny("CnnPolicy", Images(), policy_kwargs={"cnn_extractor": "cnn_small"}), images
    if kind == "recurrent":
        return tiny("CnnLstmPolicy", Images(), policy_kwargs={"n_lstm": 3, "cnn_extractor": "cnn_small"}), images
    if kind == "pictures":
        shown = [Pictures().reset(seed=seed)[0] for seed in range(9)]
        pictures = {name: np.stack([obs[name] for obs in shown]) for name in ("left", "right", "which")}
        return tiny("cnn_minatar", Pictures()), pictures
    if kind == "continuous":
        agent = tiny(env=vec_env("Pendulum-v1"), normalize_observations=True)
        agent.learn(10)
        return agent, observations(agent, 9)
    if kind == "joint":
        agent = tiny(env=Joint(1), policy_kwargs=TINY)
        return agent, observations(agent, 9)
    Mixed.observation_space.seed(0)
    parts = [Mixed.observation_space.sample() for _ in range(9)]
    return tiny(env=Mixed(), policy_kwargs=TINY), {
        name: np.stack([part[name] for part in parts]) for name in Mixed.observation_space
    }


class Narrow(Counter):
    """Takes numbers whose bounds are rounded outward in float32."""

    action_space = Box(np.array([-0.1, 0.3]), np.array([0.1, 0.7]), dtype=np.float64)


@pytest.mark.parametrize("form", ["saved_model", *RUN])
@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
def test_exported_actions_are_within_their_bounds(form: Any, tmp_path: Path) -> None:
    agent = tiny(env=Narrow(1), policy_kwargs=TINY)
    enlarge(agent, 1e6)
    agent.export(tmp_path / "policy", form)
    actions = run(form, tmp_path / "policy", {"obs": observations(agent, 20)})["action"]
    assert all(action in Narrow.action_space for action in np.float64(actions))
    for end in (Narrow.action_space.low, Narrow.action_space.high):
        assert (np.abs(actions - end).min(axis=0) < 1e-7).all(), "they reach the bounds"


@pytest.mark.parametrize("form", ["saved_model", *RUN])
@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
def test_a_deviation_that_is_small_beside_its_mean_is_exported(form: Any, tmp_path: Path) -> None:
    """Rounded to float32, a mean of 1000 is off by up to 0.03 of these deviations."""
    agent = tiny(env=vec_env("Pendulum-v1"), normalize_observations=True)
    mean, deviation = np.array([1000.12342, -999.98763, 512.00003]), 1e-3
    moments = {"obs_mean": mean, "obs_var": np.full(3, deviation**2), "obs_count": np.array(1000.0)}
    agent._state.normalization.assign(moments)
    obs = (mean + deviation * np.random.default_rng(0).normal(size=(9, 3))).astype(np.float32)
    agent.export(tmp_path / "policy", form)
    outputs = run(form, tmp_path / "policy", {"obs": obs})
    np.testing.assert_allclose(outputs["action"], agent.predict(obs, deterministic=True)[0], rtol=1e-4, atol=1e-6)


def run(form: str, path: Path, inputs: dict[str, Any]) -> dict[str, Any]:
    if form in RUN:
        return RUN[form](path, inputs)
    outputs = tf.saved_model.load(str(path)).signatures["serving_default"](**inputs)
    return {name: value.numpy() for name, value in outputs.items()}


def test_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format is 'torch'; expected one of saved_model, onnx, tflite"):
        tiny().export(tmp_path / "model", "torch")  # type: ignore[arg-type]


def test_a_place_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "model").touch()
    with pytest.raises(InputError, match="model exists; choose another name"):
        tiny().export(tmp_path / "model")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="folder exists; choose another name"):
        tiny().export(tmp_path / "folder", "tflite")
    tiny().export(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir() if path.name != "model"] == ["folder"]
    (tmp_path / "folder" / "earlier.pb").touch()
    with pytest.raises(InputError, match="folder exists; choose another name"):
        tiny().export(tmp_path / "folder")


def test_what_cannot_be_written_whole_leaves_nothing(tmp_path: Path) -> None:
    agent = tiny()
    with full_disk(2000), pytest.raises(InputError, match=r"model cannot be written \("):
        agent.export(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    agent.export(tmp_path / "model")


def test_parts_that_would_have_one_name(tmp_path: Path) -> None:
    class TwoParts(Counter):
        observation_space = Dict({"a b": Discrete(2), "a_b": Discrete(3)})

    with pytest.raises(InputError, match="two parts of the observation would have one name in the exported policy"):
        tiny(env=TwoParts(1)).export(tmp_path / "model")
