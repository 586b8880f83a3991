"""A training run, from its job to the agent's file."""

import contextlib
import functools
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
from gymnasium.spaces import Box

from acer_tf.config import Config
from acer_tf.envs.atari.pool import AtariPool, frames_per_step
from acer_tf.envs.ids import is_atari
from acer_tf.envs.make import closing, make_env, make_training_env, make_vec_env
from acer_tf.envs.makers import MakerOfId
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import EnvironmentFailedError, InputError, NotFiniteError, SupersededError
from acer_tf.logs.files import file_logger
from acer_tf.logs.logger import Logger, Sink
from acer_tf.logs.tensorboard import TensorBoardSink
from acer_tf.logs.terminal import progress_sink, table_sinks
from acer_tf.logs.wandb import WandbSink
from acer_tf.replay.size import check_replay, compressed_row, largest_bytes
from acer_tf.segment import Episode
from acer_tf.storage.arrays import save_arrays
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.storage.lock import Lease
from acer_tf.storage.run_files import CHECKPOINTS, MODEL, NOT_FINITE, TENSORBOARD
from acer_tf.storage.run_folder import (
    RunFolder,
    check_folder,
    default_run_folder,
    run_folder,
)
from acer_tf.storage.saved_agents import PART, read_saved_agent
from acer_tf.storage.usage import Meter
from acer_tf.system.command_line import command_line
from acer_tf.system.compute import keep_freed_memory, prepare_tensorflow
from acer_tf.system.console import in_bytes, quiet_tensorflow, say
from acer_tf.system.provenance import origin
from acer_tf.system.streams import checked_seed
from acer_tf.training.job import Job, TrainFlags, check, checked, job_settings
from acer_tf.training.resume import resumed_settings, resuming
from acer_tf.training.signals import stop_on_signals
from acer_tf.training.watchdog import watchdog

if TYPE_CHECKING:
    from acer_tf.acer import TrainingLoop
    from acer_tf.agent import ACER
    from acer_tf.training.checkpointer import Checkpointer, Part
    from acer_tf.training.evaluations import Evaluations

MOST_ENVS = 8
"""Environments that an evaluation plays in at most, as in the command `evaluate`."""


class Session(NamedTuple):
    """A training that is ready to learn.

    Attributes:
        config: hyper-parameters.
        folder: the run folder.
        lease: the right to write to it.
        agent: what learns.
        loop: its training loop.
        evaluations: those while it trains.
        checkpointer: saves the whole run.
    """

    config: Config
    folder: Path
    lease: Lease
    agent: "ACER"
    loop: "TrainingLoop"
    evaluations: "Evaluations"
    checkpointer: "Checkpointer"


def train(job: Job) -> int:
    """Trains, with logs, checkpoints and the final agent in the run folder; returns the exit status.

    Raises:
        InputError: an argument cannot work; found before TensorFlow is imported where that is possible.
    """
    meter = Meter()
    check(job)
    flags, folder = job.flags, job.flags.logdir or default_run_folder(job.flags.env)
    check_folder(folder)
    prepare_tensorflow(job.network, flags.threads)  # by variables that TensorFlow reads when it is imported
    if flags.tune_malloc:
        keep_freed_memory()
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(stop_on_signals())  # first: a signal while it starts must not be lost
        heartbeat = stack.enter_context(watchdog(flags.stall_seconds))
        run = stack.enter_context(run_folder(folder))  # locked before anything in it is looked at
        job, env, make_env = _environments(job)
        stack.enter_context(closing(env))
        session = _begin(job, env, make_env, folder, run, stack, heartbeat)
        with _noting_usage(session, meter):
            _learn(session, stop, heartbeat)
            _write(session, stop, heartbeat)
    print(f"{'stopped' if stop() else 'done'} at step {session.loop.steps:,}; agent: {folder / MODEL}")
    if stop():
        print(f"resume with: {resume_command(folder)}")
    return stop.status


@contextlib.contextmanager
def _noting_usage(session: Session, meter: Meter) -> Iterator[None]:
    """Notes how long the block took if it trained, also if it fails; a full disk or a lost lease leaves it unknown."""
    begin = session.loop.steps
    try:
        yield
    finally:
        with contextlib.suppress(OSError, SupersededError):
            session.lease.check()
            if session.loop.steps > begin:
                meter.note(session.folder, begin, session.loop.steps)


def _environments(job: Job) -> tuple[Job, FrameStack, Callable[[], FrameStack]]:
    """Makes the environments.

    Returns:
        The job, whose settings may depend on the kind of their actions; the environments; and what makes the same for
        collectors, which step Atari games in their own processes unless told otherwise.
    """
    first = None
    with contextlib.ExitStack() as unused:
        if job.if_continuous is not None and not is_atari(job.flags.env):
            first = make_env(job.flags.env, job.wrappers["env_kwargs"])
            unused.callback(first.close)
            if isinstance(first.action_space, Box):
                job = job.if_continuous()
        flags, gamma = job.flags, checked(job).gamma
        num_workers = 0 if flags.actors and flags.num_workers is None else flags.num_workers
        of_atari: dict[str, Any] = {"num_workers": num_workers, "max_episode_frames": flags.max_episode_frames}
        arguments = {"num_env": flags.num_env, "gamma": gamma, **of_atari, **job.wrappers}
        maker = MakerOfId(gymnasium.spec(flags.env), functools.partial(make_training_env, **arguments))
        # Those of a run with collectors are only looked at: none of them needs a process.
        env = maker(first=first, **({"vectorization": "sync"} if flags.actors else {}))
        unused.pop_all()
    return job, env, maker


def _begin(
    job: Job,
    env: FrameStack,
    make_env: Callable[[], FrameStack],
    folder: Path,
    run: RunFolder,
    stack: contextlib.ExitStack,
    heartbeat: Callable[[], None],
) -> Session:
    """Begins a run in the folder, or resumes the one that it holds; the stack closes what has to be closed."""
    flags, config = job.flags, checked(job)
    checkpoints = CheckpointStore(folder / CHECKPOINTS, flags.keep_checkpoints, flags.keep_every)
    settings = _settings(job, config, checkpoints)  # refuses what does not fit the run in the folder
    check_replay(env, config)
    run.begin(settings, flags.restart_behavior)  # from here on, the folder is changed
    checkpoints.before_publishing = run.lease.check
    logger = stack.enter_context(
        contextlib.closing(Logger([_Fence(run.lease), _make_logger(folder, flags, env, settings)]))
    )
    if flags.verbose:
        _announce(job, config, env, folder)
    if isinstance(env.unwrapped, AtariPool):
        env.unwrapped.start_workers()  # they load the games while TensorFlow is imported
    agent = _make_agent(job, env, make_env, config, settings["seed"])
    stack.callback(agent.close)
    heartbeat()  # TensorFlow has been imported
    loop = agent.begin(logger, is_quiet=not flags.verbose)
    evaluations = _evaluations(job, agent, logger, settings["seed"], folder)
    stack.enter_context(contextlib.closing(evaluations))
    # What a checkpoint holds besides the loop: what `evaluate` needs of the agent, and the best evaluation so far.
    parts: dict[str, Part] = {PART: agent, "evaluations": evaluations}
    checkpointer = _resume(loop, parts, checkpoints, flags, settings)
    heartbeat()
    if flags.verbose:
        say(f"device: {_machine(env, flags.actors)}")
    return Session(config, folder, run.lease, agent, loop, evaluations, checkpointer)


def _settings(job: Job, config: Config, checkpoints: CheckpointStore) -> dict[str, Any]:
    """Returns the settings for run folder and checkpoints; the seed is that of a resumed run, or else drawn."""
    settings = job_settings(job, config)
    if job.flags.restart_behavior == "resume":
        settings |= resumed_settings(checkpoints, settings, job.flags.force)
    return settings | {"seed": checked_seed(settings["seed"])}


def _announce(job: Job, config: Config, env: FrameStack, folder: Path) -> None:
    for line in job.advice:
        say(line)
    backend = type(env.unwrapped).__name__
    collectors = f"{job.flags.actors} collectors of " if job.flags.actors else ""
    say(f"training on {collectors}{job.flags.num_env} x {job.flags.env} ({backend}); run folder: {folder}")
    if config.replay_ratio:
        is_compressed = compressed_row(env, config) is not None
        say(f"replay: at most {in_bytes(largest_bytes(env, config))}{', less as images compress' * is_compressed}")


def _make_agent(job: Job, env: FrameStack, make_env: Callable[[], FrameStack], config: Config, seed: int) -> "ACER":
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")  # several runs may share a graphics processor
    start = None if job.flags.load_path is None else read_saved_agent(job.flags.load_path)
    with quiet_tensorflow():
        from acer_tf.agent import ACER

    collecting = job.flags.collecting()
    agent = ACER.from_config(
        job.network,
        env,
        config,
        job.continuous,
        make_env if collecting.actors else None,
        policy_kwargs=job.network_kwargs,
        seed=seed,
        collecting=collecting,
    )
    if start is not None:
        agent.load_weights(start)
    return agent


def _evaluations(job: Job, agent: "ACER", logger: Logger, seed: int, folder: Path) -> "Evaluations":
    from acer_tf.training.evaluations import Evaluations

    flags = job.flags
    own = {name: job.wrappers[name] for name in ("env_kwargs", "vectorization") if name in job.wrappers}
    own |= {"num_workers": flags.num_workers, "max_episode_frames": flags.max_episode_frames}
    return Evaluations(
        agent,
        logger,
        lambda: make_vec_env(flags.env, min(flags.eval_episodes, MOST_ENVS), **own),
        every=flags.eval_every,
        episodes=flags.eval_episodes,
        deterministic=flags.eval_deterministic,
        seed=seed,
        folder=folder,
    )


def _resume(
    loop: "TrainingLoop",
    parts: Mapping[str, "Part"],
    checkpoints: CheckpointStore,
    flags: TrainFlags,
    settings: Mapping[str, Any],
) -> "Checkpointer":
    """Resumes from the newest checkpoint, or makes the first one."""
    from acer_tf.training.checkpointer import Checkpointer

    checkpointer = Checkpointer(
        loop,
        checkpoints,
        seed=settings["seed"],
        every=flags.checkpoint_every,
        is_exact=flags.is_exact,
        settings=settings,
        origin=origin(),
        parts=parts,
    )
    checkpointer.begin()
    return checkpointer


def _machine(env: FrameStack, actors: int) -> str:
    from acer_tf.system.compute import device

    if actors:
        return f"{device()}; environments in {actors} collector{'s' * (actors > 1)}"
    workers = getattr(env.unwrapped, "num_workers", 0)
    return device() + (f"; games in {workers} process{'es' * (workers > 1)}" if workers else "")


def _learn(session: Session, stop: Callable[[], bool], heartbeat: Callable[[], None]) -> None:
    """Trains to the end or a signal; what was learned before an error is in a checkpoint afterwards."""
    loop, checkpointer = session.loop, session.checkpointer

    def goes_on() -> bool:
        heartbeat()
        return not stop()

    def after_iteration() -> bool:
        heartbeat()
        session.agent.num_timesteps = loop.steps
        session.evaluations.if_due(goes_on)  # before a checkpoint of the same step, which then holds the result
        checkpointer.after_iteration()
        return stop()

    session.evaluations.if_due(goes_on)
    try:
        loop.learn(after_iteration, end=session.config.total_timesteps, log_interval=session.config.log_interval)
    except NotFiniteError as error:
        batch = session.folder / f"{NOT_FINITE}{loop.steps:012d}.npz"
        save_arrays(batch, error.batch)
        checkpointer.save()
        raise InputError(f"after step {loop.steps:,} {error} The batch is in {batch}.") from error
    except EnvironmentFailedError:
        checkpointer.save()
        raise


def _write(session: Session, stop: Callable[[], bool], heartbeat: Callable[[], None]) -> None:
    """Writes the agent and the last checkpoint, in this order: where there is room for little, weights matter most."""
    from acer_tf.training.checkpointer import write_at_last

    session.agent.num_timesteps, file = session.loop.steps, session.folder / MODEL

    def save_agent() -> None:
        session.lease.check()
        session.agent.save(file)

    write_at_last(save_agent, file, stop, heartbeat)
    write_at_last(session.checkpointer.write, session.folder / CHECKPOINTS, stop, heartbeat)


def resume_command(folder: Path) -> str:
    """Returns this process's command line, changed so that it resumes the run in the folder."""
    words = command_line()
    has_folder = "--logdir" in " ".join(words)
    return shlex.join(resuming([*words, *([] if has_folder else ["--logdir", str(folder)])]))


def _make_logger(folder: Path, flags: TrainFlags, env: FrameStack, settings: Mapping[str, Any]) -> Logger:
    replay_steps = flags.buffer_size // flags.nsteps * flags.nsteps * flags.num_env
    return Logger(
        [
            file_logger(folder, flags.env),
            TensorBoardSink(folder / TENSORBOARD, frames_per_step(env), settings),
            *([] if flags.track is None else [WandbSink(folder, frames_per_step(env), settings)]),
            *table_sinks(flags.verbose),
            *([progress_sink(flags.total_timesteps, replay_steps if flags.replay_ratio else 0)] * bool(flags.verbose)),
        ]
    )


class _Fence(Sink):
    """The first sink of a run's logger: its methods raise SupersededError once the lease is another process's."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def write(self, values: Mapping[str, float]) -> None:
        """Checks the lease before a row of metrics is written."""
        self._lease.check()

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Checks the lease before episodes are recorded."""
        self._lease.check()

    def progress(self, steps: int) -> None:
        """Checks the lease before progress is recorded."""
        self._lease.check()

    def state_dict(self) -> dict[str, int]:
        """Checks the lease before a checkpoint is begun."""
        self._lease.check()
        return {}
