"""Writes the tasks for `acer suggest`, from docs/results and from random play: `python -m benchmarks.tasks`."""

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from acer_tf.configs.tasks import FILE, MINUTES
from acer_tf.envs.closing import closing
from acer_tf.envs.ids import check_env_id
from acer_tf.envs.make import make_training_env
from acer_tf.experiments.reading import load_experiment
from acer_tf.experiments.results import Result, read
from acer_tf.logs.files import csv_lines
from acer_tf.storage.durable import replace
from acer_tf.suggest import random_play
from acer_tf.system.console import say
from benchmarks.beside_others import by_minutes, mean

RESULTS = Path(__file__).parents[1] / "docs" / "results"
EXPERIMENTS = {
    "presets-classic": "preset",
    "presets-mujoco": "preset",
    "presets-minatar": "preset",
    "presets-atari": "preset",
    "beside-others": "acer",
    "ablation": "complete",
}
"""The variation with a preset's own settings in each experiment; if two experiments have a task, the first counts."""
HEADER = "environment,preset,results,observations,actions,episode,microseconds,returned"

Learned = tuple[str, str, str, list[float]]
"""Environment id, preset, name of the results; returns after each of `MINUTES`, minutes, and score."""


def learned() -> Iterator[Learned]:
    """Yields the results of each preset on its tasks."""
    seen = set[str]()
    for name, variation in EXPERIMENTS.items():
        experiment = load_experiment(name)
        results = read(RESULTS / name).values()
        for env in experiment.envs:
            runs = [run for run in results if run.key[:2] == (variation, env.id) and run.is_whole]
            if env.id not in seen and runs:
                seen.add(env.id)
                yield env.id, env.preset, name, numbers(runs)


def numbers(runs: Sequence[Result]) -> list[float]:
    """Returns the mean returns after each of `MINUTES`, the minutes of a run, and the mean score in its last tenth."""
    durations = [run.facts["seconds"] / 60 for run in runs]
    after = [mean(runs, by_minutes(minutes)) if minutes < min(durations) else math.nan for minutes in MINUTES]
    score = mean(runs, lambda run: run.score((0.9, 1)))
    return [*after, float(np.mean(durations)), score]


def main() -> int:
    """Measures random play in each task, and writes the file."""
    rows = []
    for env_id, preset, results, values in learned():
        check_env_id(env_id)
        with closing(make_training_env(env_id, 1, num_workers=0)) as env:
            observations, actions, *play = random_play(env)
        cells = ["" if math.isnan(value) else f"{value:.4g}" for value in (*play, *values)]
        rows.append([env_id, preset, results, observations, actions, *cells])
        say(", ".join(rows[-1]))
    header = [*HEADER.split(","), *(f"after_{minutes}" for minutes in MINUTES), "minutes", "score"]
    replace(FILE, csv_lines([header, *rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
