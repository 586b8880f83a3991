"""Agents of Stable Baselines and baselines, as agents of this package."""

import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

from acer_tf.agent import ACER
from acer_tf.envs.wrappers.normalize import normalization_state
from acer_tf.errors import InputError
from acer_tf.evaluation import evaluate_policy
from tests.importers.old_files import (
    SETTINGS,
    box,
    data_of,
    discrete,
    layers_of,
    named,
    old_modules,
    recording,
    running_mean_std,
    vec_normalize,
    write_joblib,
    write_pickle,
    write_zip,
)
from tests.memory import at_most


def stable_baselines(path: Path, name: str = "mlp_value_copy", policy: str = "MlpPolicy", **more: Any) -> Path:
    recorded = recording(name)
    return write_zip(path, data_of(recorded, policy) | more, named(layers_of(recorded)))


def assert_acts_as_recorded(agent: ACER, name: str) -> None:
    recorded = recording(name)
    state, mask = (recorded[key] if key in recorded else None for key in ("step/S", "step/M"))
    found = agent.action_probability(recorded["step/obs"], state, mask)
    np.testing.assert_allclose(found, recorded["step/mus"], rtol=1e-4, atol=1e-6)
    if state is not None:
        _, state = agent.predict(recorded["step/obs"], state, mask)
        np.testing.assert_allclose(state, recorded["step/state"], rtol=1e-4, atol=1e-5)


def test_an_agent_of_stable_baselines_acts_as_it_did_and_is_saved(tmp_path: Path) -> None:
    agent = ACER.import_stable_baselines(stable_baselines(tmp_path / "old"))
    assert_acts_as_recorded(agent, "mlp_value_copy")
    agent.save(tmp_path / "new")
    again = ACER.load(tmp_path / "new")
    assert_acts_as_recorded(again, "mlp_value_copy")
    assert {name: getattr(again, name) for name in SETTINGS} == SETTINGS
    assert (agent.env, agent.num_timesteps, agent.observation_space) == (
        None,
        0,
        Box(-np.inf, np.inf, (4,), np.float32),
    )


def test_load_names_the_importers_of_an_old_file(tmp_path: Path) -> None:
    recorded = recording("mlp_value_copy")
    old = [
        stable_baselines(tmp_path / "zip"),
        write_pickle(tmp_path / "pickle", data_of(recorded, "MlpPolicy"), named(layers_of(recorded))),
        write_joblib(tmp_path / "joblib", recorded),
        write_joblib(tmp_path / "compressed", recorded, compress=3),
    ]
    for path in old:
        both = "" if path.name == "zip" else r"ACER\.import_baselines, "  # a zip is none of baselines
        with pytest.raises(InputError, match=rf"ACER\.import_stable_baselines, {both}or the command acer convert"):
            ACER.load(path)
    (tmp_path / "text").write_text("no agent")
    with pytest.raises(InputError, match=r"a trained agent, or is incomplete \(File is not a zip file\)\.$"):
        ACER.load(tmp_path / "text")


def test_the_average_of_an_agent_without_one_is_the_policy(tmp_path: Path) -> None:
    agent = ACER.import_stable_baselines(stable_baselines(tmp_path / "old"))
    for param, average in zip(agent.model.params, agent.model.averages, strict=True):
        np.testing.assert_array_equal(param, average)
    assert all((slot.numpy() == 1).all() for slot in agent.model.optimizer.mean_squares)


@pytest.mark.parametrize(("name", "policy"), [("lstm", "MlpLstmPolicy"), ("lnlstm", "MlpLnLstmPolicy")])
def test_a_recurrent_agent_takes_and_gives_the_state_as_it_did(tmp_path: Path, name: str, policy: str) -> None:
    assert_acts_as_recorded(ACER.import_stable_baselines(stable_baselines(tmp_path / "old", name, policy)), name)


@pytest.mark.parametrize("name", ["mlp_defaults", "lnlstm"])
def test_an_agent_of_baselines_has_its_average_and_slots(tmp_path: Path, name: str) -> None:
    recorded = recording(name)
    agent = ACER.import_baselines(write_joblib(tmp_path / "old", recorded))
    assert_acts_as_recorded(agent, name)
    slots = agent.model.optimizer
    names = recorded.setting("params")
    for old_name, average, ms, mom in zip(names, agent.model.averages, slots.mean_squares, slots.momenta, strict=True):
        param = recorded[f"param/{old_name}"]
        np.testing.assert_array_equal(average, recorded[f"ema0/{old_name}"])
        np.testing.assert_array_equal(ms, np.abs(param) + 1)
        np.testing.assert_array_equal(mom, param)
    assert (agent.buffer_size, agent.replay_start) == (50000, 10000)


def test_another_optimizer_begins_with_its_own_slots(tmp_path: Path) -> None:
    agent = ACER.import_baselines(
        write_joblib(tmp_path / "old", recording("mlp_defaults")), optimizer="adam", gamma=0.9
    )
    assert_acts_as_recorded(agent, "mlp_defaults")
    assert agent.gamma == 0.9
    assert {name for name in agent.model.state_dict() if name.startswith("ms/")} == set()


def test_it_goes_on_learning_in_an_environment_whose_bounds_are_others(tmp_path: Path) -> None:
    largest = float(np.finfo(np.float32).max)
    path = stable_baselines(tmp_path / "old", "mlp_defaults", observation_space=box(-largest, largest, (4,)))
    agent = ACER.import_stable_baselines(path, "CartPole-v1", replay_start=20)
    assert agent.observation_space == gymnasium.make("CartPole-v1").observation_space
    before = agent.get_parameters()
    agent.learn(40)
    assert any((before[name] != array).any() for name, array in agent.get_parameters().items())


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("CartPole-v1", r"action space is Discrete\(2\); the agent in .*old has Discrete\(3\)"),
        ("Acrobot-v1", "observation"),
    ],
)
def test_an_environment_that_does_not_fit_is_told(tmp_path: Path, env: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ACER.import_stable_baselines(stable_baselines(tmp_path / "old"), env)


def test_images_of_unknown_size_need_the_environment(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="old does not tell the size of the images; give the environment"):
        ACER.import_baselines(write_joblib(tmp_path / "old", recording("impala_cnn")))


def test_weights_that_do_not_fit_together_are_told(tmp_path: Path) -> None:
    layers = layers_of(recording("mlp_value_copy"))
    layers["pi_fc1"]["w"] = np.zeros((31, 32), np.float32)
    path = write_zip(tmp_path / "old", data_of(recording("mlp_value_copy"), "MlpPolicy"), named(layers))
    with pytest.raises(
        InputError, match=r"the agent in .*old does not fit: it has too few weights of shape \(32, 32\)\.$"
    ):
        ACER.import_stable_baselines(path)
    with pytest.raises(
        InputError, match=r"the agent in .*whole does not fit: it has too few weights of shape \(32, 32\)"
    ):
        ACER.import_stable_baselines(stable_baselines(tmp_path / "whole"), policy_kwargs={"layers": [32, 32, 32]})


def test_a_network_larger_than_the_file_is_not_built(tmp_path: Path) -> None:
    """Its first layer alone would take 128 MiB, and more to be drawn."""
    path = stable_baselines(tmp_path / "old", observation_space=discrete(2**20))
    with pytest.raises(InputError, match=r"it has too few weights of shape \(1048576, 32\)"), at_most(2**26):
        ACER.import_stable_baselines(path)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"gamma": 5}, r"old: gamma is 5; expected a number between 0 and 1\.$"),
        (
            {"observation_space": box(0, 1, (0,))},
            r"old: the observation space is empty; expected at least one number\.$",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_name(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ACER.import_stable_baselines(stable_baselines(tmp_path / "old", **more))


def test_an_argument_that_is_wrong_is_not_the_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^gamma is 6; expected"):
        ACER.import_stable_baselines(stable_baselines(tmp_path / "old", gamma=5), gamma=6)


def test_an_unknown_argument_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ACER takes no argument gama; the nearest are gamma"):
        ACER.import_stable_baselines(stable_baselines(tmp_path / "old"), gama=0.9)


def moments(folder: Path, mean: Any, samples: float = 1000.0) -> Path:
    folder.mkdir()
    for name, array in (("obs", mean), ("ret", np.array(3.0))):
        with old_modules():
            (folder / f"{name}_rms.pkl").write_bytes(pickle.dumps(running_mean_std(array, array * 0 + 4, samples)))
    return folder


def test_observations_are_normalised_by_the_statistics_of_a_folder(tmp_path: Path) -> None:
    mean, recorded = np.array([1.0, -2.0, 0.5, 3.0]), recording("mlp_defaults")
    path = stable_baselines(tmp_path / "old", "mlp_defaults")
    agent = ACER.import_stable_baselines(path, "CartPole-v1", statistics=moments(tmp_path / "zoo", mean))
    assert (agent.normalize_observations, agent.normalize_rewards) == (True, True)
    agent.save(tmp_path / "new")
    for converted in (agent, ACER.load(tmp_path / "new")):
        found = converted.action_probability((2 * recorded["step/obs"] + mean).astype(np.float32))
        np.testing.assert_allclose(found, recorded["step/mus"], rtol=1e-4, atol=1e-5)


def test_observations_are_normalised_by_the_file_of_vec_normalize(tmp_path: Path) -> None:
    """In `predict`, after saving, in evaluation, and when it goes on learning."""
    mean, recorded = np.array([1.0, -2.0, 0.5, 3.0]), recording("mlp_defaults")
    with old_modules():
        (tmp_path / "vecnormalize.pkl").write_bytes(pickle.dumps(vec_normalize(mean, mean * 0 + 4)))
    path = stable_baselines(tmp_path / "old", "mlp_defaults")
    agent = ACER.import_stable_baselines(path, statistics=tmp_path / "vecnormalize.pkl")
    assert (agent.normalize_observations, agent.normalize_rewards) == (True, False)
    agent.save(tmp_path / "new")
    seen = (2 * recorded["step/obs"] + mean).astype(np.float32)
    for converted in (agent, ACER.load(tmp_path / "new")):
        found = converted.action_probability(seen)
        np.testing.assert_allclose(found, recorded["step/mus"], rtol=1e-4, atol=1e-5)
    evaluate_policy(agent, gymnasium.make("CartPole-v1"), 1)
    loaded = ACER.load(tmp_path / "new", "CartPole-v1", replay_start=20)
    loaded.learn(20)
    state = normalization_state(loaded.get_vec_normalize_env())
    assert state["obs_count"] == pytest.approx(5000 + 22, abs=1e-3)  # two resets and 20 steps
    np.testing.assert_allclose(state["obs_mean"], mean, atol=0.1)


def test_paths_may_begin_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = stable_baselines(tmp_path / "old")
    folder = moments(tmp_path / "zoo", np.zeros(4))
    agent = ACER.import_stable_baselines(f"~/{path.name}", statistics=f"~/{folder.name}")
    assert agent.normalize_observations


def test_statistics_of_nothing_do_not_normalise(tmp_path: Path) -> None:
    """Stable Baselines saved them, too, where it did not normalise."""
    folder = moments(tmp_path / "zoo", np.zeros(4), samples=1e-4)
    agent = ACER.import_stable_baselines(stable_baselines(tmp_path / "old"), statistics=folder)
    assert (agent.normalize_observations, agent.normalize_rewards) == (False, False)


def test_observations_are_as_in_training_or_the_agent_is_refused(tmp_path: Path) -> None:
    path = stable_baselines(tmp_path / "old")
    with pytest.raises(InputError, match="True, but the moments of observations are unknown; give statistics"):
        ACER.import_stable_baselines(path, normalize_observations=True)
    folder = moments(tmp_path / "zoo", np.zeros(4))
    with pytest.raises(InputError, match=r"False, but .*zoo has moments of observations; choose one"):
        ACER.import_stable_baselines(path, statistics=folder, normalize_observations=False)


def test_statistics_that_do_not_fit_are_told(tmp_path: Path) -> None:
    path = stable_baselines(tmp_path / "old")
    with pytest.raises(InputError, match=r"of observations of shape \(3,\); expected \(4,\)"):
        ACER.import_stable_baselines(path, statistics=moments(tmp_path / "zoo", np.zeros(3)))
    with pytest.raises(InputError, match=r"neither vecnormalize\.pkl nor obs_rms\.pkl nor ret"):
        ACER.import_stable_baselines(path, statistics=tmp_path)
