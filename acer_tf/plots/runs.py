"""Groups runs that differ only in their seed, and names each group in a plot by the settings that differ."""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from acer_tf.plots.curves import Curve, binned, mean_curve
from acer_tf.plots.series import Axis, Series, distinct_runs, has_rows, on_axis, read_series
from acer_tf.storage.run_files import EPISODES, EVALUATIONS, PROGRESS
from acer_tf.storage.run_folder import UNNAMED, read_settings
from acer_tf.system.console import printable

OF_EVALUATIONS = ("eval_deterministic", "eval_max_episode_steps")
"""Settings that affect evaluations but not training."""
POINTS = 100
"""Points of a curve, unless the width of its bins is given."""


class Run(NamedTuple):
    """A run in a plot.

    Attributes:
        env: environment id; empty if unknown.
        setting: name of all settings except environment and seed.
        series: its values.
    """

    env: str
    setting: str
    series: Series


def read_runs(
    sources: Sequence[Path],
    labels: Sequence[str],
    metric: str = "episodes",
    axis: Axis = "steps",
) -> list[Run]:
    """Reads a metric of runs and names their settings.

    Args:
        sources: run folders; folders of runs, where runs without a row of the metric are left out; or CSV files as
            `read_returns` reads them.
        labels: the name of each source's setting. Without labels, runs are named by `names_of_settings`; a run without
            settings is named after its file or folder, and has the environment of the others if there is only one.
        metric: as in `read_series`.
        axis: horizontal axis.

    Raises:
        InputError: a file cannot be read, or lacks the metric or the axis.
    """
    found = [_drawable(runs, metric) for runs in distinct_runs(sources)]
    if labels:
        labels = [label for label, paths in zip(labels, found, strict=True) for _ in paths]
    sources = [path for paths in found for path in paths]
    settings = [read_settings(source) for source in sources]
    names = iter(names_of_settings([s for s in settings if s is not None], metric))
    envs = {env_of(s) for s in settings if s is not None}
    only_env = envs.pop() if len(envs) == 1 else ""
    runs = []
    for i, (source, s) in enumerate(zip(sources, settings, strict=True)):
        env = only_env if s is None else env_of(s)
        name = _short_name(source, sources) if s is None else next(names)
        series = on_axis(read_series(source, metric), axis, source, env)
        runs.append(Run(env, labels[i] if labels else name, series))
    return runs


def _drawable(runs: list[Path], metric: str) -> list[Path]:
    """Returns the runs that have rows in the metric's file; a single run or file is always returned."""
    file = {"episodes": EPISODES, "eval": EVALUATIONS}.get(metric, PROGRESS)
    return [run for run in runs if has_rows(run / file)] or runs[:1]


def names_of_settings(settings: Sequence[Mapping[str, Any]], metric: str) -> list[str]:
    """Names each run by the settings that differ between runs of the same environment, or else by its network.

    Settings of evaluations count only for their metric, `eval`.
    """
    named = differing(settings, OF_EVALUATIONS if metric == "eval" else ())
    return [
        printable(
            ", ".join(_abbreviated(name, s[name]) for name in named if s.get(name) is not None)
            or str(s.get("network") or "ACER")
        )
        for s in settings
    ]


def env_of(settings: Mapping[str, Any]) -> str:
    """Returns the environment id in a run's settings, or an empty text."""
    return printable(str(settings.get("env", "")))


def differing(settings: Sequence[Mapping[str, Any]], besides: Collection[str] = ()) -> list[str]:
    """Returns the names of settings that differ between runs of the same environment; of `UNNAMED`, only `besides`."""
    first = {str(s.get("env")): s for s in reversed(settings)}
    names = dict.fromkeys(name for s in settings for name in s if name in besides or name not in {"env", *UNNAMED})
    return [name for name in names if any(s.get(name) != first[str(s.get("env"))].get(name) for s in settings)]


def mean_curves(runs: Sequence[Run], widths: Mapping[str, float | None]) -> list[Curve]:
    """Returns the mean curve of each environment and setting, in the order of first appearance.

    `widths` has the width of bins in each environment, as for `binned`.

    Raises:
        InputError: a width is not positive, or the runs of a group have no part of the axis in common.
    """
    return [mean_curve(group) for group in grouped_curves(runs, widths)]


def grouped_curves(runs: Sequence[Run], widths: Mapping[str, float | None]) -> list[list[Curve]]:
    """Returns the curves of runs, grouped by environment and setting; see `mean_curves`."""
    groups: dict[tuple[str, str], list[Curve]] = {}
    for env, setting, series in runs:
        groups.setdefault((env, setting), []).append(binned(series, widths[env], env, setting))
    return list(groups.values())


def default_widths(runs: Sequence[Run], metric: str) -> dict[str, float | None]:
    """Returns the width of bins in each environment: a hundredth of its longest run; None for evaluations or step 0."""
    longest: dict[str, float] = {}
    for run in runs:
        longest[run.env] = max(longest.get(run.env, 0.0), float(run.series.x.max()))
    return {env: None if metric == "eval" or not end else end / POINTS for env, end in longest.items()}


def short_number(number: float) -> str:
    """Formats a number without loss, with round thousands and millions as in 20k and 1.5M."""
    for unit, suffix in ((1e6, "M"), (1e3, "k")):
        if unit <= abs(number) < math.inf and float(f"{number / unit:.4g}") * unit == number:
            return f"{number / unit:.4g}{suffix}"
    return repr(int(number) if float(number).is_integer() else number)


def _abbreviated(name: str, value: object) -> str:
    if name == "network":
        return str(value)
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return f"{name}={short_number(value) if isinstance(value, int | float) else value}"


def _short_name(source: Path, sources: Sequence[Path]) -> str:
    name = source.resolve().name
    is_unique = [other.resolve().name for other in sources].count(name) == 1
    return name if is_unique else str(source)
