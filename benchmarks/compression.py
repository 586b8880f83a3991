"""What replay of Atari games takes, predicted and measured: `python -m benchmarks.compression`.

The games are played at random. Sizes are of baselines' default memory, 16 x 50,000 agent steps, extrapolated from the
steps that are played.
"""

import contextlib
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from acer_tf.buffer import Buffer
from acer_tf.commands.cli import guarded, parse
from acer_tf.config import Config
from acer_tf.envs.ids import atari_game, atari_ids
from acer_tf.envs.make import make_training_env
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.replay.frame_bytes import frame_bytes
from acer_tf.replay.size import compressed_row, frame_ratio, replay_bytes
from acer_tf.runner import Runner
from acer_tf.segment import Action
from benchmarks.games import of_each

ENVS = 16
"""Environments that sizes are told for, with `Config.buffer_size` agent steps of each."""


@dataclasses.dataclass(frozen=True)
class Compression:
    """Compares what replay of Atari games takes with what is said before training."""

    games: tuple[str, ...] = ()
    """Environment ids; none stands for every game."""
    num_env: int = 16
    """Environments that are played."""
    steps: int = 1000
    """Agent steps of each environment, rounded down to whole segments."""
    json: Path | None = None
    """File that the numbers are written to as well."""


class RandomActor:
    """Takes every action with the same probability."""

    def __init__(self, nact: int, seed: int) -> None:
        """Takes the number of actions, A."""
        self._rng = np.random.default_rng(seed)
        self._nact = nact

    def initial_state(self, nenvs: int) -> NDArray[np.float32]:
        """See `Actor`."""
        return np.zeros((nenvs, 0), np.float32)

    def act(self, obs: NDArray[Any], state: NDArray[np.float32], mask: NDArray[np.bool_]) -> Action:
        """See `Actor`."""
        actions = self._rng.integers(self._nact, size=len(obs))
        return Action(actions, np.full((len(obs), self._nact), 1 / self._nact, np.float32), state)


def taken_bytes(env: FrameStack, config: Config, segments: int) -> int:
    """Plays so many segments at random; returns the bytes that a buffer takes for them."""
    assert isinstance(env.single_action_space, gymnasium.spaces.Discrete)
    actor = RandomActor(int(env.single_action_space.n), seed=1)
    runner = Runner(env, actor, config.nsteps, seed=1)
    buffer = Buffer(config.nsteps, segments * config.nsteps, compressed_row(env, config), config.unread)
    for _ in range(segments):
        buffer.put(runner.run())
    return sum(array.nbytes for name, array in buffer.rows(0, segments).items() if not name.endswith("/sizes"))


def compare(env_id: str, num_env: int, steps: int, nsteps: int = Config.nsteps) -> dict[str, Any]:
    """Plays a game; returns its name, and sizes in GiB."""
    config = Config(nsteps=nsteps)
    game, segments = atari_game(env_id), steps // config.nsteps
    with contextlib.closing(make_training_env(env_id, num_env, num_workers=0)) as env:
        predicted = replay_bytes(env, config, frame_ratio(env, config)) * ENVS / num_env
        per_segment = taken_bytes(env, config, segments) / segments / num_env
    measured = per_segment * ENVS * (config.buffer_size // config.nsteps)
    return {
        "game": game,
        "predicted_gib": predicted / 2**30,
        "measured_gib": measured / 2**30,
        "predicted_over_measured": predicted / measured,
    }


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the measurements; returns the exit status."""
    flags = parse("benchmarks.compression", Compression, argv)
    games = flags.games or [env_id for env_id in atari_ids() if atari_game(env_id) in frame_bytes()]
    rows = list(of_each(compare, games, flags.num_env, flags.steps))
    rows.sort(key=lambda row: -row["measured_gib"])
    print(f"{'game':<20} predicted   measured   predicted / measured")
    for row in rows:
        print(_line(row))
    if flags.json is not None:
        flags.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


def _line(row: dict[str, Any]) -> str:
    sizes = f"{row['predicted_gib']:5.3f} GiB  {row['measured_gib']:5.3f} GiB"
    return f"{row['game']:<20} {sizes}  {row['predicted_over_measured']:5.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
