"""ACER: one on-policy update per segment, then a random number of updates from replay (baselines, `acer/acer.py`)."""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

import numpy as np

from acer_tf.buffer import Buffer
from acer_tf.episode_stats import EpisodeStats
from acer_tf.logs.logger import Logger
from acer_tf.logs.metrics import METRICS
from acer_tf.maths.schedules import learning_rate
from acer_tf.model import Model
from acer_tf.policies.actor import Actor
from acer_tf.replay.size import FIRST_SEGMENTS, projected_bytes
from acer_tf.runner import AfterStep, TrainingStoppedError
from acer_tf.segment import Episode, Segment, joined
from acer_tf.system.console import in_bytes, say
from acer_tf.system.streams import load_stream_state, stream_state


class Callback(Protocol):
    """Callbacks invoked while a segment is collected."""

    def on_rollout_start(self) -> None:
        """Called before a segment is collected."""

    def on_step(self, step: dict[str, Any]) -> bool:
        """Called after each step of all environments; see `Runner.run`. False ends training."""

    def on_rollout_end(self) -> None:
        """Called when the segment is complete, before the updates."""


class SegmentSource(Protocol):
    """Source of segments: the `Runner`, or collectors in other processes (`acer_tf.distributed`).

    Attributes:
        episodes: complete episodes that ended during the last `run`.
        first_env: index of the last segment's first environment among the environments of all segments.
        dropped: segments that the last `run` found too stale to train on, with their `first_env`; they count only in
            the statistics.
    """

    episodes: list[Episode]
    first_env: int
    dropped: list[tuple[int, Segment]]

    def run(self, after_step: AfterStep | None = None, /) -> Segment:
        """Returns the next segment."""
        ...

    def restart(self, seed: int, is_recorded: bool) -> None:
        """Starts new episodes; see `Runner.restart`."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Returns arrays and plain values by name."""
        ...

    def load_state_dict(self, state: Mapping[str, Any], heartbeat: Callable[[], object] = lambda: None) -> bool:
        """Restores what `state_dict` returned; returns whether the environments are back where they were."""
        ...

    def metrics(self) -> dict[str, float]:
        """Returns metrics about collecting, by name."""
        ...


class RemoteSegments(NamedTuple):
    """Segments collected in other processes.

    Attributes:
        source: where the segments come from.
        collectors: number of collectors, each with its own environments.
        segments_per_update: segments that make up the batch of one update.
    """

    source: SegmentSource
    collectors: int
    segments_per_update: int


class TrainingLoop:
    """Trains a model on segments from a source and from the replay buffer: baselines' `Acer`.

    An iteration collects a segment from every environment, trains on it, stores it, and trains on segments from replay.

    Attributes:
        model: the model being trained.
        buffer: the replay buffer.
        logger: receives metrics and episodes.
        episode_stats: means over the last episodes, as the agent experiences them.
        nbatch: agent steps per iteration, over the environments of its segments.
        steps: agent steps before the current iteration.
        replay_updates: updates from replay so far.
    """

    def __init__(
        self,
        nenvs: int,
        source: SegmentSource,
        model: Model,
        buffer: Buffer,
        rng: np.random.RandomState,
        logger: Logger,
        behavior: Actor | None = None,
        is_quiet: bool = True,
        *,
        all_envs: int | None = None,
    ) -> None:
        """Combines the parts.

        Args:
            nenvs: number of environments in a segment.
            source: where segments come from.
            model: the model to train.
            buffer: the replay buffer.
            rng: draws how often to replay, and which segments.
            logger: receives metrics and episodes.
            behavior: with `overlap`, the runner's actor, which has copies of the model's parameters.
            is_quiet: does not announce the size of replay.
            all_envs: number of environments over all segments; None means `nenvs`.
        """
        self.model, self.buffer, self.logger = model, buffer, logger
        self._source, self._behavior, self._rng = source, behavior, rng
        self._collected: Future[Segment] | None = None
        self._is_quiet, self._is_size_known = is_quiet, False
        self._start = self._paused = time.monotonic()
        self.episode_stats = EpisodeStats(nenvs if all_envs is None else all_envs)
        # Baselines' nbatch: the unit in which the learning rate, logs and Poisson draws advance.
        self.nbatch = nenvs * model.config.nsteps * buffer.segments_per_update
        self.steps = self.replay_updates = self._first_step = 0
        self._last_row = (0.0, 0)  # seconds and steps
        self._end, self._log_interval = model.config.total_timesteps, model.config.log_interval
        self._callback: Callback | None = None

    @property
    def actor(self) -> Actor:
        """Actor in the environments: the model's own or, with `overlap`, the actor with the copied parameters."""
        return self._behavior or self.model.actor

    def learn(
        self,
        after_iteration: Callable[[], bool] = lambda: False,
        *,
        end: int | None = None,
        log_interval: int | None = None,
        callback: Callback | None = None,
    ) -> None:
        """Trains from `steps` to `end`, rounded up to whole iterations, or until stopped. May be called again.

        Args:
            after_iteration: called after each iteration, once `steps` includes it; True ends training.
            end: value of `steps` at which training ends; the learning rate depends on `steps / end`. None means the
                configuration's `total_timesteps`.
            log_interval: iterations between two rows of metrics; None means the configuration's.
            callback: called at every step; not supported with `overlap`, where updates run at the same time. If it ends
                training within a segment, that segment's steps count, but nothing is learned from them.

        Raises:
            InputError: replay will not fit into memory, or an observation or reward is not finite.
            EnvironmentFailedError: an environment raised an error.
        """
        assert callback is None or self._behavior is None
        config = self.model.config
        self._end = config.total_timesteps if end is None else end
        self._log_interval = config.log_interval if log_interval is None else log_interval
        self._callback = callback
        # Time between two calls does not count as training.
        self._start += time.monotonic() - self._paused
        try:
            while self.steps < self._end:
                # Baselines counts in whole batches, so the last iteration may go past `end`.
                self._iterate()
                self.steps += self.nbatch
                if after_iteration():
                    break
        except TrainingStoppedError as stopped:  # the steps count, though nothing is learned from them
            self.episode_stats.feed(stopped.rewards, stopped.dones, begins=stopped.begins)
            self._report_steps(self._source.episodes, stopped.dones.size)
            self.steps += stopped.dones.size
        finally:
            self._paused = time.monotonic()

    def count_from(self, steps: int) -> None:
        """Sets the step count and restarts the clock; nothing else changes."""
        self.steps = self._first_step = steps
        self._start = self._paused = time.monotonic()
        self._last_row = (0.0, steps)

    def restart_environments(self, seed: int, is_recorded: bool) -> None:
        """Seeds and resets all environments, abandoning episodes in progress; arguments as in `Runner.restart`."""
        self._collected = None
        self._source.restart(seed, is_recorded)
        self.episode_stats.abandon_episodes()

    def state_dict(self) -> dict[str, dict[str, Any]]:
        """Returns the state of every part except the buffer, for a loop made with the same arguments to load."""
        return {
            "loop": {
                "steps": self.steps,
                "seconds": time.monotonic() - self._start,
                "replay_updates": self.replay_updates,
            },
            "random": stream_state(self._rng),
            "model": self.model.state_dict(),
            "runner": self._source.state_dict(),
            "episode_stats": self.episode_stats.state_dict(),
            "logger": self.logger.state_dict(),
        }

    def load_state_dict(
        self, state: Mapping[str, Mapping[str, Any]], heartbeat: Callable[[], object] = lambda: None
    ) -> bool:
        """Restores what `state_dict` returned.

        Args:
            state: the result of `state_dict`.
            heartbeat: called after each step taken to bring the environments back to where they were.

        Returns:
            Whether the environments are back where they were; if not, they have to be restarted.

        Raises:
            InputError: the state is that of another network; nothing has been changed.
        """
        # The model first: the state of another network is refused before anything has been changed.
        self.model.load_state_dict(state["model"])
        self._collected = None
        is_restored = self._source.load_state_dict(state["runner"], heartbeat)
        self.episode_stats.load_state_dict(state["episode_stats"])
        self.logger.load_state_dict(state["logger"])
        load_stream_state(self._rng, state["random"])
        # Counters and clock continue where they were: rates and schedules do not see the pause.
        self.steps = state["loop"]["steps"]
        self.replay_updates = state["loop"]["replay_updates"]
        self._paused = time.monotonic()
        self._last_row = (state["loop"]["seconds"], self.steps)
        self._start = self._paused - state["loop"]["seconds"]
        return is_restored

    def _iterate(self) -> None:
        """Runs baselines' `Acer.call`: once on-policy, then from replay."""
        # Baselines logs iterations 0, log_interval, 2 log_interval, ... before counting their steps.
        is_logged = not self.logger.is_silent and self.steps // self.nbatch % self._log_interval == 0
        segments = self._collect_and_record()
        # Baselines stores before it trains, with the same result: replay below may already draw this segment.
        row = self._train_on_policy(joined(segments), is_logged)
        replay_report: dict[str, float] = {}
        # Without replay, baselines makes no buffer: nothing is stored.
        if self.model.config.replay_ratio > 0:
            for segment in segments:
                self._store(segment)
            with self._collecting_next():
                replay_report = self._replay(is_logged)
        if is_logged:
            self.logger.write(row | self._replay_columns(row, replay_report))

    def _collect_and_record(self) -> list[Segment]:
        """Returns the segments for an update; updates episode statistics and reports episodes and progress."""
        segments, episodes = list[Segment](), list[Episode]()
        for _ in range(self.buffer.segments_per_update):
            segment = self._collect()
            for first, played in (*self._source.dropped, (self._source.first_env, segment)):
                # An episode that begins with the segment discards the counts of the one before it.
                self.episode_stats.feed(played.rewards, played.dones, first, begins=played.masks[:, 0])
            episodes += self._source.episodes
            segments.append(segment)
        self._report_steps(episodes, self.nbatch)
        return segments

    def _collect(self) -> Segment:
        """Returns the next segment: the one collected during the last updates, if there is one."""
        # With `overlap` it has been collected already, with the parameters from before the last updates.
        if self._collected is not None:
            collected, self._collected = self._collected, None
            return collected.result()
        # The first segment, or the first after a restart: nothing trains meanwhile.
        if self._behavior is not None:
            self._copy_parameters(self._behavior)
        if self._callback is None:
            return self._source.run()
        self._callback.on_rollout_start()
        segment = self._source.run(self._callback.on_step)
        self._callback.on_rollout_end()
        return segment

    @contextlib.contextmanager
    def _collecting_next(self) -> Iterator[None]:
        """With `overlap`, collects the next segment in a thread while the block runs.

        `_collect` returns it, or raises what the thread raised once this iteration is complete. If an update raises, or
        on Ctrl-C, the thread ends after its current step, and what it collected is lost.
        """
        # The last iteration collects nothing: no update would use it.
        if self._behavior is None or self.steps + self.nbatch >= self._end:
            yield
            return
        self._copy_parameters(self._behavior)
        # The thread sees only this copy; updates change the model's own parameters.
        must_stop = threading.Event()
        collected = _in_a_thread(lambda: self._source.run(lambda _: not must_stop.is_set()))
        try:
            yield
            futures.wait([collected])
        except BaseException:
            must_stop.set()
            futures.wait([collected])
            raise
        self._collected = collected

    def _copy_parameters(self, behavior: Actor) -> None:
        """Copies the model's parameters to the behaviour policy, with a random stream seeded from the model's.

        Actions thus depend only on the model's state, not on the timing of the two threads.
        """
        behavior.assign(self.model.params)
        behavior.generator.reset_from_seed(self.model.draw_seed())

    def _report_steps(self, episodes: list[Episode], steps: int) -> None:
        """Reports episodes, and progress of this many agent steps."""
        self.logger.episodes(episodes)
        self.logger.progress(self.steps + steps)

    def _store(self, segment: Segment) -> None:
        """Adds a segment to replay; after the first few, checks once that the full buffer will fit into memory."""
        self.buffer.put(segment)
        # Compression is measured, not guessed: the first segments show how well frames compress.
        if self._is_size_known or self.buffer.num_in_buffer < min(FIRST_SEGMENTS, self.buffer.slots):
            return
        projected = projected_bytes(self.buffer.nbytes, self.buffer.num_in_buffer, self.buffer.slots)
        self._is_size_known = True
        if self.buffer.is_compressed and not self._is_quiet:  # uncompressed, the size was known beforehand
            say(f"replay will take {in_bytes(projected)} when full")

    def _train_on_policy(self, segment: Segment, is_logged: bool) -> dict[str, float]:
        """Updates on a new segment; if it is logged, returns the update's metrics: baselines' row, then ours."""
        updates, lr = self.model.config.on_policy_updates, self._learning_rate()
        # Metrics cost an extra backward pass; most iterations do without.
        if not is_logged:
            if updates:
                self.model.train(segment, lr)
            return {}
        report = self.model.train_and_report(segment, lr) if updates else self.model.report(segment)
        # `fps` is baselines' mean since the start, `recent_fps` the mean since the last row.
        (last_seconds, last_steps), seconds = self._last_row, time.monotonic() - self._start
        self._last_row = (seconds, self.steps)
        return {
            "total_timesteps": self.steps,
            "fps": int((self.steps - self._first_step) / seconds),
            "mean_episode_length": self.episode_stats.mean_length(),
            "mean_episode_reward": self.episode_stats.mean_reward(),
            **report,
            "learning_rate": lr,
            "recent_fps": int((self.steps - last_steps) / (seconds - last_seconds)),
            **self._source.metrics(),
        }

    def _replay(self, is_logged: bool) -> dict[str, float]:
        """Makes Poisson(replay_ratio) updates from replay; returns metrics of the first one, if it is logged."""
        config, report = self.model.config, dict[str, float]()
        # Baselines' replay_start: until then training is on-policy only, and no Poisson number is drawn.
        if not self.buffer.has_atleast(config.replay_start):
            return report
        # n ~ Poisson(replay_ratio) updates (algorithm 1), all with this iteration's learning rate.
        number, lr, before = self._rng.poisson(config.replay_ratio), self._learning_rate(), self.model.updates
        try:
            # Only the first update is reported, so the rest can go to TensorFlow in groups.
            if is_logged and number:
                report = self.model.train_and_report(self.buffer.get(self._rng), lr)
                number -= 1
            for segments in self.buffer.groups(self._rng, number):
                self.model.train_many(segments, lr)
        finally:
            self.replay_updates += self.model.updates - before
        return report

    def _replay_columns(self, row: dict[str, float], report: dict[str, float]) -> dict[str, float]:
        """Returns the same columns for every row: nan where nothing was replayed."""
        columns = {name: f"replay_{name}" for name in row if f"replay_{name}" in METRICS}
        return {
            **{column: report.get(name, math.nan) for name, column in columns.items()},
            "replay_size": self.buffer.num_in_buffer * self.nbatch // self.buffer.segments_per_update,
            "replay_updates": self.replay_updates,
        }

    def _learning_rate(self) -> float:
        config = self.model.config
        return learning_rate(config.lr, config.lrschedule, self.steps / self._end)


def _in_a_thread(collect: Callable[[], Segment]) -> Future[Segment]:
    """Calls a function in a daemon thread: unlike an executor's thread, it does not keep an ending process alive."""
    future = Future[Segment]()

    def run() -> None:
        try:
            future.set_result(collect())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="collecting", daemon=True).start()
    return future
