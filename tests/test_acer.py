import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import keras
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState

import acer_tf
from acer_tf.acer import Acer, EpisodeStats, learn
from acer_tf.buffer import Buffer
from acer_tf.config import Config
from acer_tf.envs.make import make_vec_env
from acer_tf.errors import InputError
from acer_tf.model import Model
from acer_tf.persistence.logger import Logger, Sink
from acer_tf.policy import CategoricalPolicy
from acer_tf.runner import Runner
from acer_tf.segment import Episode, Segment
from tests.agents import assert_same
from tests.scripted import ScriptedEnv

RECORDED = np.load(Path(__file__).parent / "golden" / "episode_stats.npz")
SMALL = {"num_layers": 1, "num_hidden": 4}
NENVS, NSTEPS = 2, 5


def test_episode_stats_equal_what_baselines_recorded() -> None:
    stats = EpisodeStats(RECORDED["rewards"].shape[1])
    for rewards, dones, expected in zip(
        *(RECORDED[k] for k in ("rewards", "dones", "mean_length_reward")), strict=True
    ):
        stats.feed(rewards, dones)
        np.testing.assert_allclose([stats.mean_length(), stats.mean_reward()], expected, atol=1e-6)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 12), st.floats(0, 1), st.integers(0, 2**32))
def test_episode_stats_equal_the_loop(nenvs: int, nsteps: int, feeds: int, ends: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    stats, running, finished = EpisodeStats(nenvs), [(0.0, 0)] * nenvs, [(0.0, 0)][:0]
    for _ in range(feeds):
        rewards = random.normal(size=(nenvs, nsteps)).astype(np.float32)
        dones = random.random((nenvs, nsteps)) < ends
        stats.feed(rewards, dones)
        for env, t in np.ndindex(nenvs, nsteps):
            running[env] = (running[env][0] + float(rewards[env, t]), running[env][1] + 1)
            if dones[env, t]:
                finished.append(running[env])
                running[env] = (0.0, 0)
        returns, lengths = zip(*finished[-40:], strict=True) if finished else ((0,), (0,))
        np.testing.assert_allclose(stats.mean_reward(), np.mean(returns), atol=1e-6)
        np.testing.assert_allclose(stats.mean_length(), np.mean(lengths))


class RecordingModel(Model):
    """Acts, but only writes down what it is to train on."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.calls: list[tuple[str, Segment, float]] = []

    def train(self, segment: Segment, lr: float) -> None:
        self.calls.append(("train", segment, lr))

    def train_and_report(self, segment: Segment, lr: float) -> dict[str, float]:
        self.calls.append(("report", segment, lr))
        return {"loss": len(self.calls)}


class RecordingSink(Sink):
    """Writes down everything."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self.steps: list[int] = []
        self.seen: list[Episode] = []

    def write(self, values: Mapping[str, float]) -> None:
        self.rows.append(dict(values))

    def episodes(self, episodes: Any) -> None:
        self.seen += episodes

    def progress(self, steps: int) -> None:
        self.steps.append(steps)


def loop(
    seed: int = 0, should_stop: Callable[[], bool] = lambda: False, **config: Any
) -> tuple[RecordingModel, RecordingSink, Buffer, RandomState]:
    settings = Config(**{"nsteps": NSTEPS, "total_timesteps": 200, "replay_start": 30, "buffer_size": 50} | config)
    env = make_vec_env("CartPole-v1", NENVS)
    policy = CategoricalPolicy("mlp", env.single_observation_space, env.single_action_space, RandomState(0), **SMALL)
    model, sink, rng = RecordingModel(policy, settings, seed), RecordingSink(), RandomState(seed)
    buffer = Buffer(settings.nsteps, settings.buffer_size)
    Acer(Runner(env, model, settings.nsteps, seed), model, buffer, rng, Logger([sink])).learn(NENVS, should_stop)
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
    assert [list(row) for row in sink.rows] == [names] * 6
    assert [row["loss"] for row in sink.rows] == list(range(1, 41, 7))
    assert sink.rows[0]["fps"] == 0 < sink.rows[-1]["fps"]
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


def vec_env(env_id: str, mode: AutoresetMode = AutoresetMode.SAME_STEP) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: gymnasium.make(env_id)] * NENVS, autoreset_mode=mode)


def quick(network: Any = "mlp", env: Any = None, **kwargs: Any) -> Model:
    kwargs = {"total_timesteps": 400, "replay_start": 40, "buffer_size": 100, "logger": Logger(), "seed": 0} | kwargs
    if network == "mlp":
        kwargs = SMALL | kwargs
    return learn(network, vec_env("CartPole-v1") if env is None else env, **kwargs)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vec_env("Pendulum-v1"), "the action space is continuous"),
        (lambda: vec_env("CartPole-v1", AutoresetMode.NEXT_STEP), "autoreset mode is NEXT_STEP; pass autoreset_mode"),
        (lambda: gymnasium.make("CartPole-v1"), "the environment is a single one; wrap it"),
        (lambda: "CartPole-v1", "the environment is a str; expected a gymnasium.vector.VectorEnv"),
        (lambda: ScriptedEnv(np.full((9, NENVS, 3), np.nan)), "environment 0 gave an observation that is not a finite"),
    ],
)
def test_environments_that_cannot_work(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        quick(env=make())


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"seed": -1}, "seed is -1; expected a whole number from 0 to 4294967295"),
        ({"seed": 2**32}, "seed is 4294967296"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": True}, "seed is True"),
        ({"gamma": 2}, "gamma is 2; expected a number between 0 and 1"),
        ({"network": "mpl"}, "network 'mpl' does not exist; the nearest are mlp"),
        ({"num_hiden": 3}, "does not take the argument num_hiden; the nearest are num_hidden"),
        ({"value_network": "coppy"}, "value_network is 'coppy'"),
        ({"network": "cnn"}, "cannot be built for observations of shape"),
        ({"load_path": "absent.npz"}, "absent.npz is not a file"),
        ({"buffer_size": 10**12}, "lower buffer_size"),
    ],
)
def test_arguments_that_cannot_work(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        quick(**kwargs)


def test_network_and_schedule_may_be_functions() -> None:
    shown = []

    def network(inputs: keras.KerasTensor) -> keras.KerasTensor:
        return keras.layers.Dense(6, activation="tanh")(inputs)

    def schedule(p: float) -> float:
        shown.append(p)
        return 1.0

    model = quick(network, lrschedule=schedule, max_grad_norm=None, value_network=network)
    assert list(model.policy.params) == [
        *("pi/dense/kernel", "pi/dense/bias", "vf/dense/kernel", "vf/dense/bias"),
        *("pi_head/kernel", "pi_head/bias", "q_head/kernel", "q_head/bias"),
    ]
    assert sorted(set(shown)) == [i / 10 for i in range(10)]
    assert_same(model, quick(network, lrschedule="constant", max_grad_norm=None, value_network=network))


def test_the_seed_decides_the_weights() -> None:
    start = quick(lr=0.0, seed=5)
    env = vec_env("CartPole-v1")
    fresh = CategoricalPolicy("mlp", env.single_observation_space, env.single_action_space, RandomState(5), **SMALL)
    for name, variable in fresh.params.items():
        np.testing.assert_array_equal(start.policy.params[name], variable, err_msg=name)
    other = quick(lr=0.0, seed=6)
    assert (other.params[0].numpy() != start.params[0].numpy()).any()
    drawn = [quick(lr=0.0, seed=None, total_timesteps=40).params[0].numpy() for _ in range(2)]
    assert (drawn[0] != drawn[1]).any()


def test_load_path_is_where_training_starts(tmp_path: Path) -> None:
    trained = quick(seed=1)
    trained.save(tmp_path / "model.npz")
    again = quick(seed=2, lr=0.0, load_path=tmp_path / "model.npz")
    for ours, theirs in zip(again.params, trained.params, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_default_logger_prints_baselines_table(capsys: pytest.CaptureFixture[str]) -> None:
    quick(logger=None, total_timesteps=40)
    out = capsys.readouterr().out
    assert "| total_timesteps " in out
    assert "| avg_norm_adj " in out


RUN = """
import sys, gymnasium, acer_tf
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from acer_tf.persistence.logger import Logger
env = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
model = acer_tf.learn("mlp", env, seed=3, total_timesteps=2000, replay_start=200, buffer_size=500, logger=Logger())
model.save(sys.argv[1])
"""


@pytest.mark.slow
def test_two_processes_with_one_seed_end_equal_to_the_bit(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.npz" for i in range(2)]
    root = Path(acer_tf.__file__).parent.parent
    processes = [subprocess.Popen([sys.executable, "-c", RUN, str(path)], cwd=root) for path in paths]
    assert [process.wait() for process in processes] == [0, 0]
    with np.load(paths[0]) as first, np.load(paths[1]) as second:
        assert first.files == second.files
        for name in first.files:
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)


class Returns(Sink):
    """Keeps the returns of whole episodes."""

    def __init__(self) -> None:
        self.returns: list[float] = []

    def episodes(self, episodes: Any) -> None:
        self.returns += [episode.r for episode in episodes]


@pytest.mark.slow
def test_learns_to_balance_the_pole() -> None:
    sink = Returns()
    env = make_vec_env("CartPole-v1", 4)
    learn("mlp", env, seed=0, total_timesteps=40_000, buffer_size=5000, replay_start=1000, logger=Logger([sink]))
    assert np.mean(sink.returns[:40]) < 40
    assert np.mean(sink.returns[-20:]) > 60
