import dataclasses
import itertools
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from acer_tf.acer import TrainingLoop
from acer_tf.config import Collecting
from acer_tf.distributed.collector_state import Order
from acer_tf.distributed.fleet import Tell
from acer_tf.envs.make import make_training_env
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.logs.logger import Logger
from acer_tf.segment import Segment
from tests.distributed.threads import loop, train
from tests.sinks import RecordingSink


def noted(acer: TrainingLoop) -> list[tuple[int, Segment]]:
    """Segments as they are taken, with their first environment."""
    taken: list[tuple[int, Segment]] = []
    run = acer._source.run

    def noting(*args: Any) -> Segment:
        segment = run(*args)
        taken.append((acer._source.first_env, segment))
        return segment

    acer._source.run = noting  # type: ignore[method-assign]
    return taken


def json_and_arrays(state: Any) -> Any:
    """What a checkpoint makes of a state."""
    return {
        part: {name: v if isinstance(v, np.ndarray) else json.loads(json.dumps(v)) for name, v in leaves.items()}
        for part, leaves in state.items()
    }


def test_the_learner_waits_for_nobody() -> None:
    may_go_on = threading.Event()

    def delay(index: int, sequence: int) -> float:
        return 0.0 if index == 0 else float(not may_go_on.wait(30))

    acer, fleet, _ = loop(2, delay)
    taken = noted(acer)
    train(acer, 12)
    assert [first for first, _ in taken] == [0] * 12, "the other has sent nothing yet"
    may_go_on.set()
    acer.learn(lambda: 2 in [first for first, _ in taken])
    fleet.close()


def test_staleness_is_that_of_the_weights_that_acted() -> None:
    """The weights that a segment was collected with are those of `staleness` updates before it is trained on."""
    acer, fleet, source = loop(2, learns=True, replay_start=10, replay_ratio=2, lr=0.05)
    taken, staleness, took = noted(acer), list[int](), source._metrics.took

    def noting(value: int, waited: float) -> None:
        staleness.append(value)
        took(value, waited)

    source._metrics.took = noting  # type: ignore[method-assign]
    versions = {0: [param.numpy() for param in acer.model.params]}
    for _ in range(8):
        train(acer, 1)
        versions[acer.model.updates] = [param.numpy() for param in acer.model.params]
    updates = sorted(versions)
    assert staleness == [updates[i] - updates[max(i - 2, 0)] for i in range(8)], "two segments are ahead"
    assert max(staleness) > 4
    for i, (_, segment) in enumerate(taken):
        for param, array in zip(acer.model.params, versions[updates[i] - staleness[i]], strict=True):
            param.assign(array)
        action = acer.model.act(segment.obs[:, 0], segment.states, segment.masks[:, 0])
        np.testing.assert_allclose(action.mus, segment.mus[:, 0], rtol=1e-5)
    fleet.close()


def test_a_restart_publishes_weights_that_came_without_an_update() -> None:
    acer, fleet, source = loop(1)
    source.run()
    for i, param in enumerate(acer.model.params):
        param.assign_add(np.linspace(0, 1 + i, param.shape.num_elements()).reshape(param.shape))
    acer.restart_environments(1, is_recorded=False)
    segment = source.run()
    action = acer.model.act(segment.obs[:, 0], segment.states, segment.masks[:, 0])
    np.testing.assert_allclose(action.mus, segment.mus[:, 0], rtol=1e-5)
    assert acer.model.updates == 0
    fleet.close()


def test_metrics_of_staleness_and_waiting() -> None:
    sink = RecordingSink()
    acer, fleet, _ = loop(2, logger=Logger([sink]))
    train(acer, 10)
    names = ["alive", "replaced", "staleness_mean", "staleness_p95", "idle_share", "segments_dropped"]
    assert [name for name in sink.rows[0] if name.startswith("actors_")] == [f"actors_{name}" for name in names]
    last = sink.rows[-1]
    assert (last["actors_alive"], last["actors_replaced"], last["actors_segments_dropped"]) == (2, 0, 0)
    assert last["actors_staleness_mean"] == last["actors_staleness_p95"] == 2, "two segments ahead, an update each"
    assert sink.steps == [10 * (i + 1) for i in range(10)]
    fleet.close()

    slow, fleet, _ = loop(1, lambda *_: 0.03, logger=Logger([sink]))
    train(slow, 10)
    assert 0.1 < sink.rows[-1]["actors_idle_share"] < 1
    fleet.close()


def test_segments_that_are_too_stale_are_dropped() -> None:
    sink = RecordingSink()
    acer, fleet, _ = loop(2, logger=Logger([sink]), log_interval=1, collecting={"max_staleness": 1})
    train(acer, 10)
    assert max(row["actors_staleness_p95"] for row in sink.rows) <= 1
    assert sink.rows[-1]["actors_segments_dropped"] > 3
    assert acer.steps == 100, "dropped ones do not count"
    fleet.close()


def test_episodes_go_on_over_segments_that_are_dropped() -> None:
    sink = RecordingSink()
    acer, fleet, source = loop(2, logger=Logger([sink]), collecting={"max_staleness": 1})
    train(acer, 30)
    fleet.close()
    assert source._metrics.row(2)["actors_segments_dropped"] > 9
    lengths = [episode.l for episode in sink.seen]
    assert 9 < len(lengths) <= 40
    assert sorted(acer.episode_stats.state_dict()["last_lengths"]) == sorted(lengths)


@pytest.mark.parametrize(("publish_every", "max_staleness"), [(4, 1), (3, 0)])
def test_weights_that_are_about_to_be_too_stale_are_published_anew(publish_every: int, max_staleness: int) -> None:
    sink = RecordingSink()
    limits = {"publish_every": publish_every, "max_staleness": max_staleness}
    acer, fleet, _ = loop(2, logger=Logger([sink]), log_interval=1, collecting=limits)
    train(acer, 10)
    assert acer.steps == 100, "the learner waits for ever where all that is collected is dropped"
    assert max(row["actors_staleness_p95"] for row in sink.rows) <= max_staleness
    fleet.close()


def test_waiting_ends_when_training_is_not_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acer_tf.distributed.source.LONGEST_WAIT", 0.01)
    is_stopped, asked = threading.Event(), list[int]()
    acer, fleet, source = loop(2, lambda _, number: float(not is_stopped.wait(30)) if number > 3 else 0.0)

    def goes_on() -> bool:
        asked.append(acer.steps)
        return asked.count(60) < 5

    source._goes_on = goes_on
    acer.learn(lambda: False)
    assert acer.steps == 60 and asked[-5:] == [60] * 5, "three segments of two collectors, then five looks"
    assert source.episodes == []
    is_stopped.set()
    source._goes_on = lambda: True
    train(acer, 2)
    assert acer.steps == 80, "training may be called again"
    fleet.close()


def test_several_segments_make_one_update() -> None:
    sink = RecordingSink()
    how = {"segments_per_update": 2}
    acer, fleet, _ = loop(2, logger=Logger([sink]), replay_start=20, replay_ratio=3, log_interval=1, collecting=how)
    taken = noted(acer)
    train(acer, 6)
    assert acer.nbatch == 20 and acer.steps == 120 and acer.buffer.num_put == 12
    assert {row["loss"] for row in sink.rows} == {4}, "environments of a batch"
    replayed = [row["replay_loss"] for row in sink.rows if row["replay_loss"] == row["replay_loss"]]
    assert replayed and set(replayed) == {4}, "of those from replay as well"
    assert [first for first, _ in taken] == [0, 2] * 6
    assert sink.steps == [20 * (i + 1) for i in range(6)]
    assert sink.rows[-1]["replay_size"] == 120
    fleet.close()


def test_episodes_are_those_of_each_environment() -> None:
    sink = RecordingSink()
    acer, fleet, _ = loop(2, logger=Logger([sink]))
    taken = noted(acer)
    train(acer, 60)
    lengths = []
    for env in range(4):
        parts = [segment for first, segment in taken if first == env // 2 * 2]
        dones = np.concatenate([segment.dones[env % 2] for segment in parts])
        for one, following in itertools.pairwise(parts):
            np.testing.assert_array_equal(one.masks[:, -1], following.masks[:, 0], err_msg="one after the other")
        lengths += np.diff([-1, *np.flatnonzero(dones)]).tolist()
    assert sorted(acer.state_dict()["episode_stats"]["last_lengths"].tolist()) == sorted(lengths)[:40]
    assert len(lengths) < 40 and {episode.env for episode in sink.seen} == {0, 1, 2, 3}
    fleet.close()


def test_a_lost_collector_is_replaced_and_its_episodes_do_not_count() -> None:
    acer, fleet, _ = loop(2, lambda *_: 0.01, collecting={"actor_timeout": 30.0})
    taken = noted(acer)
    train(acer, 8)
    fleet.kill(0)
    acer.learn(lambda: [first for first, _ in taken[-6:]].count(0) >= 2 and len(taken) > 30)
    metrics = acer._source.metrics()
    assert metrics["actors_replaced"] == 1 and metrics["actors_alive"] == 2
    lengths = acer.state_dict()["episode_stats"]["lengths"]
    for env in range(4):
        own = [segment for first, segment in taken if first == env // 2 * 2]
        begins = [i for i, segment in enumerate(own) if segment.masks[env % 2, 0]]
        ends = np.concatenate([s.masks[env % 2, :-1] | False for s in own[begins[-1] :]])
        assert lengths[env] == len(ends) - np.flatnonzero(ends)[-1] or own[-1].dones[env % 2, -1]
    fleet.close()


@pytest.mark.slow
def test_a_silent_collector_is_replaced_while_others_deliver() -> None:
    is_stopped, may_go_on = threading.Event(), threading.Event()

    def delay(index: int, sequence: int) -> float:
        if index == 1 and is_stopped.is_set() and not may_go_on.is_set():
            may_go_on.wait(30)
        return 0.005

    acer, fleet, source = loop(2, delay, total_timesteps=10**6)
    taken, replaced, replace = noted(acer), list[int](), fleet.replace

    def noting(index: int) -> None:
        replaced.append(len(taken))
        fleet.threads[index] = ThreadPoolExecutor(1)  # the stopped process blocks nobody
        is_stopped.clear()
        replace(index)

    fleet.replace = noting  # type: ignore[method-assign]
    acer.learn(lambda: {first for first, _ in taken} == {0, 2})  # both have begun
    source._collecting = dataclasses.replace(source._collecting, actor_timeout=1.0)
    is_stopped.set()
    before = len(taken)
    acer.learn(lambda: bool(replaced) and taken[-1][0] == 2)
    assert len(replaced) == 1 and replaced[0] - before > 10, "the other went on"
    assert source.metrics()["actors_replaced"] == 1
    may_go_on.set()
    fleet.close()


def test_a_collector_that_does_not_begin_may_wait_for_a_processor(capsys: pytest.CaptureFixture[str]) -> None:
    acer, fleet, source = loop(1)
    train(acer, 1)
    (state,) = source._states
    state.is_begun, state.deadline = False, 0.0
    state.orders.append(Order(0))
    source._replace_silent()
    assert "collector 0 is replaced: it has not begun within 720 seconds; it takes a proc" in capsys.readouterr().err
    fleet.close()


def test_collectors_that_are_late_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    acer, fleet, source = loop(2)
    train(acer, 1)
    late, begun = source._states
    begun.is_begun, begun.asked_at = True, time.monotonic() - 99
    late.is_begun, late.asked_at = False, time.monotonic() - 59
    source._say_late()
    assert not capsys.readouterr().err
    late.asked_at -= 2
    source._say_late()
    source._say_late()
    said = "1 of 2 collectors have not begun after 60 seconds; each takes a processor of the Ray cluster"
    assert capsys.readouterr().err == f"{said} that nothing else uses\n"
    fleet.close()


def test_a_silent_collector_is_replaced_though_others_deliver_faster_than_the_learner_trains(
    capsys: pytest.CaptureFixture[str],
) -> None:
    is_stopped, may_go_on = threading.Event(), threading.Event()
    acer, fleet, source = loop(2, lambda index, _: float(index == 1 and is_stopped.is_set() and may_go_on.wait(30)))
    taken = noted(acer)
    acer.learn(lambda: {first for first, _ in taken} == {0, 2})  # both have begun
    source._collecting = dataclasses.replace(source._collecting, actor_timeout=0.2)
    is_stopped.set()
    source._states[1].deadline = time.monotonic() + 0.2  # that of its order counts with the timeout of before

    def slow_update() -> bool:
        time.sleep(0.05)  # the other's next segment is there already
        return bool(source._metrics.replaced) or len(taken) > 100

    acer.learn(slow_update)
    assert source._metrics.replaced == 1
    assert capsys.readouterr().err == "collector 1 is replaced: it has sent nothing for 0.2 seconds\n"
    may_go_on.set()
    fleet.close()


def test_a_collector_with_other_environments_or_another_version_is_refused() -> None:
    acer, fleet, _ = loop(1)
    fleet.blueprint = dataclasses.replace(fleet.blueprint, make_env=lambda: make_training_env("CartPole-v1", 3))
    fleet.kill(0)
    with pytest.raises(InputError, match=r"^collector 0 has num_env 3, but the learner 2; every node needs the same"):
        train(acer, 1)
    fleet.close()

    acer, fleet, source = loop(1)
    source._signature = source._signature._replace(version="0.0")
    with pytest.raises(InputError, match=r"^collector 0 has version \S+, but the learner 0\.0;"):
        train(acer, 1)
    fleet.close()


def test_a_segment_that_overtakes_another_waits_for_it() -> None:
    acer, fleet, _ = loop(1, collecting={"actor_depth": 2})
    taken, collect, held = noted(acer), fleet.collect, list[Callable[[], None]]()

    def overtaking(index: int, weights: Any, tell: Tell) -> None:
        collect(index, weights, lambda outcome: held.append(lambda: tell(outcome)))
        if len(held) == 2:
            held.pop()()  # the later one first
            held.pop()()

    fleet.collect = overtaking  # type: ignore[method-assign]
    train(acer, 6)
    for one, following in itertools.pairwise(segment for _, segment in taken):
        np.testing.assert_array_equal(one.enc_obs[:, -1], following.enc_obs[:, 0], err_msg="one after the other")
    fleet.close()


def test_the_state_restores_no_episodes() -> None:
    (acer, fleet, _), (again, other, _) = loop(2), loop(3)
    train(acer, 3)
    state = json_and_arrays(acer.state_dict())
    assert state["runner"].keys() == {"seconds"}
    old = {"restart_seed": 5, "actors": 2, "ordered": [2, 2], "segment/0/0": np.zeros(3, np.uint8)}  # of version 0.1.0
    for runner in (old, {}):
        assert not again.load_state_dict(state | {"runner": state["runner"] | runner}), "of other collectors"
    assert again.episode_stats.mean_length() == acer.episode_stats.mean_length()
    again.restart_environments(1, is_recorded=False)
    train(again, 3)
    assert again.steps == 60
    fleet.close()
    other.close()


def test_errors_of_environments_and_of_settings_end_the_run() -> None:
    def failing(*_: Any) -> Any:
        raise OSError("no more")

    acer, fleet, _ = loop(1)
    train(acer, 2)
    _, runner, _ = fleet.collectors[0]._parts or (None, None, None)
    assert runner is not None
    runner._env.step = failing  # type: ignore[method-assign]
    with pytest.raises(EnvironmentFailedError, match="collector 0: an environment raised OSError: no more"):
        train(acer, 3)
    assert acer.state_dict()["loop"]["steps"] == 30, "a checkpoint is possible"
    fleet.close()

    acer, fleet, _ = loop(1)
    fleet.blueprint.network_kwargs["num_layer"] = 1  # type: ignore[index]
    with pytest.raises(InputError, match=r"collector 0: .*num_layer"):
        train(acer, 1)
    fleet.close()


@pytest.mark.slow
def test_recurrent_and_continuous_policies() -> None:
    """Recomputed with the weights that acted, probabilities and states are those that the collector sent."""
    how: dict[str, Any] = {"env_id": "Pendulum-v1", "network": "lstm", "network_kwargs": {"nlstm": 3}, "learns": True}
    how |= {"replay_state": "stored", "bootstrap_truncated": True, "on_policy_updates": False, "replay_start": 100}
    acer, fleet, _ = loop(2, **how)
    taken = noted(acer)
    train(acer, 6)
    for first in (0, 2):
        one, following = [segment for index, segment in taken if index == first][:2]
        state = one.states
        for t in range(5):
            action = acer.model.act(one.obs[:, t], state, one.masks[:, t])
            np.testing.assert_allclose(action.mus, one.mus[:, t], rtol=1e-5, atol=1e-6)
            state = action.state
        np.testing.assert_allclose(state, following.states, rtol=1e-5, atol=1e-6)
    fleet.close()


def test_seeds_differ_between_collectors_runs_and_incarnations() -> None:
    seeds = []
    for seed in (5, 6):
        acer, fleet, _ = loop(2, seed=seed)
        train(acer, 1)
        acer.restart_environments(seed, is_recorded=False)
        train(acer, 1)
        seeds += fleet.seeds
        fleet.close()
    assert [index for index, _ in seeds] == [0, 1] * 4
    assert len({seed for _, seed in seeds}) == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actors": -1}, "actors is -1; expected a whole number >= 0"),
        ({"publish_every": 2}, "publish_every is 2, but there are no collectors; give actors >= 1"),
        ({"ray_address": "a:1"}, "ray_address is 'a:1', but there are no collectors"),
        ({"actors": 1, "max_staleness": -1}, "max_staleness is -1"),
        ({"actors": 1, "actor_timeout": 0}, "actor_timeout is 0"),
        ({"actors": 1, "segments_per_update": 0}, "segments_per_update is 0"),
    ],
)
def test_settings_that_cannot_work(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Collecting(**arguments)
