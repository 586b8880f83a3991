"""Speed of the loop with continuous actions, and the share of simulation: `python -m benchmarks.continuous`."""

import contextlib
import dataclasses
import sys
from typing import Any

from acer_tf.cli.command import command
from acer_tf.envs.make import make_training_env
from acer_tf.logs.logger import Logger
from acer_tf.schema import Count
from benchmarks import LoopFlags, prepare, print_shares


@dataclasses.dataclass(frozen=True)
class ContinuousSpeed(LoopFlags):
    """Measures the steps per second of ACER with continuous actions on this machine."""

    env: str = "HalfCheetah-v5"
    """Environment id."""
    num_env: Count = 4
    """Environments."""
    network: str = "mlp"
    """Name of the network, of which policy and critic have one each."""


def measure(flags: ContinuousSpeed) -> dict[str, Any]:
    """Measures the loop, with observations normalised as in the tuned settings."""
    # These import TensorFlow, which then fixes its threads and kernels.
    from acer_tf.learning import make_model_and_loop
    from benchmarks.loop import loop

    with contextlib.closing(make_training_env(flags.env, flags.num_env, normalize_observations=True)) as env:
        acer = make_model_and_loop(flags.network, env, 0, flags.config(c=5), Logger(), value_network="copy")
        return loop(acer, env, "simulation", flags.seconds)


def run(flags: ContinuousSpeed) -> None:
    """Runs the measurement."""
    prepare(flags.network)
    numbers = measure(flags)
    print(f"{flags.env}: {numbers['env_steps_per_s']:.0f} environment steps/s")
    print_shares(numbers["share"])
    flags.write(numbers)


main = command("benchmarks.continuous", ContinuousSpeed, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
