"""Run folders to play from."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import yaml

from acer_tf import ACER
from tests.counter import Counter
from tests.registered import registered


@contextlib.contextmanager
def counter_run(folder: Path) -> Iterator[Path]:
    """A run of Counter-v0, which is registered meanwhile; the agent takes action 0 most often, but not always."""
    with registered("Counter-v0", lambda render_mode=None: Counter(3, render_mode)):
        agent = ACER("MlpPolicy", gymnasium.make("Counter-v0"), seed=0, policy_kwargs={"net_arch": [4]})
        agent.load_parameters({"pi_head/bias": np.array([1.0, 0.0])}, exact_match=False)
        yield write_run(folder, agent, env="Counter-v0", num_env=4)


def write_run(folder: Path, agent: ACER, **settings: Any) -> Path:
    """A run folder that holds no more than its agent and settings."""
    agent.save(folder / "model.zip")
    (folder / "config.yml").write_text(yaml.safe_dump(settings))
    return folder
