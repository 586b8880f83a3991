"""What frames of Atari games take, compressed, in random play: `python -m benchmarks.frame_bytes`.

It makes the table that memory is predicted from (`acer_tf.replay.frame_bytes`).
"""

import contextlib
import csv
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from acer_tf.commands.cli import guarded, parse
from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.ids import atari_game, atari_ids
from acer_tf.errors import InputError
from acer_tf.replay.columns import compress
from acer_tf.replay.frame_bytes import TABLE, FrameBytes
from benchmarks.games import of_each

LENGTHS = 9, 24
"""Frames that are compressed together: segments of 5 and of 20 steps, with the frames before them."""


@dataclasses.dataclass(frozen=True)
class Measure:
    """Plays Atari games at random and writes what their frames take."""

    games: tuple[str, ...] = ()
    """Environment ids; none stands for every game."""
    num_env: int = 3
    """Games that are played of each id."""
    steps: int = 1500
    """Agent steps of each."""
    out: Path = Path("acer_tf") / TABLE
    """File that the table is written to."""


def measured(env_id: str, num_env: int, steps: int) -> FrameBytes | None:
    """Plays a game; returns the line through the mean sizes of frames in rows of both `LENGTHS`.

    None is for the games that baselines' wrappers cannot play: they have no NOOP.
    """
    try:
        games = AtariPool(env_id, num_env, num_workers=0)
    except InputError:
        return None
    with contextlib.closing(games) as pool:
        pool.action_space.seed(2)
        pool.reset(seed=2)
        frames = np.stack([pool.step(pool.action_space.sample())[0].copy() for _ in range(steps)], axis=1)
    short, long = LENGTHS
    few, many = (_mean_bytes(frames, length) for length in LENGTHS)
    later = (many - few) / (long - short)
    return FrameBytes(few - (short - 1) * later, later)


def _mean_bytes(frames: np.ndarray, length: int) -> float:
    """Returns what so many frames in a row take, on average over all rows; `frames` is [N, steps, 84, 84, 1]."""
    starts = range(0, frames.shape[1] - length + 1, length)
    return float(np.mean([len(compress(game[start : start + length])) for game in frames for start in starts]))


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the measurements; returns the exit status."""
    flags = parse("benchmarks.frame_bytes", Measure, argv)
    games = flags.games or tuple(atari_ids())
    rows = zip(map(atari_game, games), of_each(measured, games, flags.num_env, flags.steps), strict=True)
    with flags.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["game", *FrameBytes._fields])
        writer.writerows([game, f"{size.first:.1f}", f"{size.later:.2f}"] for game, size in rows if size is not None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
