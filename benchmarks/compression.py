"""Size of compressed replay on Atari games, projected and measured, and its speed: `python -m benchmarks.compression`.

The games are played at random. Sizes are for baselines' default buffer, 16 x 50,000 agent steps, extrapolated from the
played steps; times are medians over all segments.
"""

import contextlib
import dataclasses
import statistics
import sys
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from acer_tf.buffer import Buffer
from acer_tf.cli.command import command
from acer_tf.config import Config
from acer_tf.envs.ids import atari_game
from acer_tf.envs.make import make_training_env
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.replay.columns import CompressedColumn
from acer_tf.replay.size import FIRST_SEGMENTS, compressed_row
from acer_tf.runner import Runner
from acer_tf.schema import Count
from acer_tf.segment import Action
from benchmarks import Output, seconds

ENVS = 16
"""Environments of the buffer whose sizes are printed, with `Config.buffer_size` agent steps each."""


@dataclasses.dataclass(frozen=True)
class Compression(Output):
    """Compares replay's memory for Atari games with training's projection, and times storing and drawing."""

    games: tuple[str, ...] = ("BreakoutNoFrameskip-v4",)
    """Environment ids."""
    num_env: Count = 16
    """Number of environments to play."""
    steps: Count = 4000
    """Agent steps of each environment, rounded down to whole segments."""


class RandomActor:
    """Chooses actions uniformly at random."""

    def __init__(self, nact: int, seed: int) -> None:
        """Chooses among A actions."""
        self._rng = np.random.default_rng(seed)
        self._nact = nact

    def initial_state(self, nenvs: int) -> NDArray[np.float32]:
        """Returns empty states, [N, 0]."""
        return np.zeros((nenvs, 0), np.float32)

    def act(self, obs: NDArray[Any], state: NDArray[np.float32], mask: NDArray[np.bool_]) -> Action:
        """Draws an action for each environment."""
        actions = self._rng.integers(self._nact, size=len(obs))
        return Action(actions, np.full((len(obs), self._nact), 1 / self._nact, np.float32), state)


def measure(env: FrameStack, config: Config, segments: int) -> dict[str, float]:
    """Plays at random; returns bytes per segment, for the first ones and for all, and milliseconds of put and get."""
    assert isinstance(env.single_action_space, gymnasium.spaces.Discrete)
    runner = Runner(env, RandomActor(int(env.single_action_space.n), seed=1), config.nsteps, seed=1)
    row, rng = compressed_row(env, config), np.random.default_rng(0)
    assert row is not None
    buffer, column = (
        Buffer(config.nsteps, segments * config.nsteps, row, config.unread),
        CompressedColumn(segments, row),
    )
    sizes, puts, gets = [], [], []
    for slot in range(segments):
        segment = runner.run()
        buffer.put(segment)
        sizes.append(buffer.nbytes / buffer.num_in_buffer)
        puts.append(1e3 * seconds(lambda: column.put(slot, segment.enc_obs)))  # noqa: B023 (called at once)
        slots = rng.integers(slot + 1, size=env.num_envs)
        gets.append(1e3 * seconds(lambda: column.get(slots)))  # noqa: B023
    return {
        "first_bytes": sizes[min(FIRST_SEGMENTS, segments) - 1],
        "bytes": sizes[-1],
        "put_ms": statistics.median(puts),
        "get_ms": statistics.median(gets),
    }


def compare(env_id: str, num_env: int, steps: int, nsteps: int = Config.nsteps) -> dict[str, Any]:
    """Plays a game; returns its name, sizes in GiB, and milliseconds of put and get for `num_env` environments."""
    config = Config(nsteps=nsteps)
    game = atari_game(env_id)
    with contextlib.closing(make_training_env(env_id, num_env, num_workers=0)) as env:
        measured = measure(env, config, steps // nsteps)
    gib = ENVS / num_env * (config.buffer_size // nsteps) / 2**30  # in a full buffer, for each byte of a segment
    return {
        "game": game,
        "projected_gib": measured["first_bytes"] * gib,
        "measured_gib": measured["bytes"] * gib,
        "projected_over_measured": measured["first_bytes"] / measured["bytes"],
        "put_ms": measured["put_ms"],
        "get_ms": measured["get_ms"],
    }


def run(flags: Compression) -> None:
    """Runs the measurements."""
    print(f"{'game':<20} projected   measured   projected / measured    put, ms   get, ms")
    rows = []
    for env_id in flags.games:
        rows.append(compare(env_id, flags.num_env, flags.steps))
        print(_line(rows[-1]), flush=True)
    flags.write(rows)


def _line(row: dict[str, Any]) -> str:
    sizes = f"{row['projected_gib']:5.3f} GiB  {row['measured_gib']:5.3f} GiB"
    times = f"{row['put_ms']:9.2f} {row['get_ms']:9.2f}"
    return f"{row['game']:<20} {sizes}  {row['projected_over_measured']:20.2f}  {times}"


main = command("benchmarks.compression", Compression, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
