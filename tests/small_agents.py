"""Small agents of the class ACER."""

import io
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from acer_tf.agent import ACER
from acer_tf.episode_stats import EpisodeStats
from acer_tf.storage.agent_file import read_agent

TINY = {"num_layers": 1, "num_hidden": 4}
NSTEPS = 5


def vec_env(env_id: str = "CartPole-v1", n: int = 2) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: gymnasium.make(env_id)] * n, autoreset_mode=AutoresetMode.SAME_STEP)


def tiny(policy: Any = "mlp", env: Any = None, **kwargs: Any) -> ACER:
    """An agent that learns in segments of 5 steps, and, if told to replay, does so from 10 steps on."""
    defaults = {"n_steps": NSTEPS, "replay_start": 10, "buffer_size": 50, "seed": 0, "replay_ratio": 0}
    if policy == "mlp":
        defaults["policy_kwargs"] = TINY
    return ACER(policy, vec_env() if env is None else env, **(defaults | kwargs))


def observations(agent: ACER, n: int = 3, seed: int = 0) -> NDArray[Any]:
    """Within the observation space."""
    shape = agent.observation_space.shape or ()
    return np.random.default_rng(seed).normal(size=(n, *shape)).astype(np.float32)


def enlarge(agent: ACER, factor: float = 100.0) -> None:
    """Makes its policy far from uniform, or its means far from 0."""
    head = agent.model.policy.params["pi_head/kernel"]
    head.assign(factor * head.value)


def everything(agent: ACER) -> dict[str, NDArray[Any]]:
    """All arrays of its file: what training changes, and all random streams."""
    file = io.BytesIO()
    agent.save(file)
    file.seek(0)
    _, groups = read_agent(file)
    return {name: array for arrays in groups.values() for name, array in arrays.items()}


def episode_lengths(agent: ACER, total_timesteps: int) -> list[int]:
    """Trains, and returns the lengths of all episodes that have ended so far."""
    seen: dict[str, EpisodeStats] = {}
    agent.learn(total_timesteps, lambda here, _: seen.update(stats=here["episode_stats"]))
    lengths: list[int] = seen["stats"].state_dict()["last_lengths"].tolist()
    return lengths


def assert_same(first: ACER, second: ACER) -> None:
    """To the bit."""
    ours, theirs = everything(first), everything(second)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


def saved(agent: ACER, path: Path) -> bytes:
    agent.save(path)
    return path.read_bytes()
