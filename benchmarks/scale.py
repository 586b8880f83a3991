"""A model of many collectors and one learner, with measured inputs: `python -m benchmarks.scale`.

It simulates `acer_tf.distributed` event by event: orders and their weights, collecting, the learner's network link, and
the learner, which takes segments as they arrive and makes updates on them.
"""

import dataclasses
import heapq
import sys
from collections import deque
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

from acer_tf.cli.command import command
from acer_tf.plots.style import new_figure
from acer_tf.schema import Count, Positive, Weight
from benchmarks import Output

COLLECTORS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
SEGMENTS = 3000
"""Segments to simulate for each number of collectors, after as many orders as there can be at a time."""


@dataclasses.dataclass(frozen=True)
class Scale(Output):
    """Simulates agent steps per second, efficiency and staleness; the defaults were measured with Breakout."""

    collectors: Annotated[tuple[Count, ...], Meta(min_length=1, description="whole numbers >= 1")] = COLLECTORS
    """Numbers of collectors."""
    call_ms: Annotated[tuple[Positive, ...], Meta(min_length=1, description="numbers > 0")] = (180.0, 1.0)
    """Times of an update on `segments_per_update` segments, one for each learner to compare."""
    ratios: Annotated[tuple[Weight, ...], Meta(min_length=1, description="numbers >= 0")] = (4.0, 1.0, 0.0)
    """Updates from replay for each on-policy update, for each learner."""
    steps: Count = 320
    """Agent steps of a segment: 16 environments x 20 steps."""
    collect_s: Positive = 0.4
    """Seconds that a collector needs for a segment."""
    jitter: Weight = 0.1
    """Standard deviation of that time, as a fraction of it."""
    segment_kb: Positive = 26.0
    """Kilobytes of a segment on the network."""
    weights_mb: Positive = 6.75
    """Megabytes of the weights; each version that a collector gets is sent once to its node."""
    per_node: Count = 16
    """Collectors per node."""
    trip_ms: Weight = 0.84
    """Round-trip time of an order and its segment, without the transfer of their bytes."""
    handle_ms: Weight = 9.8
    """Time for the learner to decompress and stack the frames of a segment."""
    gbit: Positive = 10.0
    """Gigabits per second of the learner's network link, in each direction."""
    segments_per_update: Count = 1
    """As in training, like the next two."""
    publish_every: Count = 1
    """Updates between two versions of the weights."""
    actor_depth: Count = 1
    """Orders per collector."""
    plot: Path | None = None
    """PNG file for a picture, such as docs/scale.png."""


class Result(NamedTuple):
    """The result for one number of collectors.

    Attributes:
        collectors: number of collectors.
        steps_per_s: agent steps per second on which the learner trains.
        efficiency: that rate, relative to as many single collectors whose learner never keeps them waiting.
        staleness: mean number of updates since the weights of new segments.
        staleness_p95: 95th percentile of that number.
        idle_share: share of the time for which the learner waits.
        link_share: share of the time for which the learner's link sends or receives, whichever is greater.
    """

    collectors: int
    steps_per_s: float
    efficiency: float
    staleness: float
    staleness_p95: float
    idle_share: float
    link_share: float


class _Link:
    """One direction of the learner's network link, which sends items one after the other."""

    def __init__(self, gbit: float) -> None:
        self._bytes_per_s = gbit * 1e9 / 8
        self._free_at = self.busy = 0.0

    def send(self, now: float, size: float) -> float:
        """Returns the time at which this many bytes have been sent."""
        seconds = size / self._bytes_per_s
        self._free_at = max(now, self._free_at) + seconds
        self.busy += seconds
        return self._free_at


def simulate(flags: Scale, collectors: int, call_s: float, ratio: float) -> Result:
    """Simulates a number of collectors.

    Args:
        flags: the inputs.
        collectors: number of collectors.
        call_s: seconds of an update.
        ratio: updates from replay for each on-policy update.
    """
    rng = np.random.default_rng(0)
    down, up = _Link(flags.gbit), _Link(flags.gbit)
    made: list[tuple[float, int, int, int]] = []  # seconds, order, collector, version: collected, to be sent
    free_at = np.zeros(collectors)
    version, updates, orders, now = 0, 0, 0, 0.0
    known: dict[int, int] = {}

    def order(collector: int) -> None:
        nonlocal version, orders
        if updates - version >= flags.publish_every:
            version = updates
        at, node = now, collector // flags.per_node
        if known.get(node) != version:
            known[node] = version
            at = down.send(now, flags.weights_mb * 1e6)
        seconds = flags.collect_s * max(0.1, rng.normal(1, flags.jitter))
        free_at[collector] = max(at + flags.trip_ms / 1e3, free_at[collector]) + seconds
        orders += 1
        heapq.heappush(made, (free_at[collector], orders, collector, version))

    for collector in range(collectors * flags.actor_depth):
        order(collector % collectors)
    staleness: list[int] = []
    waited = began = 0.0
    warm = collectors * flags.actor_depth
    batch: deque[int] = deque()
    for taken in range(warm + SEGMENTS):
        if taken == warm:
            began, waited, up.busy, down.busy = now, 0.0, 0.0, 0.0
            staleness.clear()
        at, _, collector, acted = heapq.heappop(made)
        arrived = up.send(at, flags.segment_kb * 1e3)
        waited += max(arrived - now, 0.0)
        now = max(arrived, now) + flags.handle_ms / 1e3
        staleness.append(updates - acted)
        order(collector)
        batch.append(acted)
        if len(batch) == flags.segments_per_update:
            batch.clear()
            number = 1 + rng.poisson(ratio)
            updates += number
            now += number * call_s
    seconds = now - began
    rate = SEGMENTS * flags.steps / seconds
    alone = flags.steps / (flags.collect_s + flags.trip_ms / 1e3)
    return Result(
        collectors,
        rate,
        rate / collectors / alone,
        float(np.mean(staleness)),
        float(np.percentile(staleness, 95)),
        waited / seconds,
        max(up.busy, down.busy) / seconds,
    )


def _table(flags: Scale) -> dict[str, list[Result]]:
    tables: dict[str, list[Result]] = {}
    for call_ms in flags.call_ms:
        for ratio in flags.ratios:
            name = f"{call_ms:g} ms a call, ratio {ratio:g}"
            tables[name] = [simulate(flags, count, call_ms / 1e3, ratio) for count in flags.collectors]
    return tables


def _print(tables: dict[str, list[Result]]) -> None:
    print("modelled, not measured; the inputs are flags (--help), whose defaults were measured on one machine")
    for name, results in tables.items():
        print(f"\n{name}\ncollectors  steps/s  efficiency  staleness   p95  learner idle  link busy")
        for r in results:
            speed = f"{r.collectors:10} {r.steps_per_s:8,.0f} {r.efficiency:11.2f}"
            staleness = f"{r.staleness:10.1f} {r.staleness_p95:5.0f}"
            print(f"{speed} {staleness} {r.idle_share:13.0%} {r.link_share:10.0%}")


def _draw(path: Path, tables: dict[str, list[Result]]) -> None:
    labels = {"steps_per_s": "agent steps/s", "efficiency": "efficiency", "staleness": "mean staleness, updates"}
    figure = new_figure(15, 4.2)
    axes = figure.subplots(1, len(labels))
    for axis, (field, label) in zip(axes, labels.items(), strict=True):
        for name, results in tables.items():
            axis.plot([r.collectors for r in results], [getattr(r, field) for r in results], marker=".", label=name)
        scale = "linear" if field == "efficiency" else "log"
        axis.set(xscale="log", yscale=scale, xlabel="collectors", ylabel=label)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    figure.suptitle("One learner and many collectors: a model, with measured inputs")
    figure.savefig(path, dpi=110)


def run(flags: Scale) -> None:
    """Runs the model."""
    tables = _table(flags)
    _print(tables)
    flags.write({name: [result._asdict() for result in results] for name, results in tables.items()})
    if flags.plot is not None:
        _draw(flags.plot, tables)


main = command("benchmarks.scale", Scale, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
