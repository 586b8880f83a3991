from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.random import RandomState

from acer_tf.acer import TrainingLoop
from acer_tf.buffer import Buffer
from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.episode_stats import EpisodeStats
from acer_tf.learning import make_model_and_loop
from acer_tf.logs.logger import Logger
from acer_tf.model import Model
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.runner import Runner
from acer_tf.segment import Segment
from tests.saved import assert_same_runs
from tests.sinks import RecordingSink

SMALL = {"num_layers": 1, "num_hidden": 4}
NENVS, NSTEPS = 2, 5


class RecordingModel(Model):
    """Acts, but only writes down what it is to train on."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.calls: list[tuple[str, Segment, float]] = []

    def train(self, segment: Segment, lr: float) -> None:
        self.calls.append(("train", segment, lr))

    def train_many(self, segments: Sequence[Segment], lr: float) -> None:
        for segment in segments:
            self.train(segment, lr)

    def train_and_report(self, segment: Segment, lr: float) -> dict[str, float]:
        self.calls.append(("report", segment, lr))
        return {"loss": len(self.calls)}

    def report(self, segment: Segment) -> dict[str, float]:
        return {"loss": -1.0}


def loop(
    seed: int = 0, should_stop: Callable[[], bool] = lambda: False, **config: Any
) -> tuple[RecordingModel, RecordingSink, Buffer, RandomState]:
    settings = Config(**{"nsteps": NSTEPS, "total_timesteps": 200, "replay_start": 30, "buffer_size": 50} | config)
    env = make_training_env("CartPole-v1", NENVS)
    policy = CategoricalPolicy("mlp", env.single_observation_space, env.single_action_space, RandomState(0), **SMALL)
    model, sink, rng = RecordingModel(policy, settings, seed), RecordingSink(), RandomState(seed)
    buffer = Buffer(settings.nsteps, settings.buffer_size)
    runner = Runner(env, model, settings.nsteps, seed)
    TrainingLoop(NENVS, runner, model, buffer, rng, Logger([sink])).learn(should_stop)
    return model, sink, buffer, rng


@pytest.mark.parametrize("seed", [0, 1])
def test_updates_follow_from_the_seed(seed: int) -> None:
    """On-policy, then Poisson many from replay; the learning rate is that of the steps before the iteration."""
    model, _, _, rng = loop(seed)
    expected_rng, calls, ring = RandomState(seed), iter(model.calls), {}
    for iteration in range(20):
        lr = 7e-4 * (1 - iteration * NENVS * NSTEPS / 200)
        mode, segment, actual_lr = next(calls)
        assert mode == ("report" if iteration == 0 else "train")
        np.testing.assert_allclose(actual_lr, lr, rtol=1e-12)
        ring[iteration % (50 // NSTEPS)] = segment
        if len(ring) < 30 // NSTEPS:
            continue
        for _ in range(expected_rng.poisson(4)):
            mode, replayed, actual_lr = next(calls)
            assert mode == "train"
            np.testing.assert_allclose(actual_lr, lr, rtol=1e-12)
            for env, slot in enumerate(expected_rng.randint(0, len(ring), NENVS)):
                np.testing.assert_array_equal(replayed.obs[env], ring[slot].obs[env])
                np.testing.assert_array_equal(replayed.rewards[env], ring[slot].rewards[env])
    assert next(calls, None) is None
    assert rng.randint(2**31) == expected_rng.randint(2**31), "nothing else was drawn"


@pytest.mark.parametrize(("replay_start", "first"), [(0, 0), (4, 0), (5, 0), (9, 0), (10, 1), (30, 5), (50, 9)])
def test_replay_starts_when_it_should(replay_start: int, first: int) -> None:
    model, _, _, _ = loop(replay_start=replay_start, replay_ratio=50, total_timesteps=110)
    lrs = [lr for _, _, lr in model.calls]
    assert lrs[: first + 1] == sorted(set(lrs), reverse=True)[: first + 1], "one update each before"
    assert lrs[first + 1] == lrs[first], "and from then on more"


def test_without_replay_nothing_is_kept() -> None:
    model, _, buffer, _ = loop(replay_ratio=0, buffer_size=1)
    assert len(model.calls) == 20
    assert buffer.num_in_buffer == 0


def test_total_timesteps_are_rounded_up_to_whole_iterations() -> None:
    model, sink, _, _ = loop(replay_ratio=0, total_timesteps=101)
    assert len(model.calls) == 11
    assert sink.steps == [10 * (i + 1) for i in range(11)]


def test_schedules_by_function() -> None:
    model, _, _, _ = loop(replay_ratio=0, lr=2.0, lrschedule=lambda p: (1 - p) ** 2)
    np.testing.assert_allclose([lr for _, _, lr in model.calls], 2 * (1 - np.arange(20) / 20) ** 2)


def test_rows_come_every_log_interval_and_episodes_at_once() -> None:
    model, sink, _, _ = loop(log_interval=7, total_timesteps=400, replay_ratio=0)
    assert [i for i, (mode, _, _) in enumerate(model.calls) if mode == "report"] == list(range(0, 40, 7))
    assert [row["total_timesteps"] for row in sink.rows] == [10 * i for i in range(0, 40, 7)]
    names = ["total_timesteps", "fps", "mean_episode_length", "mean_episode_reward", "loss"]
    names += ["learning_rate", "recent_fps", "workers_replaced", "replay_loss", "replay_size", "replay_updates"]
    assert [list(row) for row in sink.rows] == [names] * 6
    assert [row["loss"] for row in sink.rows] == list(range(1, 41, 7))
    assert sink.rows[0]["fps"] == 0 < sink.rows[-1]["fps"]
    assert sink.rows[0]["recent_fps"] == 0 < min(row["recent_fps"] for row in sink.rows[1:])
    stats = EpisodeStats(NENVS)
    for _, segment, _ in model.calls[:36]:
        stats.feed(segment.rewards, segment.dones)
    assert sink.rows[-1]["mean_episode_reward"] == stats.mean_reward() > 0
    assert sink.rows[-1]["mean_episode_length"] == stats.mean_length()
    assert len(sink.seen) == sum(segment.dones.sum() for _, segment, _ in model.calls) > 5


def test_should_stop_is_asked_after_each_iteration() -> None:
    answers = iter([False, False, True])
    model, sink, _, _ = loop(should_stop=lambda: next(answers), replay_ratio=0)
    assert len(model.calls) == len(sink.steps) == 3


def cartpole(seed: int, network: str = "mlp", **config: Any) -> TrainingLoop:
    settings = {"nsteps": NSTEPS, "total_timesteps": 1000, "replay_start": 30, "buffer_size": 50, "log_interval": 3}
    kwargs = SMALL if network == "mlp" else {"nlstm": 4}
    config = Config(**(settings | config))
    return make_model_and_loop(network, make_training_env("CartPole-v1", NENVS), seed, config, Logger(), **kwargs)


def train(acer: TrainingLoop, iterations: int) -> None:
    last = acer.steps + iterations * acer.nbatch
    acer.learn(lambda: acer.steps >= last)


@pytest.mark.parametrize("network", ["mlp", pytest.param("lstm", marks=pytest.mark.slow)])
def test_a_loaded_state_trains_on_to_the_bit(network: str) -> None:
    acer, again = cartpole(0, network), cartpole(1, network)
    acer.restart_environments(5, is_recorded=True)
    train(acer, 20)
    again.load_state_dict(acer.state_dict())
    again.buffer.load_rows(
        acer.buffer.oldest, acer.buffer.num_put, acer.buffer.rows(acer.buffer.oldest, acer.buffer.num_put)
    )
    assert_same_runs(acer, again)
    assert acer.episode_stats.has_ended
    for each in (acer, again):
        train(each, 10)
    assert acer.steps == again.steps == 300
    assert_same_runs(acer, again)


class Stopping:
    """Ends training after some steps of a segment, and keeps what these gave."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.rewards: list[np.ndarray] = []
        self.dones: list[np.ndarray] = []

    def on_rollout_start(self) -> None: ...

    def on_step(self, step: dict[str, Any]) -> bool:
        self.rewards.append(step["rewards"].copy())
        self.dones.append(step["dones"].copy())
        return bool(step["t"] < self.steps)

    def on_rollout_end(self) -> None: ...


def test_a_segment_that_a_callback_ends_counts_though_nothing_is_learned_from_it() -> None:
    acer, sink, callback = cartpole(0, nsteps=100, buffer_size=100), RecordingSink(), Stopping(70)
    acer.logger = Logger([sink])
    before = acer.model.state_dict()
    acer.learn(callback=callback)
    assert sink.steps == [70 * NENVS] == [acer.steps]
    rewards, dones = (np.stack(parts, axis=1) for parts in (callback.rewards, callback.dones))
    stats = EpisodeStats(NENVS)
    stats.feed(rewards, dones)
    assert acer.episode_stats.mean_length() == stats.mean_length() > 0
    assert acer.episode_stats.mean_reward() == stats.mean_reward()
    assert len(sink.seen) == dones.sum() > 1
    for name in before.keys() - {"random"}:
        np.testing.assert_array_equal(acer.model.state_dict()[name], before[name], err_msg=name)


def test_of_a_stopped_segment_nothing_counts_for_an_episode_that_was_lost_before() -> None:
    acer = cartpole(0, nsteps=100, buffer_size=100)
    acer.episode_stats.feed(np.ones((NENVS, 9)), np.zeros((NENVS, 9), bool))
    acer._source._dones[1] = True  # as after a worker was replaced: the segment begins with an episode
    acer.learn(callback=Stopping(3))
    assert acer.episode_stats.state_dict()["lengths"].tolist() == [12, 3]


def test_rates_are_of_the_time_that_training_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the steps that a loaded agent begins with nor the time between two calls count."""
    acer, sink, now = cartpole(0, log_interval=1, replay_ratio=0), RecordingSink(), [50.0]

    def train_for_two_seconds(segment: Segment, lr: float) -> dict[str, float]:
        now[0] += 2
        return {}

    monkeypatch.setattr("acer_tf.acer.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(acer.model, "train_and_report", train_for_two_seconds)
    acer.logger = Logger([sink])
    acer.count_from(1000)
    for end in (1020, 1040):
        acer.learn(end=end)
        now[0] += 100
    assert [row["fps"] for row in sink.rows] == [0, int(10 / 4), int(20 / 6), int(30 / 8)]
    assert [row["recent_fps"] for row in sink.rows] == [0, 5, 5, 5]


def test_metrics_that_nobody_reads_are_not_computed_and_change_nothing() -> None:
    silent, heard = cartpole(0, log_interval=1), cartpole(0, log_interval=1)
    heard.logger = Logger([RecordingSink()])
    silent.model.report = lambda segment: pytest.fail("computed")  # type: ignore[method-assign]
    for acer in (silent, heard):
        train(acer, 12)
    assert_same_runs(silent, heard)


def test_rows_tell_of_the_first_update_from_replay_and_change_nothing() -> None:
    often, seldom = cartpole(0, log_interval=1), cartpole(0, log_interval=1000)
    sink, reports = RecordingSink(), list[dict[str, float]]()
    often.logger = Logger([sink])
    train_and_report = often.model.train_and_report

    def noted(segment: Segment, lr: float) -> dict[str, float]:
        reports.append(train_and_report(segment, lr))
        return reports[-1]

    often.model.train_and_report = noted  # type: ignore[method-assign]
    for acer in (often, seldom):
        train(acer, 12)
    state = often.state_dict()["model"]
    for name, array in seldom.state_dict()["model"].items():
        np.testing.assert_array_equal(array, state[name], err_msg=name)

    assert len(sink.rows) == 12 and len({tuple(row) for row in sink.rows}) == 1, "the same columns in every row"
    replayed = [not np.isnan(row["replay_loss"]) for row in sink.rows]
    assert replayed[:5] == [False] * 5 and sum(replayed) >= 5
    assert len(reports) == 12 + sum(replayed)
    for row, is_replayed in zip(sink.rows, replayed, strict=True):
        on_policy = reports.pop(0)
        assert {name: row[name] for name in on_policy} == on_policy
        if is_replayed:
            report = reports.pop(0)
            columns = {name: value for name, value in row.items() if name.startswith("replay_")}
            del columns["replay_size"], columns["replay_updates"]
            assert columns == {name: report[name.removeprefix("replay_")] for name in columns}
            assert report != on_policy
    assert [row["replay_size"] for row in sink.rows] == [min(10 * (i + 1), 100) for i in range(12)]
    updates = [row["replay_updates"] for row in sink.rows]
    assert updates[4] == 0 < updates[-1] == often.replay_updates
    assert [after > before for before, after in zip([0, *updates], updates, strict=False)] == replayed
    lrs = [row["learning_rate"] for row in sink.rows]
    np.testing.assert_allclose(lrs, 7e-4 * (1 - np.arange(12) / 100))


def test_a_state_tells_everything_that_can_change_and_a_restart_abandons_episodes() -> None:
    acer = cartpole(0)
    before = acer.state_dict()
    acer.restart_environments(5, is_recorded=True)
    train(acer, 20)
    after = acer.state_dict()
    same = {
        f"{part} {name}"
        for part, leaves in before.items()
        for name, leaf in leaves.items()
        if np.array_equal(leaf, after[part][name])
    }
    assert same <= {"runner state", "random has_gauss", "random cached_gaussian", "random keys"} | {
        f"model {name}" for name in before["model"] if name.startswith("mom/")
    }

    ended = acer.episode_stats.mean_length()
    acer.restart_environments(6, is_recorded=False)
    stats = acer.state_dict()["episode_stats"]
    assert acer.episode_stats.mean_length() == ended > 0
    assert not stats["returns"].any()
    assert not stats["lengths"].any()


def test_entirely_off_policy_training_uses_replay_only() -> None:
    usual, _, _, _ = loop(log_interval=5)
    model, sink, _, _ = loop(log_interval=5, on_policy_updates=False)
    assert [row["loss"] for row in sink.rows] == [-1.0] * 4
    assert 0 < len(model.calls) == len(usual.calls) - 20
    modes = [mode for mode, _, _ in model.calls]
    assert 0 < modes.count("report") < 4, "of the logged iterations, the one or two before replay have none"
    assert modes.count("train") > 10
