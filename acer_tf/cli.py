"""What the commands share: flags from dataclasses, one-line errors, and a training run from start to saved weights."""

import contextlib
import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import tyro

from acer_tf.buffer import check_memory
from acer_tf.config import CONTINUOUS, Config, Continuous
from acer_tf.envs.env_ids import check_env_id
from acer_tf.envs.make import make_vec_env
from acer_tf.envs.normalize import normalizer_of
from acer_tf.errors import InputError, nearest
from acer_tf.maths.schedules import SCHEDULES
from acer_tf.networks.names import NETWORKS
from acer_tf.persistence.arrays import save_arrays
from acer_tf.persistence.episode_files import EpisodesSink, MonitorSink
from acer_tf.persistence.logger import Logger
from acer_tf.persistence.progress import progress_sink
from acer_tf.persistence.run_folder import STATISTICS, default_run_folder, run_folder
from acer_tf.persistence.statistics import StatisticsSink
from acer_tf.persistence.table import TableSink
from acer_tf.training.interrupt import stop_on_interrupt

BAD_INPUT = 2
INTERRUPTED = 130

Flags = TypeVar("Flags")


@dataclasses.dataclass(frozen=True)
class Hyperparameters(Config):
    """Hyper-parameters of ACER."""

    total_timesteps: Annotated[int, tyro.conf.arg(name="num_timesteps")] = int(1e6)
    """Agent steps of the whole run, over all environments."""
    lrschedule: Annotated[str, tyro.conf.arg(help=f"Course of the learning rate: {', '.join(SCHEDULES)}.")] = "linear"

    def __post_init__(self) -> None:
        """Leaves the checks to `config`: an error raised while flags are read would get tyro's form, not ours."""

    def config(self) -> Config:
        """Returns the checked hyper-parameters.

        Raises:
            InputError: a value that cannot work.
        """
        return Config(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Config)})


@dataclasses.dataclass(frozen=True)
class TrainFlags:
    """The flags of every training command."""

    env: str
    """Environment id."""
    num_env: int = 1
    """Environments that run side by side."""
    seed: int | None = None
    """Seed of environments, weights and sampling; None draws one."""
    logdir: Path | None = None
    """Folder of the run; None makes runs/<env>-<date>-<time>."""
    load_path: Path | None = None
    """Weights to start from, as an earlier run saved them."""
    num_workers: int | None = None
    """Processes that run Atari games; None takes one per core, 0 none."""
    max_episode_frames: int = 108000
    """Longest Atari game, in raw frames (four per agent step); 0 sets no limit."""
    hyperparameters: Hyperparameters = Hyperparameters()


def _count(text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (value.is_integer() and value >= 0):
        raise ValueError(f"expected a whole number >= 0, such as 16 or 1e6, got '{text}'.")
    return int(text) if text.isdecimal() else int(value)


def _count_rule(info: tyro.constructors.PrimitiveTypeInfo) -> tyro.constructors.PrimitiveConstructorSpec[int] | None:
    if info.type is not int:
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: _count(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    )


def parse(command: str, flags: type[Flags], argv: Sequence[str]) -> Flags:
    """Reads flags into a dataclass; whole numbers may be written as 1e6, names with underscores or hyphens.

    Args:
        command: the module that is run, for the help.
        flags: the dataclass.
        argv: the words after the command.

    Raises:
        SystemExit: help was asked for (status 0), or a flag is unknown or its value is of the wrong kind (status 2);
            the reason is on standard error.
    """
    parsed: Flags = tyro.cli(flags, args=list(argv), **_tyro_settings(command))
    return parsed


def parse_known(command: str, flags: type[Flags], argv: Sequence[str]) -> tuple[Flags, list[str]]:
    """Like `parse`, but hands back what it does not know."""
    return tyro.cli(flags, args=list(argv), return_unknown_args=True, **_tyro_settings(command))


def _tyro_settings(command: str) -> dict[str, Any]:
    registry = tyro.constructors.ConstructorRegistry()
    registry.primitive_rule(_count_rule)
    return {
        "prog": f"python -m {command}",
        "registry": registry,
        "use_underscores": True,
        "config": (tyro.conf.OmitArgPrefixes,),
    }


def guarded(main: Callable[[Sequence[str]], int]) -> Callable[[Sequence[str]], int]:
    """Makes `main` answer bad input with one line on standard error and status 2, an interrupt with status 130."""

    @functools.wraps(main)
    def wrapper(argv: Sequence[str]) -> int:
        try:
            return main(argv)
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            return BAD_INPUT
        except KeyboardInterrupt:
            print("interrupted; no weights saved", file=sys.stderr)
            return INTERRUPTED

    return wrapper


def train(
    flags: TrainFlags,
    network: str,
    network_kwargs: Mapping[str, Any],
    env_kwargs: Mapping[str, Any] = MappingProxyType({}),
    continuous: Continuous = CONTINUOUS,
) -> int:
    """Trains, with logs and final weights in the run folder; returns the exit status.

    Args:
        flags: those of every training command.
        network: name of the network.
        network_kwargs: its arguments.
        env_kwargs: further arguments of `make_vec_env`.
        continuous: settings that only continuous actions have.

    Raises:
        InputError: an argument cannot work; found before TensorFlow is imported where that is possible.
    """
    check_env_id(flags.env)
    if network not in NETWORKS:
        raise InputError(
            f"network '{network}' does not exist; the nearest are {', '.join(nearest(network, NETWORKS))}."
        )
    if flags.load_path is not None and not flags.load_path.is_file():
        raise InputError(f"load_path {flags.load_path} is no file; expected weights such as <run folder>/model.npz.")
    hyper = dataclasses.asdict(flags.hyperparameters.config())
    settings = {**_plain(flags), **env_kwargs, "network": network, **network_kwargs, **hyper}
    settings |= dataclasses.asdict(continuous)
    with contextlib.ExitStack() as stack:
        stopped = stack.enter_context(stop_on_interrupt())
        env = make_vec_env(
            flags.env,
            flags.num_env,
            num_workers=flags.num_workers,
            max_episode_frames=flags.max_episode_frames,
            **env_kwargs,
        )
        stack.callback(env.close)
        check_memory(env, flags.hyperparameters)
        folder = stack.enter_context(run_folder(flags.logdir or default_run_folder(flags.env), settings))
        logger = stack.enter_context(contextlib.closing(_logger(folder, flags)))
        print(f"training on {flags.num_env} x {flags.env}; run folder: {folder}", flush=True)

        # Otherwise TensorFlow's C++ part greets with hints about this machine.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        from acer_tf.acer import learn

        if taken := network_kwargs.keys() & inspect.signature(learn).parameters.keys():
            raise InputError(f"--{min(taken)} is no flag of this command; --help shows all.")
        model = learn(
            network,
            env,
            seed=flags.seed,
            load_path=flags.load_path,
            logger=logger,
            should_stop=stopped,
            continuous=continuous,
            **hyper,
            **network_kwargs,
        )
        weights = folder / "model.npz"
        model.save(weights)
        if (normalizer := normalizer_of(env)) is not None:
            save_arrays(folder / "observations.npz", normalizer.state_dict())
    print(f"{'interrupted' if stopped() else 'done'}; weights: {weights}")
    return INTERRUPTED if stopped() else 0


def _plain(flags: TrainFlags) -> dict[str, Any]:
    values = {field.name: getattr(flags, field.name) for field in dataclasses.fields(TrainFlags)}
    del values["hyperparameters"]
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def _logger(folder: Path, flags: TrainFlags) -> Logger:
    return Logger(
        [
            StatisticsSink(folder / STATISTICS),
            MonitorSink(folder / "monitor.csv", flags.env),
            EpisodesSink(folder / "episodes.csv"),
            TableSink(),
            progress_sink(flags.hyperparameters.total_timesteps),
        ]
    )
