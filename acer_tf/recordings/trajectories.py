"""Compares a recorded run: given its on-policy segments, our loop must reproduce everything else."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.acer import TrainingLoop
from acer_tf.buffer import Buffer
from acer_tf.config import Config
from acer_tf.logs.logger import Logger
from acer_tf.model import Model
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.recordings import replica
from acer_tf.recordings.comparison import ARRAY, DOUBLE, DRIFT, SCALAR, Quantity, absolute, exact, relative, scalar
from acer_tf.recordings.recorded import Recorded
from acer_tf.recordings.scripted import NotedRandom
from acer_tf.segment import Episode, Segment

BATCH = ("obs", "actions", "rewards", "mus", "dones", "masks")
REPRODUCIBLE = "init_reproduced_by_np_seed_in_param_order"


class Update(NamedTuple):
    """Inputs and results of one update.

    Attributes:
        steps: the loop's agent steps.
        lr: learning rate.
        slots: [N] int64, slots drawn from the buffer; -1 on-policy.
        report: the model's metrics.
        batch_errors: error of each array of the batch.
        param_l2: norm of each parameter after the update.
        ema_l2: norm of each average after the update.
    """

    steps: int
    lr: float
    slots: NDArray[np.int64]
    report: dict[str, float]
    batch_errors: list[float]
    param_l2: list[float]
    ema_l2: list[float]


class RecordedRunner:
    """A substitute for `Runner` that returns the recorded on-policy segments."""

    def __init__(self, recorded: Recorded) -> None:
        self.episodes: list[Episode] = []
        self.current: Segment | None = None
        self.first_env = 0
        calls = np.flatnonzero(~recorded["batch/from_replay"])
        self._segments = [replica.segment(recorded, int(call)) for call in calls]

    @property
    def is_done(self) -> bool:
        """True once all segments have been returned."""
        return not self._segments

    def run(self) -> Segment:
        """Returns the next segment."""
        self.current = self._segments.pop(0)
        return self.current

    def metrics(self) -> dict[str, float]:
        """Returns no metrics."""
        return {}


class WatchedModel(Model):
    """A model that reports each update to `on_update`, and ignores updates beyond the recorded ones."""

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
    quantities = _initial_weights(recorded, model)
    replica.load(recorded, "param", model.params)
    replica.load(recorded, "param", model.averages)

    runner = RecordedRunner(recorded)
    buffer = Buffer(model.config.nsteps, model.config.buffer_size)
    acer = TrainingLoop(recorded.setting("nenvs"), runner, model, buffer, rng, Logger())  # type: ignore[arg-type]
    updates: list[Update] = []
    drawn = iter(rng.drawn)  # which still grows: segments are drawn before they are trained on

    def note(segment: Segment, lr: float, report: dict[str, float]) -> None:
        call, is_replay = len(updates), segment is not runner.current
        slots = next(drawn) if is_replay else np.full(len(segment.actions), -1)
        norms = [[float(np.linalg.norm(v.numpy())) for v in group] for group in (model.params, model.averages)]
        updates.append(Update(acer.steps, lr, slots, report, _batch_errors(recorded, call, segment), *norms))
        quantities.extend(_snapshot(recorded, model, f"param_{call + 1}"))

    model.on_update = note
    acer.learn(lambda: runner.is_done or model.calls_left == 0)
    return quantities + _loop(recorded, updates) + _metrics(recorded, updates) + _final(recorded, model)


def _initial_weights(recorded: Recorded, model: Model) -> list[Quantity]:
    if not np.all(recorded.settings([REPRODUCIBLE]).get(REPRODUCIBLE, False)):
        return []
    pairs = zip(recorded.setting("params"), model.params, strict=True)
    return [
        Quantity(f"param/{name}", exact(ours.numpy().reshape(array.shape), array), 0.0)
        for name, ours in pairs
        for array in [recorded[f"param/{name}"]]
    ]


def _batch_errors(recorded: Recorded, call: int, segment: Segment) -> list[float]:
    errors = []
    for name in BATCH:
        array: NDArray[Any] = getattr(segment, name)
        errors.append(exact(array.reshape(-1, *array.shape[2:]), recorded[f"batch/{name}"][call]))
    return errors


def _snapshot(recorded: Recorded, model: Model, group: str) -> list[Quantity]:
    return [
        Quantity(f"{group}/{name}", max(absolute(*pair) for pair in pairs), DRIFT)
        for name, variable in zip(recorded.setting("params"), model.params, strict=True)
        if (pairs := recorded.matches(group, name, variable.numpy()))
    ]


def _loop(recorded: Recorded, updates: list[Update]) -> list[Quantity]:
    """Compares the loop's decisions: when to replay, which slots, which learning rate."""
    steps = np.array([update.steps for update in updates])
    slots = np.array([update.slots for update in updates])
    from_replay = slots[..., 0] >= 0 if updates else slots
    batch_errors = zip(BATCH, np.array([update.batch_errors for update in updates]).T, strict=True)
    return [
        Quantity("batch/from_replay", exact(from_replay, recorded["batch/from_replay"]), 0.0),
        Quantity("batch/replay_idx", exact(slots, recorded["batch/replay_idx"]), 0.0),
        Quantity("batch/steps", exact(steps, recorded["batch/steps"]), 0.0),
        Quantity("batch/lr", relative([update.lr for update in updates], recorded["batch/lr"]), DOUBLE),
        *(Quantity(f"batch/{name}", float(errors.max()), 0.0) for name, errors in batch_errors),
    ]


def _metrics(recorded: Recorded, updates: list[Update]) -> list[Quantity]:
    param_l2 = [update.param_l2 for update in updates]
    ema_l2 = [update.ema_l2 for update in updates]
    columns = zip(map(str, recorded["log_names"]), recorded["log"].T, strict=True)
    return [
        Quantity("param_l2", scalar(param_l2, recorded["param_l2"]), SCALAR),
        Quantity("ema_l2", scalar(ema_l2, recorded["ema_l2"]), SCALAR),
        *(
            Quantity(f"log/{name}", scalar([update.report.get(name, np.nan) for update in updates], column), SCALAR)
            for name, column in columns
        ),
    ]


def _final(recorded: Recorded, model: Model) -> list[Quantity]:
    names = recorded.setting("params")
    averages = [
        Quantity(f"ema_N/{name}", max(scalar(*pair) for pair in pairs), SCALAR)
        for name, variable in zip(names, model.averages, strict=True)
        if (pairs := recorded.matches("ema_N", name, variable.numpy()))
    ]
    slots = [variable.numpy() for variable in model.optimizer.mean_squares]
    return _snapshot(recorded, model, "param_N") + averages + replica.per_parameter(recorded, "rms_N", slots, ARRAY)
