"""The runs that the campaign disturbs: small, with a checkpoint every second or so."""

import importlib.util
import sys
from pathlib import Path
from typing import NamedTuple

UNSEEDED = "--num_env 2 --nsteps 5 --replay_start 20 --keep_checkpoints 3 --log_interval 20"
SMALL = f"{UNSEEDED} --seed 3"
DENSE = "--num_layers 1 --num_hidden 8"
OFTEN = "--buffer_size 2000 --checkpoint_every 500"
CARTPOLE = f"--env CartPole-v1 {SMALL} {OFTEN}"


class Task(NamedTuple):
    """A run, or a sweep of several.

    Attributes:
        words: module of the package, and flags.
        is_exact: whether it resumes bit for bit.
        runs: run folders, relative to the folder of the command.
    """

    words: str
    is_exact: bool = True
    runs: tuple[str, ...] = (".",)

    @property
    def is_sweep(self) -> bool:
        """Whether its runs are separate processes, of which the others continue when one fails."""
        return len(self.runs) > 1


TASKS = {
    "CartPole": Task(f"run {CARTPOLE} {DENSE} --total_timesteps 10000"),
    "Pendulum": Task(
        f"run --env Pendulum-v1 {SMALL} {DENSE} --buffer_size 2000 --total_timesteps 4000 --checkpoint_every 200"
    ),
    "Pong": Task(
        f"run --env PongNoFrameskip-v4 {SMALL} --network cnn_small --buffer_size 400 --total_timesteps 1000 "
        "--checkpoint_every 100 --num_workers 1"
    ),
    "recurrent": Task(f"run {CARTPOLE} --network lstm --nlstm 8 --total_timesteps 5000"),
    "evaluated": Task(f"run {CARTPOLE} {DENSE} --total_timesteps 6000 --eval_every 1000 --eval_episodes 2"),
    "async": Task(f"run {CARTPOLE} {DENSE} --total_timesteps 6000 --vectorization async"),
    "overlap": Task(f"run {CARTPOLE} {DENSE} --total_timesteps 10000 --overlap True --exact_resume False", False),
    "collectors": Task(f"run {CARTPOLE} {DENSE} --total_timesteps 10000 --actors 1 --exact_resume False", False),
    "tracked": Task(f"run {CARTPOLE} {DENSE} --total_timesteps 6000 --track wandb"),
    "sweep": Task(
        f"sweep --envs CartPole-v1 --seeds 2 --workers 2 {UNSEEDED} {OFTEN} {DENSE} --total_timesteps 6000",
        runs=("CartPole-v1/seed-0", "CartPole-v1/seed-1"),
    ),
}
_NEEDS = {"collectors": "ray", "tracked": "wandb"}
"""Packages that tasks require; without them, a task is left out."""


def available() -> tuple[str, ...]:
    """Returns the names of the tasks whose packages are installed."""
    return tuple(name for name in TASKS if name not in _NEEDS or importlib.util.find_spec(_NEEDS[name]) is not None)


def command(task: str, folder: Path) -> list[str]:
    """Returns the words that begin or resume a task in a folder."""
    module, *flags = TASKS[task].words.split()
    out = "--out" if TASKS[task].is_sweep else "--logdir"
    return [sys.executable, "-m", f"acer_tf.{module}", *flags, out, str(folder)]
