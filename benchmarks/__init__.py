"""Measurements of speed and memory; run as `python -m benchmarks.<name>`."""

import dataclasses
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Meta

from acer_tf.config import Config
from acer_tf.schema import Count, CountOrZero, Positive, Validated
from acer_tf.storage.durable import write_json
from acer_tf.system.compute import keep_freed_memory, prepare_tensorflow

Point = TypeVar("Point")

Counts = Annotated[tuple[Count, ...], Meta(description="whole numbers >= 1")]
CountsOrZero = Annotated[tuple[CountOrZero, ...], Meta(description="whole numbers >= 0")]


@dataclasses.dataclass(frozen=True)
class Output(Validated):
    """The numbers."""

    json: Path | None = None
    """File to write them to as well."""

    def write(self, numbers: object) -> None:
        """Writes the numbers to the file, if given."""
        if self.json is not None:
            write_json(self.json, numbers)


@dataclasses.dataclass(frozen=True)
class LoopFlags(Output):
    """Flags of benchmarks of the complete loop."""

    env: str = "BreakoutNoFrameskip-v4"
    """Environment id."""
    num_env: Count = 16
    """Environments."""
    network: str = "cnn"
    """Name of the network."""
    nsteps: Count = 20
    """Agent steps of a segment."""
    replay_ratio: Positive = 4
    """Replay updates per on-policy update, on average; replay is active from the second segment on."""
    seconds: Positive = 60
    """Duration of the measurement, in seconds."""

    def config(self, **settings: Any) -> Config:
        """Returns hyper-parameters with which replay is active from the second segment on."""
        return Config(
            nsteps=self.nsteps,
            replay_ratio=self.replay_ratio,
            replay_start=self.nsteps,
            buffer_size=100 * self.nsteps,
            lrschedule="constant",
            **settings,
        )


def in_turns(
    measure: Callable[[Point], Mapping[str, float]], points: Iterable[Point], repeats: int
) -> dict[Point, list[Mapping[str, float]]]:
    """Measures all points in turn, several times, each time in a new process.

    A slow minute of the machine then affects only one of a point's numbers, which their `medians` leave out.
    """
    found: dict[Point, list[Mapping[str, float]]] = {point: [] for point in points}
    for number in range(1, repeats + 1):
        for point, runs in found.items():
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
                runs.append(process.submit(measure, point).result())
        print(f"round {number} of {repeats} is done", flush=True)
    return found


def medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Returns the median of each number of several runs."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def seconds(call: Callable[[], object]) -> float:
    """Measures one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def print_shares(shares: Mapping[str, float]) -> None:
    """Prints a line for each part of the loop."""
    for part, share in shares.items():
        print(f"  {part:<19} {share:8.1%}")


def prepare(network: str) -> None:
    """Sets up TensorFlow's threads and kernels and the allocator like training commands; before TensorFlow's import.

    Args:
        network: name of the network.
    """
    prepare_tensorflow(network)
    keep_freed_memory()
