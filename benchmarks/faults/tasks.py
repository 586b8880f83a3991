"""The trainings that the campaign disturbs: small, with checkpoints every second or so."""

import sys
from pathlib import Path

SMALL = "--num_env 2 --nsteps 5 --replay_start 20 --seed 3 --keep_checkpoints 3 --log_interval 20"
DENSE = "--num_layers 1 --num_hidden 8"
TASKS = {
    "CartPole": f"run --env CartPole-v1 {SMALL} {DENSE} --buffer_size 2000 --total_timesteps 10000 "
    "--checkpoint_every 500",
    "Pendulum": f"run --env Pendulum-v1 {SMALL} {DENSE} --buffer_size 2000 --total_timesteps 4000 "
    "--checkpoint_every 200",
    "Pong": f"run --env PongNoFrameskip-v4 {SMALL} --network cnn_small --buffer_size 400 --total_timesteps 1000 "
    "--checkpoint_every 100 --num_workers 1",
}
"""Module of the package and its flags."""


def command(task: str, folder: Path) -> list[str]:
    """Returns the words that begin or resume a task in a run folder."""
    module, *flags = TASKS[task].split()
    return [sys.executable, "-m", f"acer_tf.{module}", *flags, "--logdir", str(folder)]
