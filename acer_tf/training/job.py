"""The flags of every training command, and the job that they describe."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from acer_tf.config import (
    COLLECTING,
    CONTINUOUS,
    Algorithm,
    Collecting,
    CollectingOnRay,
    Config,
    Continuous,
    Optimization,
    Precision,
    Replay,
    ReplayState,
)
from acer_tf.configs.presets import BASELINES, Preset, load_preset
from acer_tf.distributed.access import check_address
from acer_tf.distributed.connection import require_ray
from acer_tf.errors import InputError
from acer_tf.maths.schedules import ScheduleName
from acer_tf.networks.names import NETWORKS, check_arguments, check_network
from acer_tf.schema import Count, Positive, validated


@dataclasses.dataclass(frozen=True)
class RunFlags:
    """The run as a whole."""

    preset: str = BASELINES
    """Settings where no flag says otherwise: a name (acer presets lists them), or a file of your own (.yml)."""
    total_timesteps: int = int(1e6)
    """Agent steps of the whole run, over all environments."""
    seed: int | None = None
    """Seed of environments, weights and sampling; None draws one."""
    logdir: Path | None = None
    """Folder of the run; None makes runs/<env>-<date>-<time>."""
    load_path: Path | None = None
    """Agent whose weights to start from: an earlier run's folder, one of its checkpoints, or what ACER.save wrote."""
    restart_behavior: Literal["resume", "restart", "overwrite"] = "resume"
    """What to do if logdir holds a run: continue it, start anew and keep it under another name, or delete it."""
    force: bool = False
    """Resume even if hyper-parameters have changed."""


@dataclasses.dataclass(frozen=True)
class EnvironmentFlags:
    """Where the agent learns."""

    env: str = "CartPole-v1"
    """Environment id (acer envs lists them), or module:id if importing a module registers it."""
    num_env: int = 1
    """Environments that run side by side."""
    num_workers: int | None = None
    """Processes that run Atari games; None takes one per core, 0 none."""
    max_episode_frames: int = 108000
    """Longest Atari game, in raw frames (four per agent step); 0 sets no limit."""


@dataclasses.dataclass(frozen=True)
class AlgorithmFlags(Algorithm):
    """ACER itself."""


@dataclasses.dataclass(frozen=True)
class OptimizerFlags(Optimization):
    """How gradients change the weights."""

    lrschedule: ScheduleName = "linear"
    """Factor on the learning rate, as a function of the fraction of training done."""
    optimizer: Literal["rmsprop", "adam"] = "rmsprop"
    """RMSProp in TensorFlow 1's form, as in baselines, or Adam."""


@dataclasses.dataclass(frozen=True)
class ReplayFlags(Replay):
    """What is kept of the past, and how often it is trained on."""

    replay_state: ReplayState = "zero"
    """Where a recurrent policy's state starts when it trains on a segment: zero (as in baselines) or stored."""


@dataclasses.dataclass(frozen=True)
class CollectorFlags(CollectingOnRay):
    """Processes on Ray that collect segments while this one trains (docs/scale.md)."""


@dataclasses.dataclass(frozen=True)
class CheckpointFlags:
    """When the state of the run is saved, so that it can resume."""

    checkpoint_every: int | None = None
    """Agent steps between two checkpoints of the whole run; None makes one every 10 minutes."""
    exact_resume: bool | None = None
    """Start new episodes at every checkpoint, to resume to the bit; None does so if checkpoint_every is given."""
    keep_checkpoints: int = 3
    """Checkpoints to keep, besides the best."""
    keep_every: int | None = None
    """Keep one checkpoint for good in every period of this many agent steps."""


@dataclasses.dataclass(frozen=True)
class EvaluationFlags:
    """Evaluations while the agent trains, in environments of their own; training does not depend on them."""

    eval_every: int | None = None
    """Agent steps between two evaluations, for evaluations.csv and best.zip; None makes none."""
    eval_episodes: int = 10
    """Whole episodes of an evaluation, played as the command evaluate plays them."""
    eval_deterministic: bool = False
    """Take the most probable action in evaluations (the mean of continuous ones) instead of drawing from the policy."""


@dataclasses.dataclass(frozen=True)
class LoggingFlags:
    """What is printed and written."""

    verbose: Literal[0, 1, 2] = 1
    """0 prints warnings and the result; 1 also progress and the most important metrics; 2 all metrics, as baselines."""
    log_interval: int = Config.log_interval
    """Iterations (one segment from every environment each) between two tables of metrics."""
    track: Literal["wandb"] | None = None
    """Tracker of experiments that gets the metrics, too; offline, in the run folder, unless its variables say where."""


@dataclasses.dataclass(frozen=True)
class MachineFlags:
    """The process that trains."""

    threads: int | None = None
    """Threads of TensorFlow; None takes TF_NUM_INTRAOP_THREADS if set, else 2, or with convolutions one per core."""
    precision: Precision = Config.precision
    """In which layers below the heads compute: float32, as in baselines, or bfloat16, which is faster for convolutions
    on GPUs, and on processors that have instructions for it (avx512_bf16, amx_bf16)."""
    tune_malloc: bool = True
    """Let the C library keep freed memory for the next update instead of returning it to the system."""
    stall_seconds: float = 600.0
    """Seconds without progress (in starting, an iteration, saving, closing) after which the process shows where it is
    stuck and ends with status 142 (SIGALRM)."""


@dataclasses.dataclass(frozen=True)
class TrainFlags(
    MachineFlags,
    LoggingFlags,
    EvaluationFlags,
    CheckpointFlags,
    CollectorFlags,
    ReplayFlags,
    OptimizerFlags,
    AlgorithmFlags,
    EnvironmentFlags,
    RunFlags,
):
    """Flags of all training commands."""

    @property
    def is_exact(self) -> bool:
        """Whether a resumed run equals an undisturbed one to the bit, which needs environments in this process."""
        if self.exact_resume is None:
            return self.checkpoint_every is not None and not self.actors
        return self.exact_resume

    def config(self) -> Config:
        """Returns the checked hyper-parameters.

        Raises:
            InputError: a value cannot work.
        """
        return Config(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Config)})

    def collecting(self) -> Collecting:
        """Returns the checked settings of collectors.

        Raises:
            InputError: a value cannot work.
        """
        return Collecting(**{name: getattr(self, name) for name in vars(COLLECTING)})


def given_preset(given: Mapping[str, Any]) -> Preset | None:
    """Returns the preset that the flag `preset` names, for the environment of `env`; None without it.

    Raises:
        InputError: see `load_preset`.
    """
    return load_preset(given["preset"], given.get("env")) if "preset" in given else None


class Job(NamedTuple):
    """A training, as its command line describes it.

    Attributes:
        flags: flags of all training commands.
        network: name of the network.
        network_kwargs: its arguments.
        wrappers: further arguments of `make_training_env`.
        continuous: settings that only continuous actions have.
        advice: lines to print at the start, on settings that were not chosen.
        if_continuous: returns the job that takes this one's place if the environment's actions are continuous.
    """

    flags: TrainFlags
    network: str
    network_kwargs: Mapping[str, Any]
    wrappers: Mapping[str, Any] = MappingProxyType({})
    continuous: Continuous = CONTINUOUS
    advice: Sequence[str] = ()
    if_continuous: Callable[[], "Job"] | None = None


def run_job(job: Job) -> int:
    """Runs the training and returns its exit status; what that needs is not imported for a misspelt flag."""
    from acer_tf.training.run import train

    return train(job)


def check(job: Job) -> None:
    """Checks a job as `checked` does, where the kind of actions is not known yet: one kind has to be able to work.

    Raises:
        InputError: as `checked`.
    """
    try:
        checked(job)
    except InputError as error:
        if job.if_continuous is None:
            raise
        try:
            checked(job.if_continuous())
        except InputError:
            raise error from None


def checked(job: Job) -> Config:
    """Checks what can be checked without TensorFlow; returns the hyper-parameters.

    Raises:
        InputError: a value is invalid, or the environment or network does not exist.
    """
    from acer_tf.envs.ids import check_env_id  # imports gymnasium: after the flags are known to be right
    from acer_tf.logs.wandb import require_wandb

    flags, network = job.flags, job.network
    check_env_id(flags.env)
    check_network(network)
    check_arguments(network, job.network_kwargs.keys() - {"value_network"}, NETWORKS[network])
    if flags.load_path is not None and not flags.load_path.exists():
        raise InputError(f"load_path {flags.load_path} does not exist; expected a run folder or a file of an agent.")
    counts = ("num_env", "checkpoint_every", "keep_checkpoints", "keep_every", "eval_every", "eval_episodes", "threads")
    for name in counts:
        if getattr(flags, name) is not None:
            validated(name, getattr(flags, name), Count)
    validated("stall_seconds", flags.stall_seconds, Positive)
    if flags.track is not None:
        require_wandb()
    _check_collecting(job)
    if flags.exact_resume and flags.checkpoint_every is None:
        raise InputError("exact_resume needs checkpoint_every, in agent steps: minutes are not the same in two runs.")
    if flags.is_exact and flags.overlap:
        raise InputError(
            "overlap has a segment in the making at every moment, which no checkpoint holds, so no run can resume to "
            "the bit; give --exact_resume False, or leave overlap out."
        )
    return flags.config()


def job_settings(job: Job, config: Config) -> dict[str, Any]:
    """Returns all settings of a training as plain values by name, as its run folder records them.

    Args:
        job: the training.
        config: its hyper-parameters.
    """
    flags = {field.name: getattr(job.flags, field.name) for field in dataclasses.fields(TrainFlags)}
    for name in ("restart_behavior", "force"):
        del flags[name]
    settings: dict[str, Any] = {name: str(value) if isinstance(value, Path) else value for name, value in flags.items()}
    return settings | {
        **job.wrappers,
        "network": job.network,
        **job.network_kwargs,
        **vars(config),
        **vars(job.continuous),
    }


def _check_collecting(job: Job) -> None:
    """Checks the settings of collectors, and that Ray is installed if there are to be any."""
    flags, collecting = job.flags, job.flags.collecting()
    normalized = {name: bool(job.wrappers.get(name)) for name in ("normalize_observations", "normalize_rewards")}
    collecting.check(overlap=flags.overlap, **normalized)
    if not collecting.actors:
        return
    require_ray()
    if collecting.ray_address is not None:
        check_address(collecting.ray_address)
    if flags.exact_resume:
        raise InputError(
            "exact_resume needs segments in a fixed order, but those of actors come as they are ready; leave one out."
        )
