"""Weights & Biases, an experiment tracker, which receives the curves and settings of a run."""

import contextlib
import os
import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acer_tf.logs.tensorboard import CurveSink
from acer_tf.storage.run_files import WANDB_ID
from acer_tf.system.console import say

PROJECT = "acer_tf"
"""Default project."""


class WandbSink(CurveSink):
    """Passes curves on to wandb: offline unless WANDB_MODE is set, in the run folder unless WANDB_DIR is.

    The first row starts it. A resumed run continues the same tracked run, whose id is in the run folder. If wandb
    fails, the sink prints one line of warning and stops using it.

    wandb's own synchronization with TensorBoard would not work: it watches TensorBoard's writers, but `FileSink` writes
    the event files, as it survives a full disk and truncates files when a run resumes.
    """

    def __init__(self, folder: Path, frames_per_step: int | None, settings: Mapping[str, Any]) -> None:
        """Writes nothing yet.

        Args:
            folder: run folder.
            frames_per_step: see `CurveSink`.
            settings: the run's plain values.
        """
        super().__init__(frames_per_step)
        self._folder, self._settings = folder.resolve(), dict(settings)
        self._points: defaultdict[int, dict[str, float]] = defaultdict(dict)
        self._run: Any = None
        self._is_over = False

    def add(self, steps: int, values: Mapping[str, float]) -> None:
        """Collects one point of each curve."""
        self._points[steps].update(values)

    def write_points(self) -> None:
        """Passes the points on in the order of their steps, as wandb requires."""
        points = sorted(self._points.items())
        self._points.clear()
        if not points or self._is_over:
            return
        with self._giving_up_on_errors():
            self._run = self._run or self._started()
            for steps, values in points:
                self._run.log(values, step=steps)

    def close(self) -> None:
        """Ends the tracked run; may be called again."""
        super().close()
        if self._run is not None and not self._is_over:
            with self._giving_up_on_errors():
                self._run.finish()
        self._is_over = True

    def _started(self) -> Any:
        os.environ.setdefault("WANDB_MODE", "offline")
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # else its own errors are sent, even offline
        import wandb

        id_file = self._folder / WANDB_ID
        if not id_file.exists():
            with id_file.open("x", encoding="utf-8") as file:  # never through a link
                file.write(secrets.token_hex(4))
        return wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            dir=os.environ.get("WANDB_DIR", self._folder),
            name=self._folder.name,
            id=id_file.read_text(encoding="utf-8"),
            resume="allow",
            config=self._settings,
            allow_val_change=True,
            settings=wandb.Settings(silent=True, console="off"),
        )

    @contextlib.contextmanager
    def _giving_up_on_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._is_over = True
            reason = str(error).strip().partition("\n")[0]
            say(f"wandb failed ({type(error).__name__}: {reason}); it gets no more metrics.", is_error=True)
            with contextlib.suppress(Exception):
                import wandb

                wandb.teardown()  # else it prints a traceback when the process ends
