"""Trackers of experiments, which get the curves and settings of a run: Weights & Biases and MLflow."""

import importlib.util
import logging
import os
import secrets
import time

from acer_tf.errors import InputError
from acer_tf.logs.tracker import Points, TrackerSink

PROJECT = "acer_tf"
"""Default project of wandb and experiment of mlflow."""
MLFLOW_BATCH = 1000
"""Most metrics that mlflow takes at once."""


class WandbSink(TrackerSink):
    """Tracks with wandb: offline unless WANDB_MODE is set, in the run folder unless WANDB_DIR is."""

    def _start(self) -> None:
        os.environ.setdefault("WANDB_MODE", "offline")
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # else its own errors are sent, also offline
        import wandb

        if not self._id_file.exists():
            self._id_file.write_text(secrets.token_hex(4), encoding="utf-8")
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            dir=os.environ.get("WANDB_DIR", self._folder),
            name=self._folder.name,
            id=self._id_file.read_text(encoding="utf-8"),
            resume="allow",
            config=self._settings,
            allow_val_change=True,
            settings=wandb.Settings(silent=True, console="off"),
        )

    def _log(self, points: Points) -> None:
        for steps, values in points:
            self._run.log(dict(values), step=steps)

    def _finish(self) -> None:
        self._run.finish()

    def _abandon(self) -> None:
        import wandb

        wandb.teardown()  # else it prints a traceback when the process ends


class MlflowSink(TrackerSink):
    """Tracks with mlflow: in a database in the run folder unless MLFLOW_TRACKING_URI is set."""

    def _start(self) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # training waits for them
        from mlflow import MlflowClient
        from mlflow.entities import Param

        for logger in ("mlflow", "alembic"):
            logging.getLogger(logger).setLevel(logging.WARNING)
        self._client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI", f"sqlite:///{self._folder}/mlflow.db"))
        if self._id_file.exists():
            self._id = self._id_file.read_text(encoding="utf-8")
            self._client.update_run(self._id, "RUNNING")
            return
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        experiment = self._client.get_experiment_by_name(name)
        number = self._client.create_experiment(name) if experiment is None else experiment.experiment_id
        self._id = self._client.create_run(number, run_name=self._folder.name).info.run_id
        self._client.log_batch(self._id, params=[Param(key, str(value)) for key, value in self._settings.items()])
        self._id_file.write_text(self._id, encoding="utf-8")

    def _log(self, points: Points) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(name, value, now, steps) for steps, values in points for name, value in values.items()]
        for start in range(0, len(metrics), MLFLOW_BATCH):
            self._client.log_batch(self._id, metrics[start : start + MLFLOW_BATCH])

    def _finish(self) -> None:
        self._client.set_terminated(self._id)


SINKS: dict[str, type[TrackerSink]] = {"wandb": WandbSink, "mlflow": MlflowSink}
MODULES = {"wandb": ("wandb",), "mlflow": ("mlflow", "sqlalchemy", "alembic")}
"""What must be installed for each."""


def require_tracker(name: str) -> None:
    """Checks that what a tracker needs is installed.

    Raises:
        InputError: it is not.
    """
    found = map(importlib.util.find_spec, MODULES[name])
    if any(spec is None or spec.origin is None for spec in found):  # a mere folder of the name has no origin
        raise InputError(f"--track {name} needs packages that are missing; install: pip install -e '.[{name}]'.")
