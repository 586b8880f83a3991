"""Trains in environments of public packages: `python -m benchmarks.packages minigrid highway-env`; without names, all.

Each trains for 5,000 steps four times: with the class `ACER` and with `python -m acer_tf.run`, with environments in
one process and in their own. Importing this module registers an environment that needs arguments that the command
cannot give: `--env benchmarks.packages:Trading-v0`.
"""

import dataclasses
import importlib.metadata
import subprocess
import sys
import tempfile
import time
from typing import Any

import gymnasium

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.errors import InputError
from acer_tf.suggestions import suggestion

STEPS = 5000
TIMEOUT = 900.0
"""Most seconds for one run."""
ENVS = 2
SMALL: dict[str, Any] = {"buffer_size": 2000, "replay_start": 500}
"""Common settings, as flags of the command and arguments of the class."""


@dataclasses.dataclass(frozen=True)
class Package:
    """How to try a package.

    Attributes:
        env: id, as the command takes it.
        network: network of the agent.
        needed: further requirements, for the table.
    """

    env: str
    network: str = "mlp"
    needed: str = ""


PACKAGES = {
    "ale-py": Package("PongNoFrameskip-v4", "cnn_small"),
    "bsuite": Package("shimmy:bsuite/catch-v0"),
    "dm_control": Package("dm_control/cartpole-swingup-v0"),
    "flappy-bird-gymnasium": Package("flappy_bird_gymnasium:FlappyBird-v0"),
    "gym-trading-env": Package("benchmarks.packages:Trading-v0", needed="prices, which its constructor takes"),
    "gymnasium-robotics": Package("gymnasium_robotics:PointMaze_UMaze-v3"),
    "highway-env": Package("highway_env:parking-v0"),
    "MinAtar": Package("MinAtar/Breakout-v1", "cnn_minatar"),
    "minigrid": Package("minigrid:MiniGrid-Empty-5x5-v0", "cnn_minatar"),
    "panda-gym": Package("panda_gym:PandaReachDense-v3"),
    "pettingzoo": Package("benchmarks.packages:pursuit_v5", needed="SuperSuit's concat_vec_envs_v1; has no id"),
    "popgym": Package("popgym:popgym-RepeatPreviousEasy-v0", "lstm"),
}


def trading(**kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Makes gym-trading-env's environment with a random walk of prices."""
    import numpy as np
    import pandas as pd
    from gym_trading_env.environments import TradingEnv

    walk = 100 * np.exp(np.random.default_rng(0).normal(0, 0.01, 1000).cumsum())
    prices = pd.DataFrame({"open": walk, "close": walk}, pd.date_range("2020-01-01", periods=len(walk), freq="h"))
    prices["feature_change"] = prices["close"].pct_change().fillna(0)
    return TradingEnv(df=prices, positions=[0, 1], verbose=0, **kwargs)


def agents(is_async: bool) -> Any:
    """Makes two environments of PettingZoo's pursuit through SuperSuit, with its agents as a vector environment."""
    import supersuit
    from pettingzoo.sisl import pursuit_v5

    env = supersuit.pettingzoo_env_to_vec_env_v1(pursuit_v5.parallel_env(max_cycles=100))
    return supersuit.concat_vec_envs_v1(env, 2, num_cpus=2 if is_async else 0)


gymnasium.register("Trading-v0", trading)


@dataclasses.dataclass(frozen=True)
class Packages:
    """Trains in environments of packages, and prints a row of a table for each."""

    names: Positional[tuple[str, ...]] = ()
    """Packages to try; none tries all."""

    def run(self) -> None:
        """Prints the table, each row as soon as it is known.

        Raises:
            InputError: a package is not among those that can be tried, or not installed.
        """
        versions = {name: _version(name) for name in self.names or PACKAGES}
        print(
            "| package | version | environment | network | needed | class | class, async | command | command, async |"
        )
        print("|---|---|---|---|---|---|---|---|---|", flush=True)
        for name, version in versions.items():
            package = PACKAGES[name]
            cells = [
                name,
                version,
                f"`{package.env.split(':')[-1]}`",
                package.network,
                package.needed,
            ]
            cells += [_outcome(name, by, is_async) for by in ("class", "command") for is_async in (False, True)]
            print(f"| {' | '.join(cells)} |", flush=True)


def train(name: str, is_async: bool) -> None:
    """Trains with the class."""
    from acer_tf import ACER
    from acer_tf.envs.ids import typed_env_id
    from acer_tf.envs.make import make_vec_env

    package = PACKAGES[name]
    if name == "pettingzoo":
        env = agents(is_async)
    else:
        env = make_vec_env(typed_env_id(package.env), ENVS, **_stepping(name, is_async))
    ACER(package.network, env, seed=1, verbose=0, **SMALL).learn(STEPS)
    env.close()


def _version(name: str) -> str:
    if name not in PACKAGES:
        raise InputError(f"{name} is not a package to try{suggestion(name, PACKAGES)}.")
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        raise InputError(f"{name} is not installed; install it with: pip install {name}.") from None


def _outcome(name: str, by: str, is_async: bool) -> str:
    """Trains in another process; returns the seconds, or the message with which it ended."""
    package = PACKAGES[name]
    if by == "command" and name == "pettingzoo":
        return "no id"
    with tempfile.TemporaryDirectory() as folder:
        if by == "class":
            words = ["-c", f"from benchmarks.packages import train; train({name!r}, {is_async})"]
        else:
            flags = {
                "env": package.env,
                "num_env": ENVS,
                "network": package.network,
                "total_timesteps": STEPS,
                "seed": 1,
            }
            flags |= {**SMALL, **_stepping(name, is_async), "logdir": f"{folder}/run"}
            words = ["-m", "acer_tf.run", *(f"--{key}={value}" for key, value in flags.items())]
        begin = time.monotonic()
        try:
            done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return f"more than {TIMEOUT:.0f} s"
    return f"{time.monotonic() - begin:.0f} s" if done.returncode == 0 else done.stderr.strip().splitlines()[-1][:200]


def _stepping(name: str, is_async: bool) -> dict[str, Any]:
    """Returns the setting for environments in their own processes or in one; Atari games have a special one."""
    return {"num_workers": 2 * is_async} if name == "ale-py" else {"vectorization": "async" if is_async else "sync"}


main = command("benchmarks.packages", Packages, Packages.run)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
