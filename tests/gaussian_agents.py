"""Small Gaussian policies, models and segments."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.random import RandomState

from acer_tf.config import Config, Continuous
from acer_tf.model import Model
from acer_tf.policies.gaussian import GaussianPolicy
from acer_tf.segment import Segment

NENVS, NSTEPS, NFEATURES = 3, 7, 4


def make_policy(dimensions: int = 2, seed: int = 0, value_network: Any = None, **settings: Any) -> GaussianPolicy:
    space = Box(-np.inf, np.inf, (NFEATURES,), np.float32)
    return GaussianPolicy(
        "mlp", space, Box(-1, 1, (dimensions,)), RandomState(seed), Continuous(**settings),
        value_network=value_network, num_layers=1, num_hidden=8,
    )  # fmt: skip


def make_model(
    dimensions: int = 2, seed: int = 0, value_network: Any = None, settings: Any = None, **config: Any
) -> Model:
    """A model with the policy head enlarged, so that its means differ from 0, and the average moved away."""
    policy = make_policy(dimensions, seed, value_network, **(settings or {}))
    model = Model(policy, Config(**config), seed)
    random = np.random.default_rng(seed)
    head = policy.params["pi_head/kernel"]
    head.assign(20 * head.value)
    for average, param in zip(model.averages, model.params, strict=True):
        average.assign(param + 0.1 * random.normal(size=param.shape))
    return model


def make_segment(dimensions: int = 2, seed: int = 0, learn_sigma: bool = False) -> Segment:
    random = np.random.default_rng(seed)
    masks = random.random((NENVS, NSTEPS + 1)) < 0.2
    obs = random.normal(size=(NENVS, NSTEPS + 1, NFEATURES)).astype(np.float32)
    means = 0.2 * random.normal(size=(NENVS, NSTEPS, dimensions))
    log_sigmas = np.log(0.35) + 0.1 * random.normal(size=means.shape)
    return Segment(
        enc_obs=obs,
        obs=obs,
        actions=(means + 0.3 * random.normal(size=means.shape)).astype(np.float32),
        rewards=random.normal(size=(NENVS, NSTEPS)).astype(np.float32),
        mus=(np.concatenate([means, log_sigmas], axis=-1) if learn_sigma else means).astype(np.float32),
        dones=masks[:, 1:],
        masks=masks,
        states=np.zeros((NENVS, 0), np.float32),
        final_values=(masks[:, 1:] * random.normal(size=(NENVS, NSTEPS))).astype(np.float32),
    )
