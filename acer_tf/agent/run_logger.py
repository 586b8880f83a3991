"""The logger of a `learn`: the table, the files of its run folder, progress."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gymnasium.vector import VectorEnv

from acer_tf.agent.settings import Settings, to_plain
from acer_tf.envs.atari.pool import frames_per_step
from acer_tf.envs.ids import env_id
from acer_tf.errors import InputError
from acer_tf.logs.files import file_logger
from acer_tf.logs.logger import Logger
from acer_tf.logs.tensorboard import TensorBoardSink
from acer_tf.logs.terminal import progress_sink, table_sinks
from acer_tf.storage.lock import locked


@contextlib.contextmanager
def open_logger(
    settings: Settings, folder: Path | None, env: VectorEnv[Any, Any, Any], progress_bar: bool, end: int
) -> Iterator[Logger]:
    """Yields a logger, and closes it; files in the folder of the run go on, and `end` is in agent steps.

    Raises:
        InputError: another process writes to the folder, or it cannot be written.
    """
    with contextlib.ExitStack() as stack:
        sinks = table_sinks(settings.verbose)
        if folder is not None:
            stack.enter_context(locked(folder))
            shown = {"env": env_id(env), **to_plain(settings)}
            files = file_logger(folder, env_id(env), TensorBoardSink(folder, frames_per_step(env), shown))
            there = {path.name: path.stat().st_size for path in folder.iterdir()}
            files.load_state_dict(there | {f"{folder.name}/{name}": size for name, size in there.items()})
            sinks.append(files)
        if progress_bar:
            sinks.append(progress_sink(end))
        yield stack.enter_context(contextlib.closing(Logger(sinks)))


def log_folder(log: str | Path, name: str, is_new: bool, earlier: Path | None = None) -> Path:
    """Returns `<log>/<name>_<n>`: for a new run one that it makes, with the next number.

    Args:
        log: folder of all runs.
        name: of the run.
        is_new: whether it is a new run; else it goes on in `earlier`, or in the last folder there is.
        earlier: the agent's own folder, if it has one.

    Raises:
        InputError: it cannot be made.
    """
    pattern = re.compile(re.escape(name) + r"_(\d+)")
    folders = {int(match[1]): path for path in Path(log).glob("*") if (match := pattern.fullmatch(path.name))}
    if folders and not is_new:
        return earlier if earlier is not None and earlier in folders.values() else folders[max(folders)]
    try:
        return _made(Path(log) / name, max(folders, default=0) + 1)
    except OSError as error:
        raise InputError(f"{log} cannot be written ({error.strerror}); choose another tensorboard_log.") from error


def _made(path: Path, number: int) -> Path:
    """Makes `<path>_<number>`, or with the next number that is free: agents in other processes take theirs too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        folder = path.with_name(f"{path.name}_{number}")
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1
