"""Records the original's learning curves for `minatar-original-1m`: `python -m benchmarks.original_curves FOLDER`.

FOLDER holds baselines 0.1.5, as for `benchmarks.original`. Its `learn` runs unchanged, in this package's environment,
with the network and the settings of the experiment. A completed run is added to the experiment's CSV file; a run that
is already there is not repeated. The seeds that the experiment requires, two runs side by side:

    for game in Seaquest SpaceInvaders; do for seed in $(seq 20 24); do echo $game $seed; done; done > runs.txt
    for seed in $(seq 20 39); do echo Breakout $seed; done >> runs.txt
    for game in Asterix Freeway; do for seed in $(seq 20 49); do echo $game $seed; done; done >> runs.txt
    xargs -P 2 -L 1 sh -c 'python -m benchmarks.original_curves baselines-0.1.5 --game $0 --seed $1' < runs.txt
"""

import dataclasses
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow.compat.v1 as tf

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.envs.make import make_vec_env
from acer_tf.schema import Count, Seed, Validated
from acer_tf.storage.lock import exclusive
from benchmarks.original import check_original
from benchmarks.original_loop import Episode, Games, cnn_minatar, import_original, policy_class, unstacked

NUM_ENV = 8
BINS = 100
CSV = Path(__file__).parents[1] / "acer_tf" / "experiments" / "minatar-original-1m.csv"


@dataclasses.dataclass(frozen=True)
class OriginalCurves(Validated):
    """Trains baselines' ACER on a MinAtar game, and adds its curve to a CSV file."""

    folder: Positional[Path]
    """Folder of the unpacked baselines 0.1.5."""
    game: str = "Breakout"
    """Asterix, Breakout, Freeway, Seaquest or SpaceInvaders."""
    seed: Seed = 20
    """Seed for environments, weights and replay."""
    steps: Count = 1_000_000
    """Agent steps of the run."""
    csv: Path = CSV
    """Curves with the columns environment, seed, steps, mean_return, episodes."""


def record(folder: Path, env_id: str, seed: int, steps: int) -> list[Episode]:
    """Trains the original; returns the episodes of its run."""
    original = import_original(folder)
    acer = original.acer_simple
    acer.Buffer.decode = unstacked
    acer.set_global_seeds = tf.set_random_seed  # learn() calls it once it has an empty graph
    np.random.seed(seed)
    env = Games(make_vec_env(env_id, NUM_ENV), seed, processes=1)
    acer.learn(
        policy_class(original.utils, cnn_minatar), env, seed, nstack=1, total_timesteps=steps, lrschedule="constant",
        buffer_size=20_000, replay_start=2000,
    )  # fmt: skip
    return env.episodes


def rows(env_id: str, seed: int, steps: int, episodes: Sequence[Episode]) -> list[str]:
    """Returns the lines of the curve: means for each hundredth of the run in which an episode ended."""
    lines = []
    for begin, end in itertools.pairwise(np.linspace(0, steps, BINS + 1)):
        if returns := [score for step, score in episodes if begin < step <= end]:
            lines.append(f"{env_id},{seed},{end:.0f},{np.mean(returns):.6g},{len(returns)}\n")
    return lines


def is_there(csv: Path, env_id: str, seed: int) -> bool:
    """Whether the file has a run."""
    return any(line.startswith(f"{env_id},{seed},") for line in csv.read_text(encoding="utf-8").splitlines())


def run(flags: OriginalCurves) -> None:
    """Records a run."""
    check_original(flags.folder)
    env_id = f"MinAtar/{flags.game}-v1"
    if is_there(flags.csv, env_id, flags.seed):
        print(f"{flags.csv} has seed {flags.seed} of {env_id}")
        return
    lines = rows(env_id, flags.seed, flags.steps, record(flags.folder, env_id, flags.seed, flags.steps))
    with exclusive(flags.csv.parent), flags.csv.open("a", encoding="utf-8") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    print(f"{flags.csv}: seed {flags.seed} of {env_id}, {len(lines)} places")


main = command("benchmarks.original_curves", OriginalCurves, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
