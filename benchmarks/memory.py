"""Measures whether the memory of a long run grows: `python -m benchmarks.memory --total_timesteps 1e6`."""

import dataclasses
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from acer_tf.cli.command import command
from acer_tf.errors import InputError
from acer_tf.plots.series import Table
from acer_tf.schema import Count, CountOrZero
from acer_tf.storage.run_files import PROGRESS
from benchmarks import Output

POLL_SECONDS = 1.0
WARM = 1.5
"""Samples count once replay has been filled this many times."""


@dataclasses.dataclass(frozen=True)
class Memory(Output):
    """Trains on an Atari game in another process, and samples that process's memory at each row of its log.

    The buffer is small, so that it is full for most of the run and only other growth shows.
    """

    env: str = "PongNoFrameskip-v4"
    """Environment id."""
    num_env: Count = 16
    """Environments."""
    total_timesteps: Count = int(1e6)
    """Agent steps of the run."""
    buffer_size: Count = 10_000
    """Steps per environment in replay."""
    replay_ratio: CountOrZero = 1
    """Updates from replay per new segment, on average."""


class Sample(NamedTuple):
    """Resources of the training process when it wrote a row of its log.

    Attributes:
        step: agent steps.
        rss: resident memory in bytes, without worker processes.
        descriptors: open file descriptors.
    """

    step: int
    rss: int
    descriptors: int


def training_command(flags: Memory, folder: Path) -> list[str]:
    """Returns the command line of the run, with default checkpoints and logs."""
    names = ("env", "num_env", "total_timesteps", "buffer_size", "replay_ratio")
    words = [word for name in names for word in (f"--{name}", str(getattr(flags, name)))]
    return [sys.executable, "-m", "acer_tf.run_atari", *words, "--seed", "0", "--logdir", str(folder)]


def samples(words: Sequence[str], folder: Path) -> Iterator[Sample]:
    """Runs the command; yields a sample at each new row of its log.

    Raises:
        InputError: the training failed.
    """
    seen = 0
    with (folder / "output").open("wb") as output, subprocess.Popen(words, stdout=output, stderr=output) as training:
        process = psutil.Process(training.pid)
        while training.poll() is None:
            time.sleep(POLL_SECONDS)
            steps = logged_steps(folder / "run" / PROGRESS)
            if len(steps) > seen:
                seen = len(steps)
                with process.oneshot():
                    yield Sample(steps[-1], process.memory_info().rss, process.num_fds())
    if training.returncode:
        raise InputError(f"the training failed: {(folder / 'output').read_text(encoding='utf-8')[-2000:]}")


def logged_steps(progress: Path) -> list[int]:
    """Returns the steps of the rows of progress.csv so far."""
    if not progress.exists():
        return []
    (steps,) = Table(progress, "the log of a run").numbers("total_timesteps")
    return steps.astype(int).tolist()


def slope(steps: Sequence[int], amounts: Sequence[int]) -> float:
    """Returns the growth per 100,000 steps, by least squares."""
    return float(np.polyfit(steps, amounts, 1)[0] * 1e5)


def run(flags: Memory) -> None:
    """Runs the measurement."""
    full = flags.buffer_size * flags.num_env
    if flags.total_timesteps < 4 * full:
        raise InputError(
            f"total_timesteps is {flags.total_timesteps}; expected at least {4 * full}, replay's size four times."
        )
    taken: list[Sample] = []
    print("    step   memory   descriptors")
    with tempfile.TemporaryDirectory() as folder:
        for sample in samples(training_command(flags, Path(folder) / "run"), Path(folder)):
            taken.append(sample)
            print(f"{sample.step:8,} {sample.rss / 2**20:8.1f} MiB {sample.descriptors:6}", flush=True)
    flags.write({"flags": {**vars(flags), "json": None}, "samples": [list(sample) for sample in taken]})
    steps, rss, descriptors = zip(*(sample for sample in taken if sample.step >= WARM * full), strict=True)
    print(f"from step {steps[0]:,} on: {slope(steps, rss) / 2**20:.2f} MiB per 100,000 steps")
    print(f"descriptors: {min(descriptors)} to {max(descriptors)}")


main = command("benchmarks.memory", Memory, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
