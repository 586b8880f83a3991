"""Makes results from run folders."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from acer_tf.errors import InputError
from acer_tf.experiments.plan import Planned, decisive
from acer_tf.experiments.results import NOTED, NOTHING, Result, Returns, rounded
from acer_tf.plots.curves import binned
from acer_tf.plots.series import Series, clock, has_rows, read_returns, read_series, trained_steps
from acer_tf.storage.run_files import EPISODES, EVALUATIONS, MONITOR
from acer_tf.storage.run_folder import read_settings
from acer_tf.storage.usage import read_processor_seconds
from acer_tf.training.resume import describe, differences

BINS = 100


def collect(planned: Planned) -> Result | None:
    """Makes a result from a run folder, whether the run has ended or is in progress.

    Returns:
        The result, or None if there is no run or no episode has ended yet.

    Raises:
        InputError: the run has other settings, or one of its files cannot be read.
    """
    folder, total = planned.trial.folder, planned.env.steps
    settings = read_settings(folder)
    if settings is None or not has_rows(folder / EPISODES) or not has_rows(folder / MONITOR):
        return None
    if changed := differences(decisive(settings), planned.settings):
        raise InputError(f"the run in {folder} has different settings: {describe(changed)}; choose another --out.")
    if settings.get("seed") != planned.seed:
        raise InputError(f"the run in {folder} has seed {settings.get('seed')}; expected {planned.seed}.")
    episodes = read_returns(folder)
    steps, returns = episodes
    times = clock(folder)
    bins = binned(Series(np.minimum(steps, total), returns), total / BINS)
    trained = trained_steps(folder, episodes)
    used = read_processor_seconds(folder, min(trained, total))
    evaluations = _evaluations(folder, settings, total)
    facts = {
        "variation": planned.variation,
        "environment": planned.env.id,
        "seed": planned.seed,
        "steps": total,
        "trained": trained,
        "episodes": len(returns),
        "last_100": rounded(episodes.last_mean),
        "seconds": rounded(times[1][-1]),
        **({} if used is None else {"processor_seconds": rounded(used)}),
        **{name: settings[name] for name in NOTED if name in settings},
        **({"eval_deterministic": settings.get("eval_deterministic", False)} if len(evaluations.steps) else {}),
        "versions": settings.get("versions", {}),
        "settings": dict(planned.settings),
    }
    training = Returns(bins.x, bins.mean, bins.values.astype(float), np.interp(bins.x, *times))
    return Result(facts, training, evaluations)


def _evaluations(folder: Path, settings: Mapping[str, Any], total: int) -> Returns:
    if not has_rows(folder / EVALUATIONS):
        return NOTHING
    steps, mean = read_series(folder, "eval")
    episodes = np.full(len(steps), float(settings["eval_episodes"]))
    return Returns(np.minimum(steps, total), mean, episodes, np.full(len(steps), math.nan))
