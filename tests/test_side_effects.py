"""What the library leaves alone: the process belongs to its user."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import keras
import numpy as np
import pytest
import tensorflow as tf
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.agent import ACER
from acer_tf.config import CONTINUOUS, Config
from acer_tf.model import Model
from acer_tf.policies.make import make_policy
from acer_tf.system import compute
from acer_tf.system.streams import seeded


class Images(gymnasium.Env[Any, Any]):
    """Counts the steps of all environments."""

    observation_space = Box(0, 255, (36, 36, 1), np.uint8)
    action_space = Discrete(3)
    steps: ClassVar[list[int]] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros((36, 36, 1), np.uint8), {}

    def step(self, action: int) -> Any:
        self.steps.append(action)
        return np.zeros((36, 36, 1), np.uint8), 0.0, False, False, {}


def images() -> SyncVectorEnv:
    return SyncVectorEnv([Images] * 4, autoreset_mode=AutoresetMode.SAME_STEP)


def own_network(inputs: keras.KerasTensor) -> keras.KerasTensor:
    """Draws its weights from Python's global stream, as Keras's initializers do."""
    return keras.layers.Dense(4)(keras.layers.Flatten()(inputs))


SETTINGS = {"buffer_size": 1000, "replay_start": 100, "policy_kwargs": {"convs": ((4, 4, 4),)}}


def make_an_agent(folder: Path) -> None:
    ACER("conv_only", images(), **SETTINGS)


def load_an_agent(folder: Path) -> None:
    ACER.load(folder / "agent.zip", images())


def make_a_model(folder: Path) -> None:
    spaces = Box(0, 1, (5,), np.float32), Discrete(2)
    policy = make_policy(own_network, *spaces, np.random.RandomState(0), 3, CONTINUOUS, "float32")
    Model(policy, Config(), 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ACER("conv_only", images(), seed=1, **SETTINGS).save(tmp_path / "agent.zip")
    Images.steps.clear()
    return tmp_path


@pytest.mark.parametrize("make", [make_an_agent, load_an_agent, make_a_model])
def test_making_and_loading_change_nothing_in_the_process_and_step_no_environment(
    make: Callable[[Path], None], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the allocator is for the commands to change")

    monkeypatch.setattr(compute.ctypes, "CDLL", refuse)
    tf.random.set_seed(5)
    drawn = tf.random.uniform([3]).numpy()
    tf.random.set_seed(5)
    random.seed(11)
    np.random.seed(12)
    python, (kind, keys, *position), environ = random.getstate(), np.random.get_state(), dict(os.environ)
    make(folder)
    assert random.getstate() == python
    now = np.random.get_state()
    assert (now[0], *now[2:]) == (kind, *position)
    np.testing.assert_array_equal(now[1], keys)
    assert dict(os.environ) == environ
    np.testing.assert_array_equal(tf.random.uniform([3]), drawn, "TensorFlow's global stream")
    assert not Images.steps


def test_the_seed_decides_weights_that_a_network_draws_from_the_global_streams() -> None:
    spaces = Box(0, 1, (5,), np.float32), Discrete(2)
    first, again, other = (
        next(
            iter(
                make_policy(own_network, *spaces, np.random.RandomState(0), seed, CONTINUOUS, "float32").params.values()
            )
        ).numpy()
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_global_streams_are_as_before_also_after_an_error() -> None:
    random.seed(1)
    np.random.seed(1)
    expected = random.random(), np.random.random()
    random.seed(1)
    np.random.seed(1)
    with pytest.raises(ZeroDivisionError), seeded(7):
        assert random.random() == random.Random(7).random()
        assert np.random.random() == np.random.RandomState(7).random()
        raise ZeroDivisionError
    assert (random.random(), np.random.random()) == expected


def test_imports_leave_the_environment_variables_alone_and_bring_nothing_slow() -> None:
    code = (
        "import os, sys, tensorflow, keras; before = dict(os.environ)\n"
        "import acer_tf.agent, acer_tf.acer; print(before == dict(os.environ))\n"
        "print(*{'tensorflow_probability', 'tf_keras', 'blosc2'} & {*sys.modules})"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]
