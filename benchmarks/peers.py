"""Trains algorithms of Stable-Baselines3 with rl-zoo3's settings, as `acer reproduce` trains this package's.

It needs its own virtual environment, as TensorFlow's and PyTorch's compilers crash in one process:

    pip install -r requirements-peers.txt
    python -m benchmarks.peers CartPole-v1 --algorithm ppo --seeds 5 --minutes 20

Results are added to those of an experiment, as variations with the algorithms' names: raw training returns of whole
episodes, and evaluations by the same rule for all. The clock stops during evaluations.
"""

import argparse
import dataclasses
import importlib.metadata
import math
import platform
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import yaml

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.envs.ids import check_env_id
from acer_tf.errors import InputError
from acer_tf.experiments.collecting import BINS
from acer_tf.experiments.reading import SCORE
from acer_tf.experiments.results import Result, Returns, rounded, write
from acer_tf.logs.metrics import LAST_EPISODES
from acer_tf.plots.curves import binned
from acer_tf.plots.series import Series
from acer_tf.schema import Count, Positive, Seed, Validated
from acer_tf.system.compute import cores, processor_name
from acer_tf.system.provenance import commit

PACKAGES = ("gymnasium", "numpy", "rl_zoo3", "sb3_contrib", "stable_baselines3", "torch")
ATARI_REPLAY = 100_000
"""Transitions of an Atari game that off-policy algorithms keep, as in the zoo's DQN.

QR-DQN's default, a million, takes 26 GiB.
"""


@dataclasses.dataclass(frozen=True)
class Peers(Validated):
    """Trains an algorithm of Stable-Baselines3 with rl-zoo3's settings."""

    env: Positional[str]
    """Environment id."""
    algorithm: Literal["ppo", "a2c", "dqn", "qrdqn", "sac", "td3"] = "ppo"
    """Name of the algorithm."""
    seeds: Count = 1
    """Number of seeds."""
    first_seed: Seed = 0
    """The first seed."""
    steps: Count | None = None
    """Agent steps; None takes the zoo's."""
    minutes: Positive = 60
    """Minutes after which to cut a run, keeping its result so far."""
    evaluations: Count = 10
    """Number of evaluations, evenly spaced over the steps."""
    episodes: Count = 20
    """Episodes per evaluation, played twice: with the most probable actions, and with sampled ones."""
    threads: Count = 1
    """PyTorch's threads."""
    results: Path = Path("docs/results/beside-others")
    """Folder of the experiment."""


class Evaluation(NamedTuple):
    """Mean raw returns of whole episodes after a number of agent steps."""

    steps: int
    deterministic: float
    sampled: float


@dataclasses.dataclass
class Log:
    """Records of a run during training.

    Attributes:
        steps: agent steps at the end of each episode.
        returns: raw return of each episode.
        seconds: seconds of training until then, without evaluations.
        evaluations: evaluations in order.
        duration: seconds of training until now, without evaluations.
    """

    steps: list[int] = dataclasses.field(default_factory=list)
    returns: list[float] = dataclasses.field(default_factory=list)
    seconds: list[float] = dataclasses.field(default_factory=list)
    evaluations: list[Evaluation] = dataclasses.field(default_factory=list)
    duration: float = 0.0


def zoo_settings(env_id: str, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the zoo's settings for an environment: its own, those of another version of it, or those of its kind.

    MinAtar's games get those for Atari, on flat observations, as their images are too small for the zoo's convolutions.
    The control suite's observations, which are dictionaries, are also flattened. Replay of Atari games holds
    `ATARI_REPLAY`.

    Args:
        env_id: environment id.
        settings: settings of one algorithm, by environment id or kind, from a file of the zoo.
    """
    stem = re.sub(r"-v\d+$", "", env_id)
    versions = sorted(name for name in settings if re.fullmatch(re.escape(stem) + r"-v\d+", name))
    kind = "atari" if "NoFrameskip" in env_id or env_id.startswith("MinAtar/") else "default"
    name = env_id if env_id in settings else [kind, *versions][-1]
    if name not in settings:
        raise InputError(f"the zoo has no settings of this algorithm for {env_id}.")
    found = dict(settings[name])
    if env_id.startswith("MinAtar/"):
        found = {name: value for name, value in found.items() if name not in ("env_wrapper", "frame_stack")}
        found["policy"] = "MlpPolicy"
    if "NoFrameskip" in env_id and "learning_starts" in found:
        found["buffer_size"] = ATARI_REPLAY
    if env_id.startswith("dm_control/"):
        found["env_wrapper"] = "gymnasium.wrappers.FlattenObservation"
    return found


def result_of(log: Log, episodes: int, facts: Mapping[str, Any]) -> Result:
    """Makes the result of a run: its episodes in hundredths of its training, and the better kind of evaluations.

    Args:
        log: log of the run.
        episodes: episodes of each evaluation.
        facts: variation, environment, seed, steps, trained, settings, versions and other known facts.
    """
    steps, returns = np.array(log.steps, np.float64), np.array(log.returns)
    bins = binned(Series(steps, returns), facts["trained"] / BINS)
    seconds = np.interp(bins.x, steps, log.seconds)
    training = Returns(bins.x, bins.mean, bins.values.astype(float), seconds)
    kept = {"episodes": len(returns), "last_100": rounded(float(returns[-LAST_EPISODES:].mean()))}
    if not log.evaluations:
        return Result({**facts, **kept}, training)
    at, *means = np.array(log.evaluations, np.float64).T
    is_deterministic = bool(means[0].mean() >= means[1].mean())
    evaluations = Returns(at, means[not is_deterministic], np.full(len(at), episodes), np.full(len(at), math.nan))
    return Result({**facts, **kept, "eval_deterministic": is_deterministic}, training, evaluations)


def train(flags: Peers, seed: int) -> Result:
    """Trains with a seed until the steps or minutes are over; imports PyTorch."""
    import shimmy  # noqa: F401  (registers the control suite's tasks)
    import torch
    from rl_zoo3.exp_manager import ExperimentManager

    torch.set_num_threads(flags.threads)
    with tempfile.TemporaryDirectory() as folder:
        manager = ExperimentManager(
            argparse.Namespace(),
            flags.algorithm,
            flags.env,
            folder,
            n_timesteps=flags.steps or 0,
            eval_freq=0,
            log_interval=-2,  # writes no log
            hyperparams=zoo_settings(flags.env, zoo_file(flags.algorithm)),
            seed=seed,
            verbose=0,
            device="cpu",
        )
        try:
            model, settings = manager.setup_experiment()
        except AssertionError as error:  # how Stable-Baselines3 refuses spaces
            raise InputError(f"{flags.algorithm} cannot be trained on {flags.env}: {error}.") from error
        log = Log()
        manager.callbacks.append(recorder(log, flags, manager))
        manager.learn(model)
    if not log.returns:
        raise InputError(f"no episode has ended within {flags.minutes:g} minutes; give more --minutes.")
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    facts = {
        "variation": flags.algorithm,
        "environment": flags.env,
        "seed": seed,
        "steps": manager.n_timesteps,
        "trained": min(model.num_timesteps, manager.n_timesteps),
        "seconds": rounded(log.duration),
        "commit": commit(),
        "cores": cores(),
        "processor": processor_name(),
        "versions": {**versions, "python": platform.python_version()},
        "settings": {**settings, "threads": flags.threads},
    }
    return result_of(log, flags.episodes, facts)


def zoo_file(algorithm: str) -> dict[str, Any]:
    """Reads the zoo's settings for an algorithm."""
    import rl_zoo3

    path = Path(rl_zoo3.__file__).with_name("hyperparams") / f"{algorithm}.yml"
    settings: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return settings


def recorder(log: Log, flags: Peers, manager: Any) -> Any:
    """Returns a callback that writes the log, evaluates, and ends the run when its minutes are over."""
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import sync_envs_normalization

    class Recorder(BaseCallback):
        def _on_training_start(self) -> None:
            self.env = manager.create_envs(1, eval_env=True)
            self.start = time.perf_counter()

        def _on_step(self) -> bool:
            log.duration = seconds = time.perf_counter() - self.start
            for info in self.locals["infos"]:
                if "episode" in info:
                    log.steps.append(min(self.num_timesteps, manager.n_timesteps))
                    log.returns.append(info["episode"]["r"])
                    log.seconds.append(seconds)
            if self.num_timesteps >= (len(log.evaluations) + 1) * manager.n_timesteps / flags.evaluations:
                self._evaluate()
                self.start = time.perf_counter() - seconds
            return seconds < 60 * flags.minutes

        def _evaluate(self) -> None:
            sync_envs_normalization(self.training_env, self.env)
            means = [
                evaluate_policy(self.model, self.env, flags.episodes, deterministic=is_deterministic)[0]
                for is_deterministic in (True, False)
            ]
            log.evaluations.append(Evaluation(self.num_timesteps, *means))

    return Recorder()


def run(flags: Peers) -> None:
    """Trains each seed and adds its result to those of the experiment."""
    check_env_id(flags.env)
    for seed in range(flags.first_seed, flags.first_seed + flags.seeds):
        result = train(flags, seed)
        write(flags.results, [result], SCORE)
        facts = result.facts
        print(
            f"{flags.algorithm} {flags.env} seed {seed}: {facts['trained']:,} of {facts['steps']:,} steps in "
            f"{facts['seconds'] / 60:.1f} minutes, last 100 returns {facts['last_100']:g}",
            flush=True,
        )


main = command("benchmarks.peers", Peers, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
