"""What the training commands share: their flags, and a run from its start to the agent's file."""

import argparse
import contextlib
import dataclasses
import inspect
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
import tyro

from acer_tf.commands.resume import resumed_settings
from acer_tf.commands.signals import stop_on_signals
from acer_tf.commands.watchdog import watchdog
from acer_tf.config import CONTINUOUS, Config, Continuous, Hyperparameters, require_count, require_positive
from acer_tf.configs.presets import Preset, load_preset
from acer_tf.envs.atari.pool import frames_per_step
from acer_tf.envs.ids import check_env_id
from acer_tf.envs.make import make_training_env
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import EnvironmentFailedError, InputError, NotFiniteError, nearest
from acer_tf.logs.files import run_files
from acer_tf.logs.logger import Logger
from acer_tf.logs.tensorboard import TensorBoardSink
from acer_tf.logs.terminal import TableSink, progress_sink
from acer_tf.maths.schedules import SCHEDULES
from acer_tf.networks.names import NETWORKS
from acer_tf.replay.size import check_replay
from acer_tf.storage.arrays import save_arrays
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.storage.run_folder import CHECKPOINTS, MODEL, default_run_folder, origin, run_folder
from acer_tf.system.allocator import keep_freed_memory
from acer_tf.system.threads import prepare_tensorflow

if TYPE_CHECKING:
    from acer_tf.acer import TrainingLoop
    from acer_tf.agent import ACER
    from acer_tf.commands.checkpointer import Checkpointer


@dataclasses.dataclass(frozen=True)
class HyperparameterFlags(Hyperparameters):
    """Hyper-parameters of ACER."""

    total_timesteps: Annotated[int, tyro.conf.arg(name="num_timesteps")] = int(1e6)
    """Agent steps of the whole run, over all environments."""
    lrschedule: Annotated[str, tyro.conf.arg(help=f"Course of the learning rate: {', '.join(SCHEDULES)}.")] = "linear"
    optimizer: Literal["rmsprop", "adam"] = "rmsprop"
    """Optimiser: RMSProp in TensorFlow 1's form, as in baselines, or Adam."""

    def config(self) -> Config:
        """Returns the checked hyper-parameters.

        Raises:
            InputError: a value cannot work.
        """
        return Config(**vars(self))


@dataclasses.dataclass(frozen=True)
class TrainFlags:
    """The flags of every training command."""

    env: str
    """Environment id."""
    num_env: int = 1
    """Environments that run side by side."""
    seed: int | None = None
    """Seed of environments, weights and sampling; None draws one."""
    preset: str = "baselines"
    """Settings by name, where no flag says otherwise: see acer_tf/configs; or a file of your own, ending in .yml."""
    logdir: Path | None = None
    """Folder of the run; None makes runs/<env>-<date>-<time>."""
    load_path: Path | None = None
    """Agent whose weights to start from: model.zip of an earlier run, or what ACER.save wrote."""
    num_workers: int | None = None
    """Processes that run Atari games; None takes one per core, 0 none."""
    threads: int | None = None
    """Threads of TensorFlow; None takes TF_NUM_INTRAOP_THREADS and TF_NUM_INTEROP_THREADS where these are set, else two
    for networks without convolutions and one per core for others."""
    max_episode_frames: int = 108000
    """Longest Atari game, in raw frames (four per agent step); 0 sets no limit."""
    checkpoint_every: int | None = None
    """Agent steps between two checkpoints of the whole run; None makes one every 10 minutes."""
    exact_resume: bool | None = None
    """Start new episodes at every checkpoint, so that a resumed run equals an undisturbed one to the bit; None does so
    if checkpoint_every is given."""
    keep_checkpoints: int = 3
    """Checkpoints to keep, besides the best."""
    keep_every: int | None = None
    """Of every so many agent steps, keep one checkpoint for good."""
    restart_behavior: Literal["resume", "restart", "overwrite"] = "resume"
    """What to do if logdir holds a run: go on with it, keep it under another name and begin anew, or delete it."""
    force: bool = False
    """Resume even if hyper-parameters have changed."""
    tune_malloc: bool = True
    """Let the C library keep freed memory for the next update instead of returning it to the system."""
    stall_seconds: float = 600.0
    """Seconds without an iteration after which the process shows where it is stuck and exits with status 75."""
    hyperparameters: HyperparameterFlags = HyperparameterFlags()

    @property
    def is_exact(self) -> bool:
        """Whether a resumed run equals an undisturbed one to the bit."""
        return self.checkpoint_every is not None if self.exact_resume is None else self.exact_resume


def given_preset(argv: Sequence[str]) -> Preset:
    """Returns the preset that `--preset` names.

    Raises:
        InputError: see `load_preset`.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", nargs="?", default=TrainFlags.preset, const=TrainFlags.preset)
    return load_preset(parser.parse_known_args(argv)[0].preset)


class Job(NamedTuple):
    """What a training command was asked to do.

    Attributes:
        flags: those of every training command.
        network: name of the network.
        network_kwargs: its arguments.
        wrappers: further arguments of `make_training_env`.
        continuous: settings that only continuous actions have.
    """

    flags: TrainFlags
    network: str
    network_kwargs: Mapping[str, Any]
    wrappers: Mapping[str, Any] = MappingProxyType({})
    continuous: Continuous = CONTINUOUS


def train(job: Job) -> int:
    """Trains, with logs, checkpoints and the final agent in the run folder; returns the exit status.

    Raises:
        InputError: an argument cannot work; found before TensorFlow is imported where that is possible.
    """
    flags, network, network_kwargs, env_kwargs, continuous = job
    folder = flags.logdir or default_run_folder(flags.env)
    config = checked(flags, network)
    prepare_tensorflow(network, flags.threads)
    if flags.tune_malloc:
        keep_freed_memory()
    settings = {**_plain(flags), **env_kwargs, "network": network, **network_kwargs}
    settings |= dataclasses.asdict(config) | dataclasses.asdict(continuous)
    checkpoints = CheckpointStore(folder / CHECKPOINTS, flags.keep_checkpoints, flags.keep_every)
    if flags.restart_behavior == "resume":
        settings |= resumed_settings(checkpoints, settings, flags.force)
    if settings["seed"] is None:
        settings["seed"] = int(np.random.SeedSequence().generate_state(1)[0])
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(stop_on_signals())
        env = make_training_env(
            flags.env,
            flags.num_env,
            num_workers=flags.num_workers,
            max_episode_frames=flags.max_episode_frames,
            gamma=config.gamma,
            **env_kwargs,
        )
        stack.callback(env.close)
        check_replay(env, config)
        stack.enter_context(run_folder(folder, settings, flags.restart_behavior))
        logger = stack.enter_context(contextlib.closing(_logger(folder, flags, env)))
        backend = type(env.unwrapped).__name__
        print(f"training on {flags.num_env} x {flags.env} ({backend}); run folder: {folder}", flush=True)

        # Otherwise TensorFlow's C++ part greets with hints about this machine.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")  # several runs may share a graphics processor
        from acer_tf.agent import ACER
        from acer_tf.commands.checkpointer import Checkpointer
        from acer_tf.system.device import device

        _check_arguments(network_kwargs)
        agent = ACER.from_config(network, env, config, continuous, policy_kwargs=network_kwargs, seed=settings["seed"])
        if flags.load_path is not None:
            agent.load_weights(flags.load_path)
        acer = agent.begin(logger, is_quiet=False)
        checkpointer = Checkpointer(
            acer,
            checkpoints,
            seed=settings["seed"],
            every=flags.checkpoint_every,
            is_exact=flags.is_exact,
            settings=settings,
            origin=origin(),
        )
        checkpointer.begin()
        workers = getattr(env.unwrapped, "num_workers", 0)
        games = f"; games in {workers} process{'es' * (workers > 1)}" if workers else ""
        print(f"device: {device()}{games}", flush=True)
        moved = stack.enter_context(watchdog(flags.stall_seconds))

        def after_iteration() -> bool:
            moved()
            checkpointer.after_iteration()
            return stop()

        _learn(acer, config, after_iteration, checkpointer, folder)
        file = _save(agent, acer.steps, folder)
    print(f"{'stopped' if stop() else 'done'} at step {acer.steps:,}; agent: {file}")
    if stop():
        print(f"to go on: {_resume_command(folder)}")
    return stop.status


def _check_arguments(network_kwargs: Mapping[str, Any]) -> None:
    """Refuses what was taken for an argument of the network, but is one of `acer_tf.learn` and no flag."""
    from acer_tf.acer import learn

    if taken := network_kwargs.keys() & inspect.signature(learn).parameters.keys():
        raise InputError(f"--{min(taken)} is no flag of this command; --help shows all.")


def _learn(
    acer: "TrainingLoop",
    config: Config,
    after_iteration: Callable[[], bool],
    checkpointer: "Checkpointer",
    folder: Path,
) -> None:
    """Trains; what was learned before an error or the end is in a checkpoint afterwards."""
    try:
        acer.learn(after_iteration, end=config.total_timesteps, log_interval=config.log_interval)
    except NotFiniteError as error:
        batch = folder / f"not-finite-{acer.steps:012d}.npz"
        save_arrays(batch, error.batch)
        checkpointer.save()
        raise InputError(f"after step {acer.steps:,} {error} The batch is in {batch}.") from error
    except EnvironmentFailedError:
        checkpointer.save()
        raise
    checkpointer.save()


def _save(agent: "ACER", steps: int, folder: Path) -> Path:
    agent.num_timesteps = steps
    file = folder / MODEL
    try:
        agent.save(file)
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror}); make room and resume.") from error
    return file


def checked(flags: TrainFlags, network: str) -> Config:
    """Checks the flags of a training command as far as that needs no TensorFlow; returns the hyper-parameters.

    Raises:
        InputError: a value that cannot work, or an environment or network that does not exist.
    """
    check_env_id(flags.env)
    if network not in NETWORKS:
        raise InputError(
            f"network '{network}' does not exist; the nearest are {', '.join(nearest(network, NETWORKS))}."
        )
    if flags.load_path is not None and not flags.load_path.is_file():
        raise InputError(f"load_path {flags.load_path} is no file; expected an agent such as <run folder>/{MODEL}.")
    for name in ("num_env", "checkpoint_every", "keep_checkpoints", "keep_every", "threads"):
        if getattr(flags, name) is not None:
            require_count(name, getattr(flags, name))
    require_positive("stall_seconds", flags.stall_seconds)
    if flags.exact_resume and flags.checkpoint_every is None:
        raise InputError("exact_resume needs checkpoint_every, in agent steps: minutes are not the same in two runs.")
    if flags.is_exact and flags.hyperparameters.overlap:
        raise InputError(
            "overlap has a segment in the making at every moment, which no checkpoint holds, so no run can resume to "
            "the bit; give --exact_resume False, or leave overlap out."
        )
    return flags.hyperparameters.config()


def _resume_command(folder: Path) -> str:
    words, given = list(sys.orig_argv), " ".join(sys.orig_argv).replace("-", "_")
    if "__logdir" not in given:
        words += ["--logdir", str(folder)]
    if "__restart_behavior" in given:  # the last one counts; `overwrite` would delete the run
        words += ["--restart_behavior", "resume"]
    return shlex.join(words)


def _plain(flags: TrainFlags) -> dict[str, Any]:
    values = {field.name: getattr(flags, field.name) for field in dataclasses.fields(TrainFlags)}
    for name in ("hyperparameters", "restart_behavior", "force"):
        del values[name]
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def _logger(folder: Path, flags: TrainFlags, env: FrameStack) -> Logger:
    settings = flags.hyperparameters
    replay_steps = settings.buffer_size // settings.nsteps * settings.nsteps * flags.num_env
    return Logger(
        [
            run_files(folder, flags.env),
            TensorBoardSink(folder / "tb", frames_per_step(env)),
            TableSink(),
            progress_sink(settings.total_timesteps, replay_steps if settings.replay_ratio else 0),
        ]
    )
