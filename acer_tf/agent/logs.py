"""Where the numbers of a `learn` go."""

import re
from pathlib import Path

from acer_tf.persistence.logger import Logger, Sink
from acer_tf.persistence.progress import progress_sink
from acer_tf.persistence.table import TableSink


def make_logger(verbose: int, tensorboard: Path | None, progress_bar: bool, end: int) -> Logger:
    """Makes a logger.

    Args:
        verbose: 0 prints no table.
        tensorboard: folder of the run, if wanted.
        progress_bar: whether progress is shown.
        end: agent steps at the end.
    """
    sinks: list[Sink] = [TableSink()] if verbose else []
    if tensorboard is not None:
        from acer_tf.persistence.tensorboard import TensorBoardSink

        sinks.append(TensorBoardSink(tensorboard))
    if progress_bar:
        sinks.append(progress_sink(end))
    return Logger(sinks)


def tensorboard_folder(log: str, name: str, is_new: bool) -> Path:
    """Returns `<log>/<name>_<n>`: the next that is free, or, if it is not a new run, the last there is."""
    pattern = re.compile(re.escape(name) + r"_(\d+)")
    numbers = [int(match[1]) for path in Path(log).glob("*") if (match := pattern.fullmatch(path.name))]
    last = max(numbers, default=0)
    return Path(log) / f"{name}_{last + 1 if is_new or not numbers else last}"
