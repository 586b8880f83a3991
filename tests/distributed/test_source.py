import dataclasses
import itertools
import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from acer_tf.acer import TrainingLoop
from acer_tf.config import Collecting
from acer_tf.distributed.lane import Lane
from acer_tf.distributed.wire import MAGIC
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.logs.logger import Logger, Sink
from acer_tf.segment import Segment
from tests.distributed.threads import loop, train

LOCKSTEP = {"lockstep": True}


class Rows(Sink):
    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self.steps: list[int] = []
        self.envs: set[int] = set()

    def write(self, values: Mapping[str, float]) -> None:
        self.rows.append(dict(values))

    def progress(self, steps: int) -> None:
        self.steps.append(steps)

    def episodes(self, episodes: Any) -> None:
        self.envs |= {episode.env for episode in episodes}


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


def assert_same_runs(first: TrainingLoop, second: TrainingLoop) -> None:
    """All but seconds, to the bit."""
    ours, theirs = first.state_dict(), second.state_dict()
    for part in ("loop", "random", "model", "runner", "episode_stats"):
        assert ours[part].keys() == theirs[part].keys(), part
        for name in ours[part].keys() - {"seconds"}:
            if not name.startswith("segment/"):  # it has the collector's clock
                np.testing.assert_array_equal(ours[part][name], theirs[part][name], err_msg=f"{part} {name}")


def copy_replay(acer: TrainingLoop, again: TrainingLoop) -> None:
    start, stop = acer.buffer.oldest, acer.buffer.num_put
    again.buffer.load_rows(start, stop, acer.buffer.rows(start, stop))


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"actor_depth": 2, "publish_every": 7, "segments_per_update": 2},
    ],
)
def test_in_lockstep_timing_changes_nothing(more: dict[str, Any]) -> None:
    how = LOCKSTEP | more
    slow = lambda index, sequence: 0.02 * ((index + sequence) % 2)  # noqa: E731
    (one, fleet, _), (other, late, _) = loop(2, learns=True, collecting=how), loop(2, slow, learns=True, collecting=how)
    for acer in (one, other):
        acer.restart_environments(3, is_recorded=True)
        train(acer, 12)
    assert [order for _, order in fleet.orders] != [] and fleet.orders == late.orders
    assert one.model.updates > 20
    assert_same_runs(one, other)
    fleet.close()
    late.close()


def test_a_resumed_run_in_lockstep_equals_an_undisturbed_one() -> None:
    how = LOCKSTEP | {"actor_depth": 2, "publish_every": 9}
    (acer, fleet, _), (again, other, _) = (
        loop(2, learns=True, collecting=how),
        loop(2, seed=1, learns=True, collecting=how),
    )
    acer.restart_environments(5, is_recorded=True)
    train(acer, 11)
    state = json_and_arrays(acer.state_dict())
    assert sum(name.startswith("segment/") for name in state["runner"]) == 4, "drained"
    assert again.load_state_dict(state)
    copy_replay(acer, again)
    for each in (acer, again):
        train(each, 9)
    assert_same_runs(acer, again)
    fleet.close()
    other.close()


def json_and_arrays(state: Any) -> Any:
    """What a checkpoint makes of a state."""
    return {
        part: {name: v if isinstance(v, np.ndarray) else json.loads(json.dumps(v)) for name, v in leaves.items()}
        for part, leaves in state.items()
    }


@pytest.mark.slow
def test_a_collector_lost_in_lockstep_comes_back_to_where_it_was() -> None:
    (acer, fleet, _), (whole, other, _) = (loop(2, learns=True, collecting=LOCKSTEP) for _ in range(2))
    for each in (acer, whole):
        each.restart_environments(3, is_recorded=True)
    train(acer, 5)
    fleet.kill(1)
    train(acer, 5)
    train(whole, 10)
    assert acer._source.metrics()["actors_replaced"] == 1
    assert_same_runs(acer, whole)
    fleet.close()
    other.close()


def test_without_lockstep_the_learner_waits_for_nobody() -> None:
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
    acer, fleet, source = loop(2, learns=True, replay_start=10, replay_ratio=2, lr=0.05, collecting=LOCKSTEP)
    taken, staleness, took = noted(acer), list[int](), source._tally.took

    def noting(value: int) -> None:
        staleness.append(value)
        took(value)

    source._tally.took = noting  # type: ignore[method-assign]
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


def test_metrics_of_staleness_and_waiting() -> None:
    rows = Rows()
    acer, fleet, _ = loop(2, lambda *_: 0.03, logger=Logger([rows]), collecting=LOCKSTEP)
    train(acer, 10)
    names = ["alive", "replaced", "staleness_mean", "staleness_p95", "idle_share", "segments_dropped"]
    assert [name for name in rows.rows[0] if name.startswith("actors_")] == [f"actors_{name}" for name in names]
    last = rows.rows[-1]
    assert (last["actors_alive"], last["actors_replaced"], last["actors_segments_dropped"]) == (2, 0, 0)
    assert last["actors_staleness_mean"] == last["actors_staleness_p95"] == 2, "two segments ahead, an update each"
    assert 0.05 < last["actors_idle_share"] < 1
    assert rows.steps == [10 * (i + 1) for i in range(10)]
    fleet.close()


def test_segments_that_are_too_stale_are_dropped() -> None:
    rows = Rows()
    acer, fleet, _ = loop(2, logger=Logger([rows]), log_interval=1, collecting=LOCKSTEP | {"max_staleness": 1})
    train(acer, 10)
    assert max(row["actors_staleness_p95"] for row in rows.rows) <= 1
    assert rows.rows[-1]["actors_segments_dropped"] > 3
    assert acer.steps == 100, "dropped ones do not count"
    fleet.close()


def test_several_segments_make_one_update() -> None:
    rows = Rows()
    how = LOCKSTEP | {"segments_per_update": 2}
    acer, fleet, _ = loop(2, logger=Logger([rows]), replay_start=20, replay_ratio=3, log_interval=1, collecting=how)
    taken = noted(acer)
    train(acer, 6)
    assert acer.nbatch == 20 and acer.steps == 120 and acer.buffer.num_put == 12
    assert {row["loss"] for row in rows.rows} == {4}, "environments of a batch"
    replayed = [row["replay_loss"] for row in rows.rows if row["replay_loss"] == row["replay_loss"]]
    assert replayed and set(replayed) == {4}, "of those from replay as well"
    assert [first for first, _ in taken] == [0, 2] * 6
    assert rows.steps == [20 * (i + 1) for i in range(6)]
    assert rows.rows[-1]["replay_size"] == 120
    fleet.close()


def test_episodes_are_those_of_each_environment() -> None:
    rows = Rows()
    acer, fleet, _ = loop(2, logger=Logger([rows]), collecting=LOCKSTEP)
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
    assert len(lengths) < 40 and rows.envs == {0, 1, 2, 3}
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


def test_a_malformed_segment_is_dropped_and_its_collector_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    acer, fleet, _ = loop(1)
    train(acer, 3)
    fleet.alter = lambda index, packed: packed[:-1]
    replace = fleet.replace

    def mend(index: int) -> None:
        fleet.alter = lambda index, packed: packed
        replace(index)

    fleet.replace = mend  # type: ignore[method-assign]
    train(acer, 3)
    metrics = acer._source.metrics()
    assert (metrics["actors_segments_dropped"], metrics["actors_replaced"]) == (1, 1)
    assert "collector 0 is replaced: a collector sent no segment of this run" in capsys.readouterr().err
    fleet.close()


def test_segments_of_another_order_are_malformed() -> None:
    acer, fleet, source = loop(1)
    train(acer, 2)
    old = fleet.alter
    kept: list[bytes] = []

    def again(index: int, packed: bytes) -> object:
        kept.append(packed)
        fleet.alter = old if len(kept) > 1 else again
        return kept[0]

    fleet.alter = again
    train(acer, 3)
    assert source.metrics()["actors_segments_dropped"] == 1 and kept[0].startswith(MAGIC)
    fleet.close()


def test_the_state_without_a_recorded_restart_restores_no_episodes() -> None:
    (acer, fleet, _), (again, other, _) = loop(2), loop(3)
    train(acer, 3)
    state = json_and_arrays(acer.state_dict())
    assert state["runner"].keys() == {"seconds", "restart_seed"}
    assert not again.load_state_dict(state), "of another number of collectors"
    assert again.episode_stats.mean_length() == acer.episode_stats.mean_length()
    again.restart_environments(1, is_recorded=False)
    train(again, 3)
    assert again.steps == 60
    fleet.close()
    other.close()


def test_errors_of_environments_and_of_settings_end_the_run() -> None:
    def failing(*_: Any) -> Any:
        raise OSError("no more")

    acer, fleet, _ = loop(1, collecting=LOCKSTEP)
    acer.restart_environments(1, is_recorded=True)
    train(acer, 2)
    runner, _ = fleet.collectors[0]._parts or (None, None)
    assert runner is not None
    runner._env.step = failing  # type: ignore[method-assign]
    with pytest.raises(EnvironmentFailedError, match="collector 0: an environment raised OSError: no more"):
        train(acer, 3)
    assert acer.state_dict()["runner"]["restart_seed"] is None, "a checkpoint is possible, but no such environments"
    fleet.close()

    acer, fleet, _ = loop(1)
    fleet.blueprint.network_kwargs["num_layer"] = 1  # type: ignore[index]
    with pytest.raises(InputError, match=r"collector 0: .*num_layer"):
        train(acer, 1)
    fleet.close()


@pytest.mark.slow
def test_recurrent_and_continuous_policies() -> None:
    how: dict[str, Any] = {"env_id": "Pendulum-v1", "network": "lstm", "network_kwargs": {"nlstm": 3}, "learns": True}
    how |= {"replay_state": "stored", "bootstrap_truncated": True, "collecting": LOCKSTEP}
    acer, fleet, _ = loop(2, **how)
    acer.restart_environments(1, is_recorded=True)
    train(acer, 3)
    fleet.kill(1)
    train(acer, 3)
    whole, other, _ = loop(2, **how)
    whole.restart_environments(1, is_recorded=True)
    train(whole, 6)
    assert_same_runs(acer, whole)
    fleet.close()
    other.close()


def test_seeds_depend_on_run_collector_life_and_place_alone() -> None:
    def seeds(lane: Lane) -> list[int]:
        for _ in range(3):
            lane.order(0, None)
        return [lane.start().seed, *(order.seed for order, _ in lane.orders)]

    first = seeds(Lane(0, 5))
    assert first == seeds(Lane(0, 5, incarnation=4))
    others = [seeds(lane) for lane in (Lane(1, 5), Lane(0, 6), Lane(0, 5, life=1))]
    assert len({*first, *(seed for other in others for seed in other)}) == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actors": -1}, "actors is -1; expected a whole number >= 0"),
        ({"lockstep": True}, "lockstep is True, but there are no collectors; give actors >= 1"),
        ({"ray_address": "a:1"}, "ray_address is 'a:1', but there are no collectors"),
        ({"actors": 1, "max_staleness": -1}, "max_staleness is -1"),
        ({"actors": 1, "actor_timeout": 0}, "actor_timeout is 0"),
        ({"actors": 1, "segments_per_update": 0}, "segments_per_update is 0"),
    ],
)
def test_settings_that_cannot_work(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Collecting(**arguments)
