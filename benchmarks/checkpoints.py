"""Measures the cost of a checkpoint with a full default replay buffer: `python -m benchmarks.checkpoints`."""

import contextlib
import dataclasses
import sys
import tempfile
from pathlib import Path

from acer_tf.acer import TrainingLoop
from acer_tf.cli.command import command
from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.learning import make_model_and_loop
from acer_tf.logs.logger import Logger
from acer_tf.schema import Count, Positive, Validated
from acer_tf.storage.checkpoint import checkpoint_folders, read_manifest, verify
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.training.checkpointer import SECONDS
from benchmarks import seconds

PLAYED = 30
"""Segments that are played; the buffer is filled with copies of them."""


@dataclasses.dataclass(frozen=True)
class CheckpointCost(Validated):
    """Fills replay, then measures saving and verifying."""

    env: str = "BreakoutNoFrameskip-v4"
    """Environment id."""
    num_env: Count = 16
    """Environments."""
    steps_per_s: Positive = 400
    """Agent steps per second of a run, which determine how much of replay is new in a checkpoint."""
    compress_replay: bool = True
    """Whether replay keeps images compressed."""


def fill(acer: TrainingLoop, put: int) -> None:
    """Adds this many segments to the buffer."""
    segments = [acer._source.run() for _ in range(PLAYED)]
    for i in range(put):
        acer.buffer.put(segments[i % PLAYED])


def run(flags: CheckpointCost) -> None:
    """Runs the measurement."""
    config = Config(compress_replay=flags.compress_replay)
    with (
        contextlib.closing(make_training_env(flags.env, flags.num_env)) as env,
        tempfile.TemporaryDirectory() as folder,
    ):
        acer = make_model_and_loop("cnn", env, 0, config, Logger())
        checkpoints = CheckpointStore(Path(folder), keep=3, keep_every=None)

        def save() -> None:
            checkpoints.save(acer.steps, acer.state_dict(), acer.buffer, None, {}, {})

        fill(acer, config.buffer_size // config.nsteps)
        first = seconds(save)
        fill(acer, round(SECONDS * flags.steps_per_s / acer.nbatch))
        acer.steps += 1
        next_one = seconds(save)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        newest = read_manifest(checkpoint_folders(Path(folder))[0])
        check = seconds(lambda: verify(newest))
    print(f"first checkpoint, full replay   {first:8.2f} s")
    print(f"the next, {SECONDS / 60:.0f} minutes later      {next_one:8.2f} s   ({next_one / SECONDS:.2%} of the time)")
    print(f"verifying it                    {check:8.2f} s")
    print(f"on the disk                     {size / 2**20:8.0f} MiB")


main = command("benchmarks.checkpoints", CheckpointCost, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
