"""An experiment of a few seconds, and results without runs."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from acer_tf.experiments.experiment import Criterion, Environment, Experiment, Variation
from acer_tf.experiments.plan import Planned
from acer_tf.experiments.results import Result, Returns
from acer_tf.trials.scheduler import Trial
from tests.plots.samples import write_run

TINY: dict[str, Any] = {
    "title": "Tiny",
    "claim": "It runs.",
    "source": "nobody",
    "steps": 2000,
    "steps_per_second": 1000,
    "flags": {
        "num_env": 2,
        "nsteps": 5,
        "buffer_size": 500,
        "replay_start": 100,
        "replay_ratio": 1,
        "num_layers": 1,
        "threads": 1,
    },
    "envs": {"CartPole-v1": None},
    "variations": {"a": None, "b": {"flags": {"replay_ratio": 0}}},
    "first_seed": 4,
    "seeds": 1,
    "criteria": [
        {"kind": "reaches", "variation": "a", "every_seed": True, "values": {"CartPole-v1": 1}},
        {"kind": "reaches", "variation": "b", "every_seed": True, "values": {"CartPole-v1": 1000}},
    ],
}


def write_tiny(folder: Path, **changes: Any) -> str:
    """Writes the experiment as a file; returns its name."""
    path = folder / "tiny.yml"
    path.write_text(yaml.safe_dump({**TINY, **changes}, sort_keys=False))
    return str(path)


def experiment(*criteria: Criterion, seeds: int = 3, envs: tuple[str, ...] = ("CartPole-v1",)) -> Experiment:
    """An experiment of two variations, 1,000 steps each."""
    return Experiment(
        name="sample",
        title="Sample",
        claim="C",
        source="S",
        note="",
        envs=tuple(Environment(env, "baselines", 1000, {}, 100.0, seeds) for env in envs),
        variations=(Variation("a", {}, 1.0), Variation("b", {}, 2.0)),
        first_seed=0,
        tuned_with=(),
        score=(0.5, 1.0),
        over_time=False,
        references=(),
        random=dict.fromkeys(envs, 2.0),
        criteria=criteria,
    )


def result(score: float, seed: int = 0, variation: str = "a", env: str = "CartPole-v1", trained: int = 1000) -> Result:
    """A result whose score in the second half is given; in the first half it is 0."""
    facts: dict[str, Any] = {
        "variation": variation,
        "environment": env,
        "seed": seed,
        "steps": 1000,
        "trained": trained,
        "episodes": 6,
        "last_100": score,
        "seconds": 5.0,
        "versions": {},
        "settings": {"env": env},
    }
    steps = np.array([250.0, 500.0, 750.0, 1000.0])
    mean = np.array([0.0, 0.0, score - 1, score + 3])
    return Result(facts, Returns(steps, mean, np.array([1.0, 1.0, 3.0, 1.0]), steps / 200))


def evaluations(*points: tuple[float, float], episodes: int = 5) -> Returns:
    """Evaluations as pairs of agent steps and mean return."""
    steps, mean = np.array(points, np.float64).T
    return Returns(steps, mean, np.full(len(steps), float(episodes)), np.full(len(steps), np.nan))


def planned(folder: Path, steps: int = 500, **settings: Any) -> Planned:
    """A training with seed 3 whose run folder is `run`."""
    trial = Trial("a A/B-v0", 3, folder / "run", ("acer_tf.run",))
    kept = {"env": "A/B-v0", "total_timesteps": steps, **settings}
    return Planned(trial, "a", Environment("A/B-v0", "baselines", steps, {}, 1.0, 1), 3, kept)


def run(folder: Path, returns: list[float], steps: int = 500, **settings: Any) -> None:
    """A run of 100 agent steps and a minute an episode, in the folder of the trial."""
    write_run(folder / "run", returns, env="A/B-v0", seed=3, total_timesteps=steps, cores=2, **settings)
