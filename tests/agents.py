"""Small policies, models and segments."""

from typing import Any

import keras
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.random import RandomState
from numpy.typing import NDArray

from acer_tf.config import Config
from acer_tf.model import Model
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.segment import Segment

NENVS, NSTEPS, NFEATURES, NACT = 2, 5, 4, 3


def make_policy(network: Any = "mlp", seed: int = 0, **network_kwargs: Any) -> CategoricalPolicy:
    if network == "mlp":
        network_kwargs = {"num_hidden": 8} | network_kwargs
    space = Box(-np.inf, np.inf, (NFEATURES,), np.float32)
    return CategoricalPolicy(network, space, Discrete(NACT), RandomState(seed), **network_kwargs)


def make_model(network: Any = "mlp", seed: int = 0, network_kwargs: Any = None, **config: Any) -> Model:
    """A model with the policy head enlarged, so that its first policy is not uniform, and the average moved away."""
    model = Model(make_policy(network, seed, **(network_kwargs or {})), Config(**config), seed)
    random = np.random.default_rng(seed)
    head = model.policy.params["pi_head/kernel"]
    head.assign(100 * head.value)
    for average, param in zip(model.averages, model.params, strict=True):
        average.assign(param + 0.2 * random.normal(size=param.shape))
    return model


def make_segment(seed: int = 0, nenvs: int = NENVS, nsteps: int = NSTEPS) -> Segment:
    random = np.random.default_rng(seed)
    masks = random.random((nenvs, nsteps + 1)) < 0.2
    obs = random.normal(size=(nenvs, nsteps + 1, NFEATURES)).astype(np.float32)
    return Segment(
        enc_obs=obs,
        obs=obs,
        actions=random.integers(0, NACT, (nenvs, nsteps)),
        rewards=random.normal(size=(nenvs, nsteps)).astype(np.float32),
        mus=random.dirichlet(np.ones(NACT), (nenvs, nsteps)).astype(np.float32),
        dones=masks[:, 1:],
        masks=masks,
        states=np.zeros((nenvs, 0), np.float32),
        final_values=(masks[:, 1:] * random.normal(size=(nenvs, nsteps))).astype(np.float32),
    )


def arrays(model: Model) -> dict[str, NDArray[np.float32]]:
    """Everything that training changes, by name."""
    return {name: array for name, array in model.state_dict().items() if name != "random"}


def assert_same(first: Model, second: Model) -> None:
    """To the bit."""
    ours, theirs = arrays(first), arrays(second)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


def linear(inputs: keras.KerasTensor) -> keras.KerasTensor:
    """A torso that does nothing."""
    return inputs
