"""CartPole-v1 over several seeds, compared with the original's recorded runs: `python -m benchmarks.cartpole`."""

import contextlib
import csv
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from acer_tf.commands.cli import guarded, parse
from acer_tf.envs.make import make_training_env
from acer_tf.logs.logger import Logger, Sink
from acer_tf.segment import Episode
from benchmarks import prepare

BIN = 10_000
LAST = 20


@dataclasses.dataclass(frozen=True)
class CartPole:
    """Trains on CartPole-v1 with learn()'s defaults, but buffer_size 5000 and replay_start 1000."""

    seeds: int = 10
    """Number of seeds, from 0."""
    num_env: int = 4
    """Environments."""
    num_timesteps: int = 100_000
    """Agent steps of each run."""
    ent_coef: float = 0.01
    """Weight of the entropy bonus."""
    value_network: str = "shared"
    """Whether the critic shares the policy's torso (shared) or has its own (copy)."""
    out: Path = Path("cartpole.csv")
    """File for a row per seed: mean return in each bin of 10,000 agent steps and of the last 20 episodes."""
    recorded: Path | None = None
    """The original's curves (tests/golden/curves_cartpole.npz) to compare with."""


class Collector(Sink):
    """Collects every episode, with the agent steps at the end of its iteration."""

    def __init__(self) -> None:
        """Starts empty."""
        self.steps: list[int] = []
        self.returns: list[float] = []

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Keeps their returns."""
        self.returns.extend(episode.r for episode in episodes)

    def progress(self, steps: int) -> None:
        """Dates the returns since the last call."""
        self.steps.extend([steps] * (len(self.returns) - len(self.steps)))


def run(flags: CartPole, seed: int) -> NDArray[np.float64]:
    """Trains one agent; returns the mean return in each bin, then that of the last 20 episodes."""
    from acer_tf import learn  # imports TensorFlow, which takes its threads and kernels as they are chosen then

    collector = Collector()
    with contextlib.closing(make_training_env("CartPole-v1", flags.num_env)) as env:
        learn(
            "mlp",
            env,
            seed=seed,
            total_timesteps=flags.num_timesteps,
            ent_coef=flags.ent_coef,
            buffer_size=5000,
            replay_start=1000,
            value_network=flags.value_network,
            logger=Logger([collector]),
        )
    steps, returns = np.array(collector.steps), np.array(collector.returns)
    bins = (np.minimum(steps, flags.num_timesteps) - 1) // BIN
    means = [returns[bins == i].mean() for i in range(flags.num_timesteps // BIN)]
    return np.array([*means, returns[-LAST:].mean()])


def compare(rows: NDArray[np.float64], recorded: Path) -> None:
    """Compares the runs with the recorded ones: the first bins and the last episodes."""
    with np.load(recorded) as file:
        bins = file["mean_return_per_10k_steps"]
        last = file["summary"][:, 0]
    for i in range(3):
        distance = (rows[:, i].mean() - bins[:, i].mean()) / bins[:, i].std(ddof=1)
        print(f"bin {i}: mean {rows[:, i].mean():6.1f}, original {bins[:, i].mean():6.1f}; {distance:+.2f} of its sd")
    p = mannwhitneyu(rows[:, -1], last).pvalue
    print(f"last {LAST} episodes: mean {rows[:, -1].mean():.1f}, original {last.mean():.1f}; Mann-Whitney p = {p:.2f}")


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs all seeds; returns the exit status."""
    flags = parse("benchmarks.cartpole", CartPole, argv)
    prepare("mlp")
    rows = []
    for seed in range(flags.seeds):
        rows.append(run(flags, seed))
        print(f"seed {seed}: last {LAST} episodes {rows[-1][-1]:.1f}", flush=True)
    with flags.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["seed", *(f"to_{BIN * (i + 1)}" for i in range(len(rows[0]) - 1)), f"last_{LAST}"])
        writer.writerows([seed, *row.round(2).tolist()] for seed, row in enumerate(rows))
    if flags.recorded is not None:
        compare(np.array(rows), flags.recorded)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
