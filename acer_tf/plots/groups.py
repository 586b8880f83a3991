"""Which runs are the same but for their seed, and what each is called in a plot."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from acer_tf.commands.resume import CHECKPOINT_SETTINGS, FREE
from acer_tf.plots.curves import Returns, read_returns
from acer_tf.storage.run_folder import read_settings

NAMED = ("env", "network")
"""Settings that are in a name even where they are the same for all runs."""
NOT_NAMED = {
    "seed",
    "command",
    "versions",
    "cores",
    "tensorflow_threads",
    "processor",
    "onednn",
    *FREE,
    *CHECKPOINT_SETTINGS,
}
"""Settings in which runs of one group may differ."""


class Run(NamedTuple):
    """A run that is to be drawn.

    Attributes:
        env: environment id; empty where it is not known.
        setting: name of everything else but the seed.
        returns: its episodes.
    """

    env: str
    setting: str
    returns: Returns


def read_runs(sources: Sequence[Path], labels: Sequence[str]) -> list[Run]:
    """Reads runs and names them.

    Args:
        sources: run folders, or CSV files as `read_returns` takes them.
        labels: the setting of each; without any, network and whatever differs between the runs are the setting, and the
            name of the file or folder where there are no settings.

    Raises:
        InputError: a file cannot be read, or holds something else.
    """
    settings = [read_settings(source) for source in sources]
    known = [s for s in settings if s is not None]
    names = [name for s in known for name in s]
    differing = {name for name in names if any(s.get(name) != known[0].get(name) for s in known)}
    named = [name for name in dict.fromkeys(names) if name in differing - NOT_NAMED - {*NAMED}]
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
    """Puts runs of the same environment and setting together, in their order, under the name of their curve.

    The environment is left out of the name where settings were labelled and there is only one environment.
    """
    hides_env = is_labelled and len({run.env for run in runs}) == 1
    groups: dict[str, list[Run]] = {}
    for run in runs:
        name = run.setting if hides_env else f"{run.env} {run.setting}".strip()
        groups.setdefault(name, []).append(run)
    return groups


def _short_name(source: Path, sources: Sequence[Path]) -> str:
    name = source.resolve().name
    is_unique = [other.resolve().name for other in sources].count(name) == 1
    return name if is_unique else str(source)
