"""Speed and memory against environments, segment length, replay size and replay ratio: `python -m benchmarks.growth`.

What counts are ratios within one run: each table's numbers are also given as multiples of its first row.
"""

import contextlib
import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from acer_tf.cli.command import command
from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.logs.logger import Logger
from acer_tf.plots.style import new_figure
from acer_tf.schema import Count, CountOrZero, Positive
from benchmarks import Counts, CountsOrZero, Output, in_turns, medians, prepare

WARM_UP = 3
"""Iterations before the clock starts, in which TensorFlow traces its functions."""


@dataclasses.dataclass(frozen=True)
class Growth(Output):
    """Measures how speed and memory grow, with each configuration in its own process."""

    env: str = "BreakoutNoFrameskip-v4"
    """Environment id."""
    network: str = "cnn"
    """Name of the network."""
    num_env: Count = 16
    """Number of environments while something else varies; likewise the next three."""
    nsteps: Count = 20
    """Agent steps of a segment."""
    replay: Count = 10_000
    """Agent steps in replay, over all environments."""
    replay_ratio: CountOrZero = 4
    """Replay updates per on-policy update, on average."""
    num_envs: Counts = (1, 4, 16, 64)
    """Numbers of environments to compare."""
    lengths: Counts = (5, 10, 20, 40)
    """Segment lengths to compare."""
    replays: Counts = (1000, 10_000, 100_000, 800_000)
    """Sizes of replay to compare."""
    ratios: CountsOrZero = (0, 1, 4, 8)
    """Replay ratios to compare."""
    overlap: bool = False
    """Whether to collect segments while updates from replay run."""
    seconds: Positive = 30
    """How long each configuration is measured, each time."""
    repeats: Count = 3
    """Number of rounds in which all configurations are measured; results are medians."""
    plot: Path | None = None
    """PNG file for a plot."""


@dataclasses.dataclass(frozen=True)
class Point:
    """One configuration."""

    env: str
    network: str
    num_env: int
    nsteps: int
    replay: int
    replay_ratio: int
    overlap: bool
    seconds: float


def measure(point: Point) -> dict[str, float]:
    """Returns environment steps per second with a full replay memory, and the MiB of this process and its children."""
    prepare(point.network)
    from acer_tf.learning import make_model_and_loop

    per_env = max(point.replay // point.num_env, point.nsteps)
    config = Config(
        nsteps=point.nsteps,
        buffer_size=per_env,
        replay_start=0,
        replay_ratio=point.replay_ratio,
        overlap=point.overlap and point.replay_ratio > 0,
        lrschedule="constant",
    )
    with contextlib.closing(make_training_env(point.env, point.num_env)) as env:
        acer = make_model_and_loop(point.network, env, 0, config, Logger())
        acer.learn(lambda: acer.steps >= WARM_UP * acer.nbatch)
        if point.replay_ratio:
            played = [acer.buffer.get(acer._rng) for _ in range(WARM_UP)]
            for i in range(per_env // point.nsteps):
                acer.buffer.put(played[i % WARM_UP])
        start, steps = time.perf_counter(), acer.steps
        acer.learn(lambda: time.perf_counter() - start > point.seconds)
        speed = (acer.steps - steps) / (time.perf_counter() - start)
        own = psutil.Process()
        resident = sum(process.memory_info().rss for process in [own, *own.children(recursive=True)])
    return {"env_steps_per_s": speed, "memory_mib": resident / 2**20}


def tables(flags: Growth) -> dict[str, list[dict[str, float]]]:
    """Measures every configuration; returns the rows of each table."""
    axes = {"num_env": flags.num_envs, "nsteps": flags.lengths, "replay": flags.replays, "replay_ratio": flags.ratios}
    base = Point(**{field.name: getattr(flags, field.name) for field in dataclasses.fields(Point)})
    points = {
        axis: {value: dataclasses.replace(base, **{axis: value}) for value in values} for axis, values in axes.items()
    }
    runs = in_turns(measure, (point for row in points.values() for point in row.values()), flags.repeats)
    found: dict[str, list[dict[str, float]]] = {}
    for axis, row in points.items():
        found[axis] = []
        for value, point in row.items():
            numbers = medians(runs[point])
            first = found[axis][0] if found[axis] else numbers
            ratios = {f"{name}_ratio": number / first[name] for name, number in numbers.items()}
            found[axis].append({axis: value, **numbers, **ratios})
            print(_line(axis, found[axis][-1]), flush=True)
    return found


def plot(found: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Draws speed and memory, as multiples of each table's first row."""
    figure = new_figure(4 * len(found), 3.5)
    panels = figure.subplots(1, len(found))
    for panel, (axis, rows) in zip(panels, found.items(), strict=True):
        for name, label in (("env_steps_per_s_ratio", "environment steps/s"), ("memory_mib_ratio", "resident memory")):
            panel.plot([row[axis] for row in rows], [row[name] for row in rows], marker="o", label=label)
        panel.set_xscale("symlog" if any(row[axis] == 0 for row in rows) else "log")
        panel.set_xticks([row[axis] for row in rows], [f"{row[axis]:,}" for row in rows])
        panel.minorticks_off()
        panel.set_xlabel(axis)
        panel.set_ylim(bottom=0)
        panel.legend()
    panels[0].set_ylabel("multiple of the first")
    figure.savefig(path, dpi=120)


def _line(axis: str, row: dict[str, Any]) -> str:
    return (
        f"{axis:<12} {row[axis]:>8} {row['env_steps_per_s']:10.0f} steps/s (x {row['env_steps_per_s_ratio']:.2f}) "
        f"{row['memory_mib']:8.0f} MiB (x {row['memory_mib_ratio']:.2f})"
    )


def run(flags: Growth) -> None:
    """Runs the measurements."""
    found = tables(flags)
    flags.write(found)
    if flags.plot is not None:
        plot(found, flags.plot)


main = command("benchmarks.growth", Growth, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
