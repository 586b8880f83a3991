"""Measures how bfloat16 changes an update: `python -m benchmarks.precision`.

Trains in float32, then computes updates on segments from replay in float32 and in bfloat16, with the same weights.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.cli.command import command
from acer_tf.cli.output import print_table
from acer_tf.configs.presets import load_preset
from acer_tf.logs.logger import Logger
from acer_tf.schema import Count, Validated
from benchmarks import prepare

if TYPE_CHECKING:
    from acer_tf.model import Model
    from acer_tf.segment import Segment


@dataclasses.dataclass(frozen=True)
class Precision(Validated):
    """Compares the quantities of updates in bfloat16 with those in float32."""

    preset: str = "minatar"
    """Settings, including environment and network: a name or your own file (.yml)."""
    total_timesteps: Count = 20_000
    """Agent steps of training before the comparison."""
    segments: Count = 10
    """Number of batches from replay for the comparison."""


class Difference(NamedTuple):
    """A quantity in bfloat16 compared with float32, over all batches.

    Attributes:
        size: largest absolute value in float32.
        largest: largest difference.
        typical: norm of the difference, relative to the norm of the quantity.
    """

    size: float
    largest: float
    typical: float


def quantities(model: "Model", segment: "Segment") -> dict[str, NDArray[np.float32]]:
    """Returns the quantities that an update computes between the network and the optimiser."""
    gradients = model.gradients(segment)
    trust_region, q = gradients.trust_region, gradients.evaluation.q
    assert trust_region is not None
    found = {
        "f": gradients.evaluation.f,
        "Q": getattr(q, "q_i", q),
        "min(1, rho)": np.minimum(gradients.losses.rho_i, 1),
        "Retrace target": gradients.losses.q_ret,
        "k": trust_region.k,
        "subtracted multiple of k": trust_region.projection.adj,
        "projected gradient": trust_region.projection.z,
        "gradient of the weights": np.concatenate([np.ravel(gradient) for gradient in gradients.raw]),
    }
    return {name: np.asarray(value) for name, value in found.items()}


def differences(exact: "Model", rounded: "Model", segments: Iterable["Segment"]) -> dict[str, Difference]:
    """Compares the quantities of two models with the same weights."""
    pairs = [(quantities(exact, segment), quantities(rounded, segment)) for segment in segments]
    compared = {}
    for name in pairs[0][0]:
        ours, theirs = (np.stack([pair[i][name] for pair in pairs]).astype(np.float64) for i in (1, 0))
        error = np.abs(ours - theirs)
        typical = np.linalg.norm(error) / max(np.linalg.norm(theirs), 1e-12)
        compared[name] = Difference(np.abs(theirs).max(), error.max(), float(typical))
    return compared


def measure(flags: Precision) -> dict[str, Difference]:
    """Trains, and compares."""
    from acer_tf.agent import ACER  # imports TensorFlow, which then fixes its threads and kernels

    with contextlib.ExitStack() as stack:
        agents = [ACER.from_preset(flags.preset, seed=0, precision=p) for p in ("float32", "bfloat16")]
        for agent in agents:
            stack.callback(agent.close)
        exact, rounded = (agent.model for agent in agents)
        loop = agents[0].begin(Logger())
        loop.learn(end=flags.total_timesteps)
        rounded.load_state_dict(exact.state_dict())
        rng = np.random.RandomState(0)
        return differences(exact, rounded, [loop.buffer.get(rng) for _ in range(flags.segments)])


def run(flags: Precision) -> None:
    """Runs the comparison."""
    prepare(load_preset(flags.preset).command.get("network", "mlp"))
    compared = measure(flags)
    rows = [[name, *(f"{number:.2g}" for number in difference)] for name, difference in compared.items()]
    print_table(["", "largest value", "largest difference", "relative norm of the difference"], rows)


main = command("benchmarks.precision", Precision, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
