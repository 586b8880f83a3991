"""Compares the speed of layers with the machine's rate of matrix products: `python -m benchmarks.operations`.

The bound of a train step counts every operation at that rate. The rates of isolated layers show their share of the
gap.
"""

import dataclasses
import sys

import numpy as np
from gymnasium.spaces import Box

from acer_tf.cli.command import command
from acer_tf.schema import Count, Validated
from benchmarks import prepare

FRAMES = Box(0, 255, (84, 84, 4), np.uint8)


@dataclasses.dataclass(frozen=True)
class Operations(Validated):
    """Measures each layer of the Nature network, forward and backward, against the machine's rate."""

    rows: Count = 336
    """Observations per batch; 336 are 20 steps and the bootstrap step in 16 environments."""


def run(flags: Operations) -> None:
    """Runs the measurement."""
    prepare("cnn")
    # These import TensorFlow, which then fixes its threads and kernels.
    from acer_tf.networks.actor_critic import ActorCritic
    from benchmarks.flops import layers_and_flops
    from benchmarks.passes import multiples_of_bound

    network = ActorCritic("cnn", FRAMES, 4, np.random.RandomState(0))
    needed = taken = 0.0
    print("share of the rate of matrix products\nlayer    forward  kernel   input")
    for layer, flops in layers_and_flops(network)[:4]:
        multiples = multiples_of_bound(layer, flops, flags.rows)
        print(f"{layer.name:<8}" + "".join(f"{1 / multiple:8.2f}" for multiple in multiples.values()))
        needed += flops * (1 + len(multiples))  # the average policy also passes forward
        taken += flops * (multiples["forward"] + sum(multiples.values()))
    print(f"all passes of an update together: {needed / taken:.2f}")


main = command("benchmarks.operations", Operations, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
