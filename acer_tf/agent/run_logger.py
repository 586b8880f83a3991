"""The logger of a call of `learn`: the table, the files in its run folder, and progress."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gymnasium.vector import VectorEnv

from acer_tf.agent.settings import Settings, to_plain
from acer_tf.envs.atari.pool import frames_per_step
from acer_tf.envs.ids import env_id
from acer_tf.logs.files import file_logger
from acer_tf.logs.logger import Logger, Sink
from acer_tf.logs.tensorboard import TensorBoardSink
from acer_tf.logs.terminal import progress_sink, table_sinks
from acer_tf.segment import Episode
from acer_tf.storage.durable import writing
from acer_tf.storage.lock import locked
from acer_tf.storage.paths import user_path
from acer_tf.storage.run_files import MONITOR


class LaterLogger(Logger):
    """A logger whose episodes are timed from the start of training, not of the current process."""

    def __init__(self, sinks: Iterable[Sink], seconds_before: float) -> None:
        super().__init__(sinks)
        self._seconds_before = seconds_before

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Passes episodes on."""
        super().episodes([episode._replace(t=self._seconds_before + episode.t) for episode in episodes])


@contextlib.contextmanager
def open_logger(
    settings: Settings,
    folder: Path | None,
    env: VectorEnv[Any, Any, Any],
    progress_bar: bool,
    end: int,
    seconds_before: float,
) -> Iterator[Logger]:
    """Yields a logger, and closes it; existing files in the run folder are continued.

    Args:
        settings: the agent's settings.
        folder: run folder; None writes no files.
        env: training environments.
        progress_bar: whether to show progress.
        end: agent steps at the end.
        seconds_before: wall time of earlier training, which the clock of episodes does not include.

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
        yield stack.enter_context(contextlib.closing(LaterLogger(sinks, seconds_before)))


def seconds_in(folder: Path) -> float:
    """Returns `t` of the last episode in a run's files, or 0 without one."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        *_, last = (folder / MONITOR).read_text(encoding="utf-8").splitlines()
        return float(last.split(",")[2])
    return 0.0


def log_folder(log: str | Path, name: str, is_new: bool, earlier: Path | None = None) -> Path:
    """Returns `<log>/<name>_<n>`; for a new run, it makes the folder, with the next number.

    Args:
        log: folder of all runs.
        name: name of the run.
        is_new: whether this is a new run; otherwise it continues in `earlier`, or else in the last folder.
        earlier: the agent's own folder, if it has one.

    Raises:
        InputError: the folder cannot be made.
    """
    first = user_path(log) / f"{name}_1"  # the name may have folders of its own
    stem = first.name.removesuffix("1")
    pattern = re.compile(re.escape(stem) + r"(\d+)")
    folders = {int(match[1]): path for path in first.parent.glob("*") if (match := pattern.fullmatch(path.name))}
    if folders and not is_new:
        return earlier if earlier is not None and earlier in folders.values() else folders[max(folders)]
    with writing(Path(log), "tensorboard_log"):
        return _made(first.parent, stem, max(folders, default=0) + 1)


def _made(parent: Path, stem: str, number: int) -> Path:
    """Makes a folder with this number or the next free one, as agents in other processes also take numbers."""
    parent.mkdir(parents=True, exist_ok=True)
    while True:
        folder = parent / f"{stem}{number}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
        number += 1
