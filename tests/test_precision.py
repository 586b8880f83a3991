"""Models, agents and runs that compute in bfloat16, next to float32."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import yaml
from gymnasium.spaces import Box, Discrete
from numpy.random import RandomState

from acer_tf import ACER
from acer_tf.config import CONTINUOUS, Config
from acer_tf.model import Model
from acer_tf.policies.make import make_policy
from acer_tf.run import main
from acer_tf.segment import Segment
from acer_tf.storage.agent_file import read_agent
from acer_tf.system import compute
from benchmarks.precision import differences
from tests import agents, gaussian_agents
from tests.small_agents import assert_same, enlarge, observations, tiny

VECTOR = Box(-np.inf, np.inf, (agents.NFEATURES,), np.float32)
KINDS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "categorical": ("mlp", Discrete(agents.NACT), {"value_network": "copy"}),
    "recurrent": ("MlpLstmPolicy", Discrete(agents.NACT), {"n_lstm": 6, "layers": [16]}),
    "gaussian": ("mlp", Box(-1, 1, (2,)), {}),
}


def models(kind: str, **config: Any) -> tuple[Model, Model]:
    """The same model in float32 and in bfloat16; policies are far from uniform, and averages from the policies."""
    network, actions, kwargs = KINDS[kind]
    exact, rounded = (
        Model(
            make_policy(network, VECTOR, actions, RandomState(0), 0, CONTINUOUS, precision, **kwargs),
            Config(precision=precision, **config),
            0,
        )
        for precision in ("float32", "bfloat16")
    )
    random = np.random.default_rng(0)
    head = exact.policy.params["pi_head/kernel"]
    head.assign(30 * head.value)
    for average, param in zip(exact.averages, exact.params, strict=True):
        average.assign(param + 0.2 * random.normal(size=param.shape))
    rounded.load_state_dict(exact.state_dict())
    return exact, rounded


def segments(kind: str, model: Model) -> list[Segment]:
    make = gaussian_agents.make_segment if kind == "gaussian" else agents.make_segment
    made = [make(seed=seed) for seed in range(3)]
    return [segment._replace(states=model.initial_state(len(segment.obs))) for segment in made]


@pytest.mark.parametrize("kind", KINDS)
def test_updates_are_those_of_float32_but_for_rounding(kind: str) -> None:
    exact, rounded = models(kind)
    compared = differences(exact, rounded, segments(kind, exact))
    inactive = {name for name, difference in compared.items() if difference.size == 0}
    assert not inactive, "the trust region is active"
    assert all(difference.typical < 0.05 for difference in compared.values()), compared
    assert compared["f"].typical > 1e-5, "the trunk does compute in bfloat16"


@pytest.mark.parametrize(
    ("kind", "optimizer"), [("categorical", "adam"), ("recurrent", "rmsprop"), ("gaussian", "rmsprop")]
)
def test_what_training_changes_stays_float32(kind: str, optimizer: str) -> None:
    exact, rounded = models(kind, optimizer=optimizer)
    start = agents.arrays(exact)
    for segment in segments(kind, exact):
        exact.train(segment, 1e-3)
        rounded.train(segment, 1e-3)
    expected, found = agents.arrays(exact), agents.arrays(rounded)
    assert {name: array.dtype for name, array in found.items()} == {n: array.dtype for n, array in start.items()}
    assert all(array.dtype == np.float32 for name, array in found.items() if name != "slot/0")  # Adam's count
    for name in (name for name in found if name.startswith(("param/", "average/"))):
        moved, difference = expected[name] - start[name], found[name] - expected[name]
        assert np.linalg.norm(difference) < 0.2 * np.linalg.norm(moved), name


@pytest.fixture(scope="module")
def trained() -> ACER:
    agent = tiny(precision="bfloat16", replay_ratio=1).learn(20)
    enlarge(agent)
    return agent


def test_agents_keep_their_precision(trained: ACER, tmp_path: Path) -> None:
    trained.save(tmp_path / "agent")
    assert all(array.dtype == np.float32 for array in trained.get_parameters().values())
    loaded, exact = ACER.load(tmp_path / "agent"), ACER.load(tmp_path / "agent", precision="float32")
    assert (trained.precision, loaded.precision, exact.precision) == ("bfloat16", "bfloat16", "float32")
    assert_same(trained, loaded)
    assert_same(trained, exact)
    obs = observations(trained, 50)
    ours, again, theirs = (agent.action_probability(obs) for agent in (trained, loaded, exact))
    np.testing.assert_array_equal(ours, again)
    assert 0 < np.abs(ours - theirs).max() < 0.02


def test_an_exported_policy_keeps_its_precision(trained: ACER, tmp_path: Path) -> None:
    trained.export(tmp_path / "model")
    obs = observations(trained, 50)
    act = tf.saved_model.load(tmp_path / "model").signatures["serving_default"]
    actions = act(obs=tf.constant(obs))["action"].numpy()
    np.testing.assert_array_equal(actions, trained.predict(obs, deterministic=True)[0])
    assert len(set(actions)) == 2
    assert "DT_BFLOAT16" in str(act.graph.as_graph_def())


def test_a_run_keeps_its_precision_and_says_what_it_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compute, "CPU_INFO", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("flags\t\t: fpu avx2 avx512f\n")
    argv = ["--total_timesteps=40", "--num_hidden=4", "--logdir", str(tmp_path / "run")]
    assert main([*argv, "--precision", "bfloat16"]) == 0
    said = "precision: no bfloat16 instructions here; convolutions take about 2 times as long as in float32"
    assert said in capsys.readouterr().out.splitlines()
    assert yaml.safe_load((tmp_path / "run" / "config.yml").read_text())["precision"] == "bfloat16"
    data, _ = read_agent(tmp_path / "run" / "model.zip")
    assert data["settings"]["precision"] == "bfloat16"
    assert main(argv) == 2
    assert capsys.readouterr().err == (
        f"error: the run in {tmp_path / 'run'} has precision bfloat16 (now float32); give the same, or --force to "
        "change.\n"
    )
    assert main([*argv, "--precision", "bfloat16"]) == 0
    assert main([*argv, "--force"]) == 0
    said = capsys.readouterr()
    assert "precision:" not in said.out.partition("changed")[2]
    assert "changed: precision bfloat16 (now float32)\n" in said.err
    config = yaml.safe_load((tmp_path / "run" / "config.yml").read_text())
    assert (config["precision"], config["changed"]) == ("float32", [{"until": 40, "precision": "bfloat16"}])


def test_a_network_in_float32_has_nothing_of_bfloat16() -> None:
    assert keras.config.dtype_policy().name == "float32"
    graph = (
        tf.function(models("categorical")[0].policy.network)
        .get_concrete_function(
            tf.TensorSpec([2, 3, agents.NFEATURES]), tf.TensorSpec([2, 3], tf.bool), tf.TensorSpec([2, 0])
        )
        .graph
    )
    assert "DT_BFLOAT16" not in str(graph.as_graph_def())
