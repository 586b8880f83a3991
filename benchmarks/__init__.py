"""Measurements of speed and memory; run as `python -m benchmarks.<name>`."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acer_tf.config import Config
from acer_tf.storage.durable import write_json
from acer_tf.system.compute import keep_freed_memory, prepare_tensorflow


@dataclasses.dataclass(frozen=True)
class LoopFlags:
    """Flags of the benchmarks that measure the whole loop."""

    env: str = "BreakoutNoFrameskip-v4"
    """Environment id."""
    num_env: int = 16
    """Environments."""
    network: str = "cnn"
    """Name of the network."""
    nsteps: int = 20
    """Agent steps of a segment."""
    replay_ratio: float = 4
    """Replay updates per on-policy update, on average; replay is active from the second segment on."""
    seconds: float = 60
    """Seconds for which the loop is measured."""
    json: Path | None = None
    """File that the numbers are written to as well."""

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

    def write(self, numbers: Mapping[str, Any]) -> None:
        """Writes the numbers to the file, if one is given."""
        if self.json is not None:
            write_json(self.json, numbers)


def print_shares(shares: Mapping[str, float]) -> None:
    """Prints a line for each part of the loop."""
    for part, share in shares.items():
        print(f"  {part:<19} {share:8.1%}")


def prepare(network: str) -> None:
    """Sets TensorFlow's threads and kernels and the allocator as the training commands do; before TensorFlow's import.

    Args:
        network: name of the network.
    """
    prepare_tensorflow(network)
    keep_freed_memory()
