"""One self-contained HTML page about runs: curves, scores, settings, commands."""

import base64
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.errors import InputError
from acer_tf.logs.metrics import LAST_EPISODES
from acer_tf.plots.curves import ENOUGH_SEEDS, Curve, mean_or_each
from acer_tf.plots.figures import View, figure_of_curves
from acer_tf.plots.pages import render
from acer_tf.plots.runs import Run, default_widths, differing, env_of, grouped_curves, names_of_settings, short_number
from acer_tf.plots.series import Series, clock, distinct_runs, has_rows, read_returns, read_series, trained_steps
from acer_tf.plots.statistics import mean_interval
from acer_tf.plots.style import rendered, styled
from acer_tf.storage.run_files import EPISODES, EVALUATIONS, MODEL, MONITOR
from acer_tf.storage.run_folder import read_settings
from acer_tf.system.console import counted

TEMPLATE = Path(__file__).with_name("page.html")


class Record(NamedTuple):
    """A run in a report.

    Attributes:
        folder: run folder.
        settings: contents of its config.yml.
        env: environment id.
        setting: name of its settings among the runs of the report.
        steps: agent steps trained.
        episodes: raw returns of its whole episodes; None before the first one ends.
        evaluations: mean returns of evaluations during training; None without any.
        seconds: time spent in training; None if unknown.
        is_finished: whether the final agent has been written.
    """

    folder: Path
    settings: dict[str, Any]
    env: str
    setting: str
    steps: int
    episodes: Series | None
    evaluations: Series | None
    seconds: float | None
    is_finished: bool


class Score(NamedTuple):
    """Final performance of a setting in an environment: the mean over runs, its interval and human-normalised form."""

    env: str
    setting: str
    seeds: int
    mean: float
    interval: str
    human: str


class Picture(NamedTuple):
    """A plot for light and for dark pages, as data addresses."""

    title: str
    light: str
    dark: str


def read_records(folders: Sequence[Path]) -> list[Record]:
    """Reads the runs in run folders, or folders of runs, finished or not.

    Raises:
        InputError: a folder holds no run, or a file in it cannot be read.
    """
    runs = [run for runs in distinct_runs(folders) for run in runs]
    settings = [_settings(run) for run in runs]
    names = names_of_settings(settings, "episodes")
    return [_record(run, s, name) for run, s, name in zip(runs, settings, names, strict=True)]


def _settings(folder: Path) -> dict[str, Any]:
    settings = read_settings(folder)
    if settings is None:
        raise InputError(f"{folder} is not a run; expected the folder of one, with its config.yml.")
    return settings


def _record(folder: Path, settings: dict[str, Any], name: str) -> Record:
    has_episodes, has_evaluations = has_rows(folder / EPISODES), has_rows(folder / EVALUATIONS)
    episodes = read_returns(folder) if has_episodes else None
    steps, total = trained_steps(folder, episodes), settings.get("total_timesteps")
    return Record(
        folder=folder,
        settings=settings,
        env=env_of(settings),
        setting=name,
        steps=steps,
        episodes=episodes,
        evaluations=read_series(folder, "eval") if has_evaluations else None,
        seconds=clock(folder)[1][-1] if has_episodes and has_rows(folder / MONITOR) else None,
        is_finished=(folder / MODEL).exists() and not (isinstance(total, int | float) and steps < total),
    )


def page(records: Sequence[Record]) -> str:
    """Returns the report on one or more runs as HTML, with all text from the runs escaped.

    Raises:
        InputError: jinja2 or matplotlib is not installed.
    """
    settings = [record.settings for record in records]
    differ = ["env", "seed", *(name for name in differing(settings) if name != "seed")]
    return render(
        TEMPLATE,
        records=records,
        scores=scores(records),
        last_episodes=LAST_EPISODES,
        curves=_pictures(records, "episodes", lambda record: record.episodes),
        evaluations=_pictures(records, "eval", lambda record: record.evaluations),
        differ=differ,
        common=_common(settings, differ),
        versions=_versions(settings),
        short=short_number,
        counted=counted,
        duration=_duration,
    )


def scores(records: Sequence[Record]) -> list[Score]:
    """Returns the final performance of each setting in each environment, for runs with an episode."""
    groups: dict[tuple[str, str], list[float]] = {}
    for record in records:
        if record.episodes is not None:
            groups.setdefault((record.env, record.setting), []).append(record.episodes.last_mean)
    found = []
    for (env, setting), values in groups.items():
        estimate = mean_interval(np.array(values))
        few = f"none below {ENOUGH_SEEDS} seeds"
        limits = few if len(values) < ENOUGH_SEEDS else f"{estimate.low:.4g} to {estimate.high:.4g}"
        human = human_normalized(env, estimate.estimate)
        shown = "" if human is None else f"{human:.2f}"
        found.append(Score(env, setting, len(values), estimate.estimate, limits, shown))
    return found


def _pictures(records: Sequence[Record], metric: str, series: Callable[[Record], Series | None]) -> list[Picture]:
    """Draws a picture for each environment, so that pages of any width can arrange them."""
    names = names_of_settings([r.settings for r in records], metric)
    runs = [Run(r.env, name, s) for r, name in zip(records, names, strict=True) if (s := series(r)) is not None]
    widths = default_widths(runs, metric)
    curves = [curve for group in grouped_curves(runs, widths) for curve in mean_or_each(group)]
    pictures = []
    for env, width in widths.items():
        view, drawn = View(metric, widths=() if width is None else (width,)), [c for c in curves if c.env == env]
        light, dark = (_address(drawn, view, is_dark) for is_dark in (False, True))
        pictures.append(Picture(f"learning curve of {env or 'the run'}", light, dark))
    return pictures


def _address(curves: Sequence[Curve], view: View, is_dark: bool) -> str:
    with styled(is_dark):
        picture = rendered(figure_of_curves(curves, view), ".svg")
    return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}"


def _common(settings: Sequence[Mapping[str, Any]], differ: Collection[str]) -> dict[str, Any]:
    """Returns the settings that are the same in all runs."""
    left_out = {*differ, "command", "versions"}
    return {
        name: value
        for name, value in settings[0].items()
        if name not in left_out and all(name in s and s[name] == value for s in settings)
    }


def _versions(settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the different versions of libraries, in order."""
    found: list[dict[str, Any]] = []
    for s in settings:
        if isinstance(value := s.get("versions"), dict) and value not in found:
            found.append(value)
    return found


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "not known"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
