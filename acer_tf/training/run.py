"""A training run, from the job to the agent's file."""

import contextlib
import functools
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
from gymnasium.vector import VectorEnv

from acer_tf.envs.atari.pool import AtariPool, frames_per_step
from acer_tf.envs.closing import close_quietly, closing
from acer_tf.envs.make import make_registered, make_training_env, make_vec_env
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import EnvironmentFailedError, InputError, NotFiniteError, SupersededError
from acer_tf.logs.files import file_logger
from acer_tf.logs.logger import Logger, Sink
from acer_tf.logs.tensorboard import TensorBoardSink
from acer_tf.logs.terminal import progress_sink, table_sinks
from acer_tf.logs.wandb import WandbSink
from acer_tf.replay.size import check_replay, compressed_row, largest_bytes
from acer_tf.storage.arrays import save_arrays
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.storage.run_files import BEST, CHECKPOINTS, MODEL, NOT_FINITE, TENSORBOARD
from acer_tf.storage.run_folder import RunFolder, folder_kept, note_changed, run_folder
from acer_tf.storage.saved_agents import PART, read_saved_agent
from acer_tf.storage.usage import Meter
from acer_tf.system.command_line import command_line, program
from acer_tf.system.compute import device, keep_freed_memory, prepare_tensorflow
from acer_tf.system.console import counted, in_bytes, never_wait, say
from acer_tf.system.provenance import origin
from acer_tf.system.streams import checked_seed
from acer_tf.system.tensorflow_import import quiet_tensorflow
from acer_tf.training.checkpointer import Checkpointer, Part, write_at_last
from acer_tf.training.evaluations import Evaluations
from acer_tf.training.job import Job
from acer_tf.training.resume import compared, describe, resuming
from acer_tf.training.signals import stop_on_signals
from acer_tf.training.watchdog import watchdog

if TYPE_CHECKING:
    from acer_tf.acer import TrainingLoop
    from acer_tf.agent import ACER

MOST_ENVS = 8
"""Most environments of an evaluation, as in the command `evaluate`."""


class Session(NamedTuple):
    """A training run that is ready to learn."""

    job: Job
    run: RunFolder
    agent: "ACER"
    loop: "TrainingLoop"
    evaluations: Evaluations
    checkpointer: Checkpointer


def train(job: Job, first: gymnasium.Env[Any, Any] | None = None) -> int:
    """Trains, with logs, checkpoints and the final agent in the run folder; returns the exit status.

    Args:
        job: the training run.
        first: an environment that has already been made; it is used for training, or closed.

    Raises:
        InputError: an argument cannot work; raised before TensorFlow is imported where possible.
    """
    meter = Meter()
    never_wait()
    with contextlib.ExitStack() as stack:
        unused = stack.enter_context(contextlib.ExitStack())
        if first is not None:
            unused.callback(close_quietly, first)
        prepare_tensorflow(job.network, job.machine.threads)  # TensorFlow reads variables when it is imported
        if job.machine.tune_malloc:
            keep_freed_memory()
        stop = stack.enter_context(stop_on_signals())  # early, so that a signal during the start is not lost
        heartbeat = stack.enter_context(watchdog(job.machine.stall_seconds))

        def goes_on() -> bool:
            heartbeat()
            return not stop()

        # Locked before anything in it is read.
        run = stack.enter_context(run_folder(job.run.logdir, job.environment.env_id))
        make_env = _env_maker(job)
        # In a run with collectors, these are only inspected, so they need no processes.
        with folder_kept(job.run.logdir):
            env = make_env(first=first, **({"vectorization": "sync"} if job.collecting.actors else {}))
        unused.pop_all()
        stack.enter_context(closing(env))
        session = _begin(job, env, make_env, run, stack, goes_on)
        stop.take_signals()  # making or resetting environments may have changed the handlers
        with _noting_usage(session, meter):
            _learn(session, goes_on)
            _write(session, goes_on)
    say(f"{'stopped' if stop() else 'done'} at step {session.loop.steps:,}; agent: {run.path / MODEL}")
    if stop():
        say(f"resume with: {resume_command(run.path)}")
    else:
        say(f"to watch it: {watch_command(run.path, job.environment.env)}")
    return stop.status


@contextlib.contextmanager
def _noting_usage(session: Session, meter: Meter) -> Iterator[None]:
    """Notes how long the block took if it trained, even if it fails, unless the disk is full or the lease lost."""
    begin = session.loop.steps
    try:
        yield
    finally:
        with contextlib.suppress(OSError, SupersededError):
            session.run.check()
            if session.loop.steps > begin:
                meter.note(session.run.path, begin, session.loop.steps)


def _env_maker(job: Job) -> Callable[..., FrameStack]:
    """Returns a function that makes the environments, also for collectors, which step Atari games themselves."""
    given = job.environment
    return functools.partial(
        make_registered,
        make_training_env,
        gymnasium.spec(given.env_id),
        num_env=given.num_env,
        num_workers=0 if job.collecting.actors and given.num_workers is None else given.num_workers,
        max_episode_frames=given.max_episode_frames,
        gamma=job.config.gamma,
        **vars(job.gymnasium),
    )


def _begin(
    job: Job,
    env: FrameStack,
    make_env: Callable[[], FrameStack],
    run: RunFolder,
    stack: contextlib.ExitStack,
    goes_on: Callable[[], bool],
) -> Session:
    """Begins a run in the folder, or resumes the one that it holds; the stack closes resources."""
    folder, settings = run.path, job.settings()
    # Refuses settings that do not fit the run in the folder.
    earlier = compared(folder, settings, job.run.force) if job.run.restart_behavior == "resume" else None
    settings["seed"] = checked_seed(settings["seed"] if earlier is None else earlier.seed)
    check_replay(env, job.config)
    run.begin(settings, job.run.restart_behavior)  # the folder changes from here on
    if earlier is not None and earlier.changed:
        say(f"changed: {describe(earlier.changed)}", is_error=True)
        note_changed(folder, earlier.step, earlier.changed)
    shown = _terminal_sinks(job)
    for sink in shown:  # the terminal must be restored even if the check keeps other sinks from being closed
        stack.enter_context(contextlib.closing(sink))
    # Sinks write what they still hold when they are closed, so this is checked as well.
    sinks = [_file_logger(folder, job, env, settings), *shown]
    logger = stack.enter_context(contextlib.closing(Logger(sinks, run.check)))
    if job.logging.verbose:
        _announce(job, env, folder)
    if isinstance(env.unwrapped, AtariPool):
        env.unwrapped.start_workers()  # they load the games while TensorFlow is imported
    agent = _make_agent(job, env, make_env, settings["seed"])
    stack.callback(agent.close)
    goes_on()  # a sign of life after the import of TensorFlow
    loop = agent.begin(logger, is_quiet=not job.logging.verbose, goes_on=goes_on)
    evaluations = _evaluations(job, agent, logger, settings["seed"], folder)
    stack.enter_context(closing(evaluations))
    # Besides the loop, a checkpoint holds what `evaluate` needs from the agent, and the best evaluation so far.
    parts: dict[str, Part] = {PART: agent, "evaluations": evaluations}
    checkpointer = _resume(loop, parts, run, job, settings, goes_on)
    goes_on()
    if job.logging.verbose:
        say(f"device: {_machine(env, job.collecting.actors)}")
    return Session(job, run, agent, loop, evaluations, checkpointer)


def _announce(job: Job, env: FrameStack, folder: Path) -> None:
    for line in (*job.advice, *job.without_effect()):
        say(line)
    backend = type(env.unwrapped).__name__
    collectors = f"{counted(job.collecting.actors, 'collector')} of " if job.collecting.actors else ""
    environments = f"{job.environment.num_env} x {job.environment.env_id} ({backend})"
    say(f"training on {collectors}{environments}; run folder: {folder}")
    if job.config.replay_ratio:
        is_compressed = compressed_row(env, job.config) is not None
        say(f"replay: at most {in_bytes(largest_bytes(env, job.config))}{', less as images compress' * is_compressed}")


def _make_agent(job: Job, env: FrameStack, make_env: Callable[[], FrameStack], seed: int) -> "ACER":
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")  # several runs may share a graphics processor
    start = None if job.run.load_path is None else read_saved_agent(job.run.load_path)
    with quiet_tensorflow():
        from acer_tf.agent import ACER

    agent = ACER.from_config(
        job.network,
        env,
        job.config,
        job.continuous,
        make_env if job.collecting.actors else None,
        policy_kwargs=job.network_kwargs,
        seed=seed,
        collecting=job.collecting,
    )
    if start is not None:
        agent.load_weights(start)
    return agent


def _evaluations(job: Job, agent: "ACER", logger: Logger, seed: int, folder: Path) -> Evaluations:
    evaluation, environment = job.evaluation, job.environment

    def make_env() -> VectorEnv[Any, Any, Any]:
        return make_vec_env(
            environment.env_id,
            min(evaluation.eval_episodes, MOST_ENVS),
            num_workers=environment.num_workers,
            max_episode_frames=environment.max_episode_frames,
            env_kwargs=job.gymnasium.env_kwargs,
            vectorization=job.gymnasium.vectorization,
        )

    return Evaluations(agent, logger, make_env, evaluation, seed, folder)


def _resume(
    loop: "TrainingLoop",
    parts: Mapping[str, Part],
    run: RunFolder,
    job: Job,
    settings: Mapping[str, Any],
    goes_on: Callable[[], object],
) -> Checkpointer:
    """Resumes from the newest checkpoint, or makes the first one."""
    kept = job.checkpoints
    checkpointer = Checkpointer(
        loop,
        CheckpointStore(run.path / CHECKPOINTS, kept.keep_checkpoints, kept.keep_every, run.check),
        seed=settings["seed"],
        every=kept.checkpoint_every,
        is_exact=job.is_exact,
        settings=settings,
        origin=origin(),
        parts=parts,
        heartbeat=goes_on,
    )
    checkpointer.begin()
    return checkpointer


def _machine(env: FrameStack, actors: int) -> str:
    if actors:
        return f"{device()}; environments in {counted(actors, 'collector')}"
    workers = getattr(env.unwrapped, "num_workers", 0)
    return device() + (f"; games in {workers} process{'es' * (workers > 1)}" if workers else "")


def _learn(session: Session, goes_on: Callable[[], bool]) -> None:
    """Trains until the end or a signal; after an error, a checkpoint holds what was learned."""
    loop, checkpointer, config = session.loop, session.checkpointer, session.job.config

    def after_iteration() -> bool:
        goes_on()
        session.agent.num_timesteps = loop.steps
        session.evaluations.if_due(goes_on)  # before a checkpoint at the same step, so that it holds the result
        checkpointer.after_iteration()
        return not goes_on()

    session.evaluations.if_due(goes_on)
    try:
        loop.learn(after_iteration, end=config.total_timesteps, log_interval=config.log_interval)
    except NotFiniteError as error:
        checkpointer.save()  # first, as what was learned matters more than the batch
        batch = session.run.path / f"{NOT_FINITE}{loop.steps:012d}.npz"
        try:
            save_arrays(batch, error.batch)
            where = f"The batch is in {batch}."
        except OSError as full:
            where = f"{batch}, for the batch, cannot be written ({full.strerror})."
        raise InputError(f"after step {loop.steps:,} {error} {where}") from error
    except (EnvironmentFailedError, InputError):  # an environment's return value may also cause an InputError
        checkpointer.save()
        raise


def _write(session: Session, goes_on: Callable[[], bool]) -> None:
    """Writes the agent and then the last checkpoint, as weights matter most if there is little room."""
    session.agent.num_timesteps, file = session.loop.steps, session.run.path / MODEL

    def save_agent() -> None:
        session.run.check()
        session.agent.save(file)

    write_at_last(save_agent, file, goes_on)
    write_at_last(session.checkpointer.write, session.run.path / CHECKPOINTS, goes_on)
    write_at_last(session.evaluations.write, session.run.path / BEST, goes_on)  # until then, in the checkpoint


def watch_command(folder: Path, env: str) -> str:
    """Returns the command that shows a run's agent in environments with an id, which may name a module."""
    allowed = ["--env", env] if ":" in env else []  # files must not cause imports of modules
    return f"{program('acer_tf.enjoy')} {shlex.join([str(folder), *allowed])}"


def resume_command(folder: Path) -> str:
    """Returns this process's command line, changed so that it resumes the run in the folder."""
    words = command_line()
    has_folder = "--logdir" in " ".join(words)
    return shlex.join(resuming([*words, *([] if has_folder else ["--logdir", str(folder)])]))


def _file_logger(folder: Path, job: Job, env: FrameStack, settings: Mapping[str, Any]) -> Logger:
    curves: list[Sink] = [TensorBoardSink(folder / TENSORBOARD, frames_per_step(env), settings)]
    if job.logging.track is not None:
        curves.append(WandbSink(folder, frames_per_step(env), settings))
    return file_logger(folder, job.environment.env_id, *curves)


def _terminal_sinks(job: Job) -> Sequence[Sink]:
    config, verbose = job.config, job.logging.verbose
    if not verbose:
        return []
    replay_steps = config.buffer_size // config.nsteps * config.nsteps * job.environment.num_env
    return [*table_sinks(verbose), progress_sink(config.total_timesteps, replay_steps if config.replay_ratio else 0)]
