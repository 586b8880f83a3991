"""Speed of the loop on continuous actions, and its share of simulation: `python -m benchmarks.continuous`."""

import contextlib
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acer_tf.cli.command import guarded
from acer_tf.cli.parsing import parse
from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.logs.logger import Logger
from benchmarks import prepare


@dataclasses.dataclass(frozen=True)
class ContinuousSpeed:
    """Measures the steps per second of ACER with continuous actions on this machine."""

    env: str = "HalfCheetah-v5"
    """Environment id."""
    num_env: int = 4
    """Environments."""
    nsteps: int = 20
    """Agent steps of a segment."""
    replay_ratio: float = 4
    """Replay updates per on-policy update, on average; replay is active from the second segment on."""
    seconds: float = 60
    """How long the loop is measured."""
    network: str = "mlp"
    """Name of the network; policy and critic have one each."""
    json: Path | None = None
    """File that the numbers are written to as well."""


def measure(flags: ContinuousSpeed) -> dict[str, Any]:
    """Measures the loop; observations are normalised as in the tuned settings."""
    # These import TensorFlow, which takes its threads and kernels as they are chosen then.
    from acer_tf.learning import make_model_and_loop
    from benchmarks.loop import loop

    config = Config(
        nsteps=flags.nsteps,
        replay_ratio=flags.replay_ratio,
        replay_start=flags.nsteps,
        buffer_size=100 * flags.nsteps,
        c=5,
        lrschedule="constant",
    )
    with contextlib.closing(make_training_env(flags.env, flags.num_env, normalize_observations=True)) as env:
        acer = make_model_and_loop(flags.network, env, 0, config, Logger(), value_network="copy")
        return loop(acer, env, "simulation", flags.seconds)


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the measurement; returns the exit status."""
    flags = parse("benchmarks.continuous", ContinuousSpeed, argv)
    prepare(flags.network)
    numbers = measure(flags)
    print(f"{flags.env}: {numbers['env_steps_per_s']:.0f} environment steps/s")
    for part, share in numbers["share"].items():
        print(f"  {part:<19} {share:8.1%}")
    if flags.json is not None:
        flags.json.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
