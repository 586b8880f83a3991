"""What a run folder tells about a run: settings, scores, how far it is, how long it took."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from acer_tf.errors import InputError
from acer_tf.logs.metrics import LAST_EPISODES
from acer_tf.plots.groups import names_of_settings
from acer_tf.plots.sources import (
    Series,
    clock,
    has_rows,
    read_returns,
    read_series,
    runs_at,
)
from acer_tf.storage.run_files import EPISODES, EVALUATIONS, MODEL, MONITOR
from acer_tf.storage.run_folder import read_settings


class Record(NamedTuple):
    """A run in a report.

    Attributes:
        folder: of the run.
        settings: what its config.yml holds.
        env: environment id.
        setting: name of its settings among the runs of the report.
        episodes: raw returns of its whole episodes; None before the first one ends.
        evaluations: mean returns of evaluations during training; None without any.
        seconds: spent in training; None if it is not known.
        is_finished: whether the final agent has been written.
    """

    folder: Path
    settings: dict[str, Any]
    env: str
    setting: str
    episodes: Series | None
    evaluations: Series | None
    seconds: float | None
    is_finished: bool

    @property
    def score(self) -> float | None:
        """Mean raw return of its last episodes."""
        return None if self.episodes is None else float(self.episodes.values[-LAST_EPISODES:].mean())


def read_records(folders: Sequence[Path], unnamed: Collection[str]) -> list[Record]:
    """Reads runs, finished or not.

    Args:
        folders: run folders, or folders of runs.
        unnamed: settings that are left out of names and may differ within a group.

    Raises:
        InputError: a folder holds no run, or a file in it cannot be read.
    """
    runs = [run for folder in folders for run in runs_at(folder)]
    settings = [_settings(run) for run in runs]
    names = names_of_settings(settings, unnamed)
    return [_record(run, s, name) for run, s, name in zip(runs, settings, names, strict=True)]


def _settings(folder: Path) -> dict[str, Any]:
    settings = read_settings(folder)
    if settings is None:
        raise InputError(f"{folder} is not a run; expected the folder of one, with its config.yml.")
    return settings


def _record(folder: Path, settings: dict[str, Any], name: str) -> Record:
    has_episodes, has_evaluations = has_rows(folder / EPISODES), has_rows(folder / EVALUATIONS)
    return Record(
        folder=folder,
        settings=settings,
        env=str(settings.get("env", "")),
        setting=name,
        episodes=read_returns(folder) if has_episodes else None,
        evaluations=read_series(folder, "eval") if has_evaluations else None,
        seconds=clock(folder)[1][-1] if has_episodes and has_rows(folder / MONITOR) else None,
        is_finished=(folder / MODEL).exists(),
    )
