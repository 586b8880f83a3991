"""Event files for TensorBoard: every row of metrics, and whole episodes, against agent steps."""

import io
import math
import re
import statistics
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from acer_tf.logs.files import FileSink
from acer_tf.logs.logger import Sink, is_spaced
from acer_tf.logs.metrics import full_name
from acer_tf.segment import Episode
from acer_tf.storage.paths import path_text
from acer_tf.storage.run_files import EVENTS
from acer_tf.system.console import say
from acer_tf.system.links import without_links

Encode = Callable[..., bytes]


class CurveSink(Sink):
    """Turns rows of metrics, whole episodes and evaluations into points of curves, which subclasses write.

    It leaves out numbers that are not finite. It collects episodes, one point per iteration, until the next row; points
    are spaced like rows.
    """

    def __init__(self, frames_per_step: int | None = None) -> None:
        """Writes nothing yet.

        Args:
            frames_per_step: raw frames per agent step, for Atari games; None writes no frames.
        """
        self._frames_per_step = frames_per_step
        self._ended: list[Episode] = []
        self._steps = self._point_at = 0

    def add(self, steps: int, values: Mapping[str, float]) -> None:
        """Collects one point of each curve, under its full name, at these agent steps."""
        raise NotImplementedError

    def write_points(self) -> None:
        """Writes the points collected since the last call."""
        raise NotImplementedError

    def write(self, values: Mapping[str, float]) -> None:
        """Writes one row, whose `total_timesteps` is its place on the x axis, and the episodes collected before it."""
        steps = int(values["total_timesteps"])
        frames = {} if self._frames_per_step is None else {"frames": self._frames_per_step * steps}
        self._add_finite(steps, {**values, **frames})
        self.write_points()

    def episodes(self, episodes: Sequence[Episode]) -> None:
        """Collects the episodes of an iteration."""
        self._ended.extend(episodes)

    def progress(self, steps: int) -> None:
        """Makes a point from the mean return and length of the episodes since the last one."""
        self._steps = steps
        if is_spaced(self._point_at, steps):
            self._point_of_episodes()

    def evaluation(self, steps: int, values: Mapping[str, float]) -> None:
        """Writes the numbers of an evaluation, whose names begin with eval/."""
        self._add_finite(steps, {f"eval/{name}": value for name, value in values.items()})
        self.write_points()

    def state_dict(self) -> dict[str, Any]:
        """Writes the points; returns the step of the last point of episodes, and the episodes since."""
        self.write_points()
        return {"point_at": self._point_at, "ended": [list(episode) for episode in self._ended]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what `state_dict` returned."""
        self._steps = self._point_at = state.get("point_at", 0)
        self._ended = [Episode(*episode) for episode in state.get("ended", ())]

    def close(self) -> None:
        """Writes the episodes since the last row; may be called again."""
        self._point_of_episodes()
        self.write_points()

    def _point_of_episodes(self) -> None:
        if not self._ended:
            return
        self._point_at = self._steps
        mean_return = statistics.fmean(episode.r for episode in self._ended)
        mean_length = statistics.fmean(episode.l for episode in self._ended)
        self._add_finite(self._steps, {"episode_return": mean_return, "episode_length": mean_length})
        self._ended.clear()

    def _add_finite(self, steps: int, values: Mapping[str, float]) -> None:
        self.add(steps, {full_name(name): float(value) for name, value in values.items() if math.isfinite(value)})


class TensorBoardSink(CurveSink):
    """Writes event files to a folder, a new one whenever a run begins or resumes.

    Without the package tensorboard, it prints one line and writes nothing.
    """

    def __init__(
        self, folder: Path, frames_per_step: int | None = None, settings: Mapping[str, Any] | None = None
    ) -> None:
        """Writes nothing yet.

        Args:
            folder: folder for the event files; the first row creates it.
            frames_per_step: see `CurveSink`.
            settings: the run's plain values, for TensorBoard's tables of hyper-parameters and texts, which need
                TensorFlow. None writes none.
        """
        super().__init__(frames_per_step)
        self._folder = folder
        self._settings = settings
        self._encode = _encoder()
        self._file: FileSink | None = None
        self._earlier: dict[str, int] = {}
        self._pending = b""
        self._is_told = False

    def add(self, steps: int, values: Mapping[str, float]) -> None:
        """Encodes one point of each curve."""
        if self._encode is not None:
            self._pending += self._encode(step=steps, values=values)

    def write_points(self) -> None:
        """Writes the points to the event file; the first ones create it."""
        points, self._pending = self._pending, b""
        if not points:
            return
        try:
            self._file = self._file or self._begun()
            self._file.append(points)
        except OSError as error:
            self._tell(error)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state of `CurveSink`, and the sizes of all event files, named after the folder."""
        state = super().state_dict()
        own = {} if self._file is None else self._file.state_dict()
        return state | self._earlier | {self._name(name): size for name, size in own.items() if isinstance(size, int)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Drops what was written after `state_dict`; the next row begins a new file, so that TensorBoard sees it."""
        super().load_state_dict(state)
        own = re.compile(re.escape(self._name(EVENTS)) + r"\d{6}")  # not files of other writers to the folder
        self._earlier = {name: size for name, size in state.items() if own.fullmatch(name)}
        try:
            for path in self._paths():
                if size := self._earlier.get(self._name(path.name)):
                    with open(path, "r+b", opener=without_links) as file:
                        file.truncate(min(size, path.stat().st_size))
                else:
                    path.unlink()
        except OSError as error:
            self._tell(error)

    def close(self) -> None:
        """Writes the episodes since the last row, and closes the file; may be called again."""
        super().close()
        if self._file is not None:
            self._file.close()

    def _begun(self) -> FileSink:
        assert self._encode is not None
        names = {*self._earlier, *(path.name for path in self._paths())}
        number = max((int(name.rpartition(".")[2]) + 1 for name in names), default=0)
        about = b"" if number or self._settings is None else self._encode(summary=described(self._settings))
        return FileSink(self._folder / f"{EVENTS}{number:06d}", self._encode(file_version="brain.Event:2") + about)

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob(f"{EVENTS}{'[0-9]' * 6}"))

    def _name(self, name: str) -> str:
        return f"{self._folder.name}/{name}"

    def _tell(self, error: OSError) -> None:
        """Warns once that curves are incomplete."""
        if not self._is_told:
            say(f"curves in {self._folder} are incomplete ({error.strerror}); training goes on.", is_error=True)
        self._is_told = True


def described(settings: Mapping[str, Any]) -> Any:
    """Returns settings as a summary: hyper-parameters for TensorBoard's table of runs, and a text, `config`."""
    from tensorboard.plugins.hparams.summary_v2 import hparams_pb
    from tensorboard.plugins.text.summary_v2 import text_pb

    plain = {
        name: value if isinstance(value, bool | int | float) else path_text(value) for name, value in settings.items()
    }
    summary = hparams_pb(plain)
    text = yaml.safe_dump(dict(settings), sort_keys=False)  # escapes what is not valid UTF-8, such as parts of paths
    summary.MergeFrom(text_pb("config", textwrap.indent(text, "    ")))  # code, in Markdown
    return summary


def _encoder() -> Encode | None:
    """Returns a function that encodes values by name and other fields of an event as a record of an event file."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter
    except ImportError:
        say("no curves for TensorBoard are written; they need: pip install tensorboard", is_error=True)
        return None

    def encode(values: Mapping[str, float] | None = None, **fields: Any) -> bytes:
        record = io.BytesIO()
        if values is not None:
            curves = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
            fields["summary"] = Summary(value=curves)
        event = Event(wall_time=time.time(), **fields)
        RecordWriter(record).write(event.SerializeToString())
        return record.getvalue()

    return encode
