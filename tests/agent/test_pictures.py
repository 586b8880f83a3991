"""Observations of images and vectors all the way: environment, replay, network, file, export, command."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf import evaluate, run
from acer_tf.agent import ACER
from acer_tf.envs.make import make_vec_env
from acer_tf.envs.wrappers import flatten
from acer_tf.errors import InputError
from acer_tf.evaluation import evaluate_policy
from acer_tf.packing import Packed
from tests.pictures import MaskedPictures, Pictures
from tests.small_agents import enlarge, everything, tiny

SMALL = {"policy_kwargs": {"cnn_extractor": "cnn_minatar"}}


def shown(n: int) -> list[dict[str, Any]]:
    env = Pictures()
    return [env.reset(seed=seed)[0] for seed in range(n)]


def batch(observations: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    return {name: np.stack([obs[name] for obs in observations]) for name in ("left", "right", "which")}


@pytest.mark.slow
def test_a_task_that_needs_both_images_and_the_choice_is_learned(tmp_path: Path) -> None:
    """Chance earns 4 an episode; without one of the three parts 6 is the most that is possible."""
    agent = ACER(
        "MultiInputPolicy", make_vec_env(Pictures, 8), n_steps=8, replay_ratio=8, replay_start=200, buffer_size=2000,
        learning_rate=3e-3, gamma=0.5, seed=0, **SMALL,
    )  # fmt: skip
    agent.learn(12_000)
    mean, _ = evaluate_policy(agent, Pictures(), n_eval_episodes=20)
    assert mean > 7
    agent.save(tmp_path / "agent")
    loaded = ACER.load(tmp_path / "agent", Pictures())
    observations = shown(8)
    expected = agent.action_probability(batch(observations))
    np.testing.assert_array_equal(loaded.action_probability(batch(observations)), expected)
    np.testing.assert_allclose([agent.action_probability(obs) for obs in observations], expected, atol=1e-6)
    loaded.learn(64)


@pytest.mark.parametrize("policy", ["cnn_minatar", "MultiInputLstmPolicy", "mlp"])
def test_an_exported_agent_acts_as_it_does_here(policy: str, tmp_path: Path) -> None:
    agent = tiny(policy, Pictures(), policy_kwargs=SMALL["policy_kwargs"] if policy.startswith("Multi") else None)
    enlarge(agent, 30)
    agent.export(tmp_path / "model")
    act = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    observations = batch(shown(32))
    mask = np.zeros(32, np.bool_)
    given: dict[str, Any] = {f"obs_{name}": part for name, part in observations.items()}
    if size := agent.model.policy.network.state_size:
        state = np.random.default_rng(0).normal(size=(32, size)).astype(np.float32)
        given |= {"state": state, "mask": mask}
    outputs = act(**{name: tf.constant(array) for name, array in given.items()})
    actions, next_states = agent.predict(observations, given.get("state"), mask, deterministic=True)
    np.testing.assert_array_equal(outputs["action"], actions)
    assert 0 < actions.sum() < 32
    if "state" in given:
        np.testing.assert_allclose(outputs["state"], next_states, atol=1e-6)


def test_replay_keeps_bytes_compressed_and_gives_them_back() -> None:
    kwargs: dict[str, Any] = {"policy": "MultiInputLstmPolicy", "replay_ratio": 2, **SMALL}
    agent, other = (tiny(env=make_vec_env(Pictures, 2), compress_replay=kept, **kwargs) for kept in (True, False))
    buffers: list[Any] = []
    for each in (agent, other):
        each.learn(100, lambda here, _: buffers.append(here["buffer"]))
    packed, plain = buffers[0], buffers[-1]
    assert packed.is_compressed and not plain.is_compressed
    assert packed.nbytes < plain.nbytes / 2
    ours, theirs = (buffer.get(np.random.RandomState(0)).obs for buffer in (packed, plain))
    assert ours.dtype == np.uint8 and ours.shape == (2, 6, 2 * 36 + 2 * 4)
    np.testing.assert_array_equal(ours, theirs)
    learned = everything(other)
    for name, array in everything(agent).items():
        np.testing.assert_array_equal(array, learned[name])


def test_masks_are_obeyed() -> None:
    agent = tiny("MultiInputPolicy", MaskedPictures(), replay_ratio=1, **SMALL)
    agent.learn(100)
    assert evaluate_policy(agent, MaskedPictures(), n_eval_episodes=3)[0] == 8


def test_processes_of_their_own_learn_the_same() -> None:
    learned = [
        everything(tiny("cnn_minatar", make_vec_env(Pictures, 2, vectorization=kind), replay_ratio=1).learn(60))
        for kind in ("sync", "async")
    ]
    for name, array in learned[0].items():
        np.testing.assert_array_equal(array, learned[1][name])


def test_a_function_gets_the_parts_by_name() -> None:
    seen: dict[str, Any] = {}

    def torso(parts: dict[str, Any]) -> Any:
        seen.update({name: (part.shape, part.dtype) for name, part in parts.items()})
        return parts["which"]

    tiny(torso, Pictures())
    image = ((None, 6, 6, 1), "uint8")
    assert seen == {"left": image, "right": image, "which": ((None, 2), "float32")}


def test_text_is_left_out_and_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    flatten._say_once.cache_clear()
    agent = tiny("cnn_minatar", Pictures())
    agent.set_env(Pictures())
    assert capsys.readouterr().out == "observations: text is ignored (wish)\n"
    assert isinstance(agent._state.spaces.network_observations, Packed)
    assert list(agent._state.spaces.network_observations.parts) == ["left", "right", "which"]


def test_normalisation_of_images_is_refused() -> None:
    with pytest.raises(InputError, match="images in a Dict or Tuple are not normalised; leave normalize_observations"):
        tiny("cnn_minatar", Pictures(), normalize_observations=True)


def test_the_command_trains_resumes_and_evaluates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--env", "tests.pictures:Pictures-v0", "--network", "cnn_minatar", "--num_env", "2", "--nsteps", "5",
        "--buffer_size", "100", "--replay_start", "10", "--logdir", str(tmp_path / "run"), "--checkpoint_every", "20",
    ]  # fmt: skip
    assert run.main([*words, "--num_timesteps", "100"]) == 0
    assert run.main([*words, "--num_timesteps", "200", "--force"]) == 0
    assert evaluate.main([str(tmp_path / "run"), "--env", "tests.pictures:Pictures-v0", "--episodes", "2"]) == 0
    assert "length: mean 8.0 agent steps" in capsys.readouterr().out
