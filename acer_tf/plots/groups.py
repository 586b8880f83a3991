"""Groups runs that differ only in their seed, and names each group in a plot."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from acer_tf.plots.curves import Curve, Returns, curve, mean_curve, read_returns
from acer_tf.storage.run_folder import read_settings

NAMED = ("env", "network")
"""Settings that are part of every name, even if they are the same for all runs."""


class Run(NamedTuple):
    """A run in a plot.

    Attributes:
        env: environment id; empty if it is not known.
        setting: name of all settings but environment and seed.
        returns: its episodes.
    """

    env: str
    setting: str
    returns: Returns


def read_runs(sources: Sequence[Path], labels: Sequence[str], unnamed: Collection[str] = ("seed",)) -> list[Run]:
    """Reads runs and names their settings.

    Args:
        sources: run folders, or CSV files as `read_returns` reads them.
        labels: the name of each run's setting. Without labels it consists of the network and the settings that differ
            between the runs; a run without settings gets the name of its file or folder.
        unnamed: settings that are left out of names and may differ within a group.

    Raises:
        InputError: a file cannot be read, or holds something else.
    """
    settings = [read_settings(source) for source in sources]
    known = [s for s in settings if s is not None]
    names = [name for s in known for name in s]
    differing = {name for name in names if any(s.get(name) != known[0].get(name) for s in known)}
    named = [name for name in dict.fromkeys(names) if name in differing - {*NAMED, *unnamed}]
    runs = []
    for i, (source, s) in enumerate(zip(sources, settings, strict=True)):
        if s is None:
            env, setting = "", _short_name(source, sources)
        else:
            env = str(s.get("env", ""))
            setting = ", ".join([str(s.get("network", "")), *(f"{name}={s.get(name)}" for name in named)])
        runs.append(Run(env, labels[i] if labels else setting, read_returns(source)))
    return runs


def grouped(runs: Sequence[Run], is_labelled: bool) -> dict[str, list[Run]]:
    """Groups runs by environment and setting, under the name of their curve, in the order of first appearance.

    With labels and a single environment, names consist of the label alone.
    """
    hides_env = is_labelled and len({run.env for run in runs}) == 1
    groups: dict[str, list[Run]] = {}
    for run in runs:
        name = run.setting if hides_env else f"{run.env} {run.setting}".strip()
        groups.setdefault(name, []).append(run)
    return groups


def mean_curves(runs: Sequence[Run], is_labelled: bool, width: float | None = None) -> list[Curve]:
    """Returns the mean learning curve of each group.

    Args:
        runs: at least one.
        is_labelled: whether settings were labelled; see `grouped`.
        width: agent steps per bin; None means a hundredth of the longest run.

    Raises:
        InputError: the width is not positive, or the runs of a group have no steps in common.
    """
    if width is None:
        width = max(run.returns.steps.max() for run in runs) / 100
    groups = grouped(runs, is_labelled)
    return [mean_curve(name, [curve(name, run.returns, width) for run in group]) for name, group in groups.items()]


def _short_name(source: Path, sources: Sequence[Path]) -> str:
    name = source.resolve().name
    is_unique = [other.resolve().name for other in sources].count(name) == 1
    return name if is_unique else str(source)
