"""Published curves and levels, to draw beside those of runs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.atari.game import FRAMES_PER_STEP
from acer_tf.envs.atari.human_scores import score_range
from acer_tf.errors import InputError
from acer_tf.plots.curves import binned
from acer_tf.plots.runs import POINTS
from acer_tf.plots.series import Axis, Series, Table, grouped
from acer_tf.storage.paths import user_path
from acer_tf.system.console import printable

LEVELS = ("human", "random")
"""Scores of an Atari game to draw as lines; attributes of `human_scores.ScoreRange`."""

STEPS = ("steps", "total_timesteps")
MEANS = ("mean_return", "return", "mean_episode_reward")


class ReferenceLine(NamedTuple):
    """A curve of K points to draw behind those of runs; a level has only a single mean.

    Attributes:
        env: environment id.
        label: name of the curve.
        x: [K] float64, agent steps or frames; empty for a level.
        mean: [K] float64, returns.
        band: lower and upper ends of its band, each [K] float64, nan where missing; None without a band.
    """

    env: str
    label: str
    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    band: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


def level(env: str, label: str, value: float) -> ReferenceLine:
    """Returns a level, such as a published score."""
    return ReferenceLine(env, label, np.empty(0), np.array([value]))


def read_references(names: Sequence[str], envs: Sequence[str], axis: Axis) -> list[ReferenceLine]:
    """Reads references for the panels of a plot.

    Args:
        names: CSV files, or `human` and `random` for these levels of Atari games.
        envs: the environments of the panels.
        axis: axis of all panels.

    Raises:
        InputError: a file cannot be read or fits none of the panels, a level is unknown, or the axis is time, which
            references lack.
    """
    references = []
    files = [user_path(name).name for name in names if name not in LEVELS]
    for name in names:
        if name in LEVELS:
            references += [_level_of_game(name, env) for env in envs]
        elif axis not in ("steps", "frames"):
            raise InputError(f"the reference {name} counts agent steps; expected --x steps or frames with it.")
        else:
            path = user_path(name)
            found = _read_file(path, envs, is_alone=files.count(path.name) == 1)
            references += [_on_axis(reference, axis) for reference in found]
    return references


def _level_of_game(name: str, env: str) -> ReferenceLine:
    scores = score_range(env)
    if scores is None:
        raise InputError(f"--reference {name} needs an Atari game with a known score; {env or 'the run'} has none.")
    return level(env, f"{name} play" if name == "random" else name, getattr(scores, name))


def _on_axis(reference: ReferenceLine, axis: Axis) -> ReferenceLine:
    return reference._replace(x=reference.x * FRAMES_PER_STEP) if axis == "frames" else reference


def _read_file(path: Path, envs: Sequence[str], is_alone: bool) -> list[ReferenceLine]:
    """Reads the curves of a file, one for each label and environment; if `is_alone`, they get the file's name."""
    table = Table(path, "a reference with the columns steps and mean_return, or a monitor.csv, or human, or random")
    if set(table.columns) >= {"r", "l", "t"}:
        return [_from_monitor(table, envs, path.name if is_alone else str(path))]
    steps, means = (next((c for c in choices if c in table.columns), choices[0]) for choices in (STEPS, MEANS))
    x, mean = table.numbers(steps, means)
    band = _band(table, mean)
    (labels,) = table.text("label") if "label" in table.columns else [[path.stem if is_alone else str(path)] * len(x)]
    (found,) = table.text("environment") if "environment" in table.columns else [[_only(path, envs)] * len(x)]
    curves = []
    for (env, label), rows in grouped(found, labels).items():
        limits = None if band is None else (band[0][rows], band[1][rows])
        curves.append(ReferenceLine(printable(env), printable(label), x[rows], mean[rows], limits))
    if missing := [c.env for c in curves if c.env not in envs]:
        raise InputError(f"{path} is about {missing[0]:.80}; expected one of {', '.join(envs)}.")
    if not curves:
        raise InputError(f"{path} has no row; expected a curve.")
    return curves


def _band(table: Table, mean: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Returns the ends of a file's band: low and high, or from a deviation, as in curves of this package."""
    if {"low", "high"} <= set(table.columns):
        low, high = table.numbers("low", "high")
        return low, high
    if "deviation" in table.columns:
        (deviation,) = table.numbers("deviation")
        return mean - deviation, mean + deviation
    return None


def _from_monitor(table: Table, envs: Sequence[str], name: str) -> ReferenceLine:
    """Averages the episodes in a monitor file of baselines, whose comment names the environment."""
    returns, lengths, seconds = table.numbers("r", "l", "t")
    if not len(returns):
        raise InputError(f"{table.path} has no finished episode yet.")
    order = np.argsort(seconds, kind="stable")
    steps = np.cumsum(lengths[order])
    if not 0 < steps[-1] < np.inf:
        raise InputError(f"{table.path} has episodes of {steps[-1]:g} steps in all; expected lengths > 0.")
    c = binned(Series(steps, returns[order]), steps[-1] / POINTS)
    env = _env_of_monitor(table) or _only(table.path, envs)
    if env not in envs:
        raise InputError(f"{table.path} is about {env:.80}; expected one of {', '.join(envs)}.")
    return ReferenceLine(env, printable(name), c.x, c.mean)


def _env_of_monitor(table: Table) -> str:
    try:
        header = json.loads(table.comments[0].lstrip("# "))
        return str(header.get("env_id") or "")
    except (IndexError, ValueError, AttributeError, RecursionError):
        return ""


def _only(path: Path, envs: Sequence[str]) -> str:
    if len(envs) > 1:
        raise InputError(f"{path} does not name its environment; expected a column environment, as there are several.")
    return envs[0]
