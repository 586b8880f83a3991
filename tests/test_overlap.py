import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from acer_tf.acer import TrainingLoop
from acer_tf.config import Config
from acer_tf.envs.make import make_training_env
from acer_tf.errors import EnvironmentFailedError
from acer_tf.learning import make_model_and_loop
from acer_tf.logs.logger import Logger, Sink
from acer_tf.segment import Episode, Segment


class Episodes(Sink):
    """Notes episodes, and the steps at which they were told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int, float]] = []
        self.steps = 0

    def progress(self, steps: int) -> None:
        self.steps = steps

    def episodes(self, episodes: Any) -> None:
        self.told += [(self.steps, episode.env, episode.r) for episode in episodes if isinstance(episode, Episode)]


def cartpole(seed: int = 0, **config: Any) -> tuple[TrainingLoop, Episodes]:
    settings = {"nsteps": 20, "total_timesteps": 2000, "replay_start": 100, "buffer_size": 1000, "log_interval": 5}
    sink = Episodes()
    env = make_training_env("CartPole-v1", 4)
    return make_model_and_loop(
        "mlp", env, seed, Config(**{**settings, "overlap": True, **config}), Logger([sink])
    ), sink


def noted(acer: TrainingLoop) -> list[tuple[Segment, list[Any], str]]:
    """Segments as they are collected, the parameters that the runner acted with, and the thread."""
    found: list[tuple[Segment, list[Any], str]] = []
    run = acer._source.run

    def noting(*args: Any) -> Segment:
        copies = [copy.numpy() for copy in acer._behavior._params]
        found.append((run(*args), copies, threading.current_thread().name))
        return found[-1][0]

    acer._source.run = noting  # type: ignore[method-assign]
    return found


def test_segments_come_from_the_parameters_before_the_updates_from_replay() -> None:
    acer, sink = cartpole(lr=0.01, lrschedule="constant")
    collected = noted(acer)
    trained: list[Segment] = []
    train, after_on_policy = acer._train_on_policy, list[list[Any]]()

    def noting_train(segment: Segment, is_logged: bool) -> dict[str, float]:
        trained.append(segment)
        row = train(segment, is_logged)
        after_on_policy.append([param.numpy() for param in acer.model.params])
        return row

    acer._train_on_policy = noting_train  # type: ignore[method-assign]
    acer.learn()
    assert acer.steps == 2000 and len(collected) == len(trained) == 25, "none is collected in vain"
    assert [name.startswith("collecting") for _, _, name in collected] == [False] + [True] * 24
    for (segment, _, _), own in zip(collected, trained, strict=True):
        assert segment is own, "in order"
    for (_, copies, _), params in zip(collected[1:], after_on_policy, strict=False):
        for copy, param in zip(copies, params, strict=True):
            np.testing.assert_array_equal(copy, param)
    for segment, copies, _ in collected[::6]:
        for param, copy in zip(acer.model.params, copies, strict=True):
            param.assign(copy)
        for t in range(20):
            action = acer.model.act(segment.obs[:, t], segment.states, segment.masks[:, t])
            np.testing.assert_allclose(action.mus, segment.mus[:, t], rtol=1e-6)
    ends = [(80 * i, env) for i, (segment, _, _) in enumerate(collected) for env in np.argwhere(segment.dones.T)[:, 1]]
    assert [(steps, env) for steps, env, _ in sink.told] == ends


def test_two_runs_of_a_seed_are_equal_and_learn() -> None:
    first, second = (cartpole(3, total_timesteps=8000, ent_coef=0.001, lr=0.004) for _ in range(2))
    for acer, _ in (first, second):
        acer.learn()
    states = [acer.state_dict() for acer, _ in (first, second)]
    for part in ("model", "random", "episode_stats"):
        for name, value in states[0][part].items():
            np.testing.assert_array_equal(value, states[1][part][name], err_msg=name)
    assert first[1].told == second[1].told
    returns = [r for _, _, r in first[1].told]
    assert np.mean(returns[:40]) < 30 and np.mean(returns[-40:]) > 40


def test_a_run_may_pause_between_segments() -> None:
    whole, paused = (cartpole()[0] for _ in range(2))
    whole.learn()
    for steps in (400, 800, 2000):
        paused.learn(lambda steps=steps: paused.steps >= steps)  # type: ignore[misc]
    for name, array in whole.model.state_dict().items():
        np.testing.assert_array_equal(array, paused.model.state_dict()[name], err_msg=name)
    assert whole.episode_stats.mean_reward() == paused.episode_stats.mean_reward()


def test_a_restart_abandons_what_was_collected() -> None:
    acer, _ = cartpole()
    collected = noted(acer)
    acer.learn(lambda: acer.steps >= 400)
    assert len(collected) == 6
    acer.restart_environments(1, is_recorded=False)
    acer.learn(lambda: acer.steps >= 480)
    assert collected[6][0].masks[:, 0].all(), "the first step of new episodes"


@pytest.mark.parametrize("fails", ["environment", "update"])
def test_failures_surface_when_both_threads_have_ended(fails: str) -> None:
    acer, _ = cartpole(total_timesteps=10000)
    env, step, count = acer._source._env, acer._source._env.step, [0]

    def failing(actions: Any) -> Any:
        count[0] += 1
        if count[0] == 205:
            raise OSError("no more")
        return step(actions)

    def refused(is_logged: bool) -> dict[str, float]:
        raise ZeroDivisionError

    broken: tuple[Any, str, Callable[..., Any]] = (env, "step", failing)
    if fails == "update":
        broken = (acer, "_replay", refused)
    setattr(*broken)
    with pytest.raises(EnvironmentFailedError if fails == "environment" else ZeroDivisionError):
        acer.learn()
    assert not any(thread.name.startswith("collecting") for thread in threading.enumerate())
    # Four steps of all environments make an iteration of 80; the one during which the 205th step failed is complete.
    assert acer.steps == (800 if fails == "environment" else 0)


def test_ctrl_c_ends_the_collecting_thread_after_the_step_it_is_in() -> None:
    acer, _ = cartpole(total_timesteps=10000, replay_start=1000)
    step, count = acer._source._env.step, [0]

    def slow(actions: Any) -> Any:
        count[0] += 1
        if count[0] == 25:  # the first five steps of the second segment
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(0.02)
        return step(actions)

    acer._source._env.step = slow  # type: ignore[method-assign]
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest's workers ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            acer.learn()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert not any(thread.name.startswith("collecting") for thread in threading.enumerate())
    assert 25 <= count[0] <= 27
    acer.restart_environments(1, is_recorded=False)
    acer.learn(lambda: acer.steps >= 160)
    assert acer.steps == 160
