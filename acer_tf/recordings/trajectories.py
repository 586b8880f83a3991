"""Compares a recorded run: given its on-policy segments, our loop must reproduce everything else."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.acer import TrainingLoop
from acer_tf.buffer import Buffer
from acer_tf.config import Config
from acer_tf.logs.logger import Logger
from acer_tf.model import Model
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.recordings import replica
from acer_tf.recordings.comparison import ARRAY, DOUBLE, DRIFT, EXACT, SCALAR, Quantity
from acer_tf.recordings.recorded import Recorded
from acer_tf.recordings.scripted import NotedRandom
from acer_tf.segment import Episode, Segment

BATCH = ("obs", "actions", "rewards", "mus", "dones", "masks")
UPDATE = {
    "batch/from_replay": EXACT,
    "batch/replay_idx": EXACT,
    "batch/steps": EXACT,
    "batch/lr": DOUBLE,
    **{f"batch/{name}": EXACT for name in BATCH},
    "param_l2": SCALAR,
    "ema_l2": SCALAR,
}
"""Inputs and results of each update: the loop's decisions, the batch, and the norms of parameters and averages."""
REPRODUCIBLE = "init_reproduced_by_np_seed_in_param_order"


class RecordedRunner:
    """A substitute for `Runner` that returns the recorded on-policy segments; those in `left` are still to come."""

    def __init__(self, recorded: Recorded) -> None:
        self.episodes: list[Episode] = []
        self.current: Segment | None = None
        self.first_env = 0
        self.dropped: list[tuple[int, Segment]] = []
        calls = np.flatnonzero(~recorded["batch/from_replay"])
        self.left = [replica.segment(recorded, call) for call in calls.tolist()]

    def run(self) -> Segment:
        """Returns the next segment."""
        self.current = self.left.pop(0)
        return self.current

    def metrics(self) -> dict[str, float]:
        """Returns no metrics."""
        return {}


class WatchedModel(Model):
    """A model that reports each update to `on_update` and ignores updates beyond the recorded ones."""

    def __init__(self, policy: CategoricalPolicy, config: Config, calls: int) -> None:
        super().__init__(policy, config, seed=0)
        self.calls_left = calls
        self.on_update: Callable[[Segment, float, dict[str, float]], None]

    def train(self, segment: Segment, lr: float) -> None:
        """Trains on a segment and calls `on_update`."""
        if self.calls_left == 0:
            return
        self.calls_left -= 1
        report = self.report(segment)
        super().train(segment, lr)
        self.on_update(segment, lr, report)

    def train_many(self, segments: Sequence[Segment], lr: float) -> None:
        """Trains on each segment in turn."""
        for segment in segments:
            self.train(segment, lr)


def compare_trajectory(recorded: Recorded) -> list[Quantity]:
    """Compares a run from the recorded seed of numpy's stream, which determines weights, replay counts and slots."""
    rng = NotedRandom(recorded.setting("seed"))
    calls = len(recorded["batch/from_replay"])
    model = WatchedModel(replica.policy(recorded, rng), replica.config(recorded), calls)
    if misfits := replica.misfits(recorded, model.params):
        return misfits
    quantities = [*_initial_weights(recorded, model)]
    replica.load(recorded, "param", model.params)
    replica.load(recorded, "param", model.averages)

    runner = RecordedRunner(recorded)
    buffer = Buffer(model.config.nsteps, model.config.buffer_size)
    acer = TrainingLoop(recorded.setting("nenvs"), runner, model, buffer, rng, Logger())  # type: ignore[arg-type]
    updates: list[dict[str, Any]] = []
    reports: list[dict[str, float]] = []
    drawn = iter(rng.drawn)  # still grows: segments are drawn before they are trained on

    def note(segment: Segment, lr: float, report: dict[str, float]) -> None:
        is_replay = segment is not runner.current
        update: dict[str, Any] = {f"batch/{name}": _flat(getattr(segment, name)) for name in BATCH}
        update["batch/from_replay"] = is_replay
        update["batch/replay_idx"] = next(drawn) if is_replay else np.full(len(segment.actions), -1)
        update["batch/steps"] = acer.steps
        update["batch/lr"] = lr
        update["param_l2"] = _norms(model.params)
        update["ema_l2"] = _norms(model.averages)
        updates.append(update)
        reports.append(report)
        quantities.extend(replica.per_parameter(recorded, f"param_{len(updates)}", model.params, DRIFT))

    model.on_update = note
    acer.learn(lambda: not runner.left or model.calls_left == 0)
    return [
        *quantities,
        *(measure(name, [update[name] for update in updates], recorded[name]) for name, measure in UPDATE.items()),
        *replica.metrics(recorded, reports),
        *replica.per_parameter(recorded, "param_N", model.params, DRIFT),
        *replica.per_parameter(recorded, "ema_N", model.averages, SCALAR),
        *replica.per_parameter(recorded, "rms_N", model.optimizer.mean_squares, ARRAY),
    ]


def _initial_weights(recorded: Recorded, model: Model) -> Iterator[Quantity]:
    if np.all(recorded.settings([REPRODUCIBLE]).get(REPRODUCIBLE, False)):
        for name, ours in zip(recorded.setting("params"), model.params, strict=True):
            array = recorded[f"param/{name}"]
            yield EXACT(f"param/{name}", ours.numpy().reshape(array.shape), array)


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """Turns [N, T, ...] into [N * T, ...]."""
    return array.reshape(-1, *array.shape[2:])


def _norms(variables: Sequence[tf.Variable]) -> list[float]:
    return [float(np.linalg.norm(variable.numpy())) for variable in variables]
