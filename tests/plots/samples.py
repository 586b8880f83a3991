"""Series, curves and runs to write and draw."""

from pathlib import Path

import numpy as np
import yaml

from acer_tf.plots.curves import Curve, binned
from acer_tf.plots.series import Series
from acer_tf.plots.statistics import Band


def series(*points: tuple[float, float]) -> Series:
    """A series from pairs of agent steps and value."""
    return Series(*np.array(points, dtype=np.float64).T)


def some_curve(env: str, setting: str, seeds: int = 1) -> Curve:
    """A curve of two points, the mean of so many runs."""
    c = binned(series((1, 2), (11, 10.5)), 10, env, setting)
    return c if seeds == 1 else c._replace(seeds=np.full(2, seeds), deviation=np.full(2, 1.0))


def write_run(folder: Path, returns: list[float], **settings: object) -> Path:
    """Writes a run that finishes an episode of 100 agent steps, and of one minute, for each of these returns."""
    folder.mkdir(parents=True)
    rows = [f"{100 * (i + 1)},{value},100,0\n" for i, value in enumerate(returns)]
    (folder / "episodes.csv").write_text("steps,return,length,env\n" + "".join(rows))
    rows = [f"{value},100,{60.0 * (i + 1)}\n" for i, value in enumerate(returns)]
    (folder / "monitor.csv").write_text('#{"t_start": 0.0, "env_id": "A-v0"}\nr,l,t\n' + "".join(rows))
    if settings:
        (folder / "config.yml").write_text(yaml.safe_dump(settings))
    return folder


def band(x: list[float], estimate: list[float], width: float = 0.1) -> Band:
    values = np.array(estimate)
    return Band(np.array(x), values, values - width, values + width)
