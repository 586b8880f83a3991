import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.plots.groups import Run
from acer_tf.plots.intervals import (
    improvements,
    intervals,
    profiles,
    sample_efficiency,
    score_matrices,
    unit_of,
)
from acer_tf.plots.sources import Series

BREAKOUT, PONG = "BreakoutNoFrameskip-v4", "PongNoFrameskip-v4"


def run(env: str, setting: str, *returns: float) -> Run:
    return Run(env, setting, Series(np.arange(len(returns), dtype=np.float64), np.array(returns, np.float64)))


def test_a_score_is_the_mean_of_the_last_hundred_episodes() -> None:
    matrices = score_matrices([run("CartPole-v1", "a", *([0] * 50), *range(100)), run("CartPole-v1", "a", 7)])
    assert matrices.keys() == {"a"}
    np.testing.assert_array_equal(matrices["a"], [[49.5], [7]])
    assert unit_of([run("CartPole-v1", "a", 1)]) == "raw return"


def test_atari_scores_are_human_normalised() -> None:
    runs = [
        *(run(BREAKOUT, "a", 1.7), run(PONG, "a", 14.6), run(BREAKOUT, "b", 30.5), run(PONG, "b", -20.7)),
        *(run(PONG, "a", -20.7), run(BREAKOUT, "a", 16.1), run(PONG, "b", 49.9), run(BREAKOUT, "b", 1.7)),
    ]
    matrices = score_matrices(runs)
    np.testing.assert_allclose(matrices["a"], [[0, 1], [0.5, 0]], atol=1e-12)
    np.testing.assert_allclose(matrices["b"], [[1, 0], [0, 2]], atol=1e-12)
    assert unit_of(runs) == "human-normalised score"


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([run(BREAKOUT, "a", 1), run("CartPole-v1", "a", 1)], "in units of their own"),
        ([run(BREAKOUT, "a", 1), run(PONG, "b", 1)], r"as many runs of every setting .* a \[1, 0\]; b \[0, 1\]"),
        ([run(PONG, "a", 1), run(PONG, "b", 1), run(PONG, "b", 2)], r"a \[1\]; b \[2\]"),
        ([run("AirRaidNoFrameskip-v4", "a", 1)], "no human score of AirRaidNoFrameskip-v4"),
    ],
)
def test_what_cannot_be_compared_is_refused(runs: list[Run], message: str) -> None:
    with pytest.raises(InputError, match=message):
        score_matrices(runs)


def test_intervals_cover_their_estimates() -> None:
    pytest.importorskip("rliable")
    random = np.random.default_rng(0)
    found = intervals({"a": random.normal(0, 1, (10, 3)), "b": random.normal(5, 1, (10, 3))})
    assert [(i.label, i.aggregate) for i in found] == [(s, name) for name in ("IQM", "median", "mean") for s in "ab"]
    for interval in found:
        assert interval.low < interval.estimate < interval.high
        assert abs(interval.estimate - {"a": 0, "b": 5}[interval.label]) < 1


def test_intervals_are_the_same_every_time_and_leave_the_global_stream_alone() -> None:
    pytest.importorskip("rliable")
    matrices = {"a": np.random.default_rng(0).normal(size=(4, 3))}
    np.random.seed(5)
    first = intervals(matrices)
    drawn = np.random.random()
    assert intervals(matrices) == first
    np.random.seed(5)
    assert np.random.random() == drawn


def test_two_runs_have_no_interval() -> None:
    pytest.importorskip("rliable")
    (iqm, *_) = intervals({"a": np.array([[1.0], [2.0]])})
    assert (iqm.label, iqm.aggregate, iqm.estimate) == ("a", "IQM", 1.5)
    assert np.isnan(iqm.low) and np.isnan(iqm.high)


def test_a_profile_is_the_share_of_runs_above_each_score() -> None:
    pytest.importorskip("rliable")
    found = profiles({"a": np.array([[0.0], [1.0], [2.0], [4.0]]), "b": np.array([[2.0], [2.0], [2.0], [3.0]])})
    x = found["a"].x
    assert (x[0], x[-1]) == (0, 4)
    np.testing.assert_allclose(np.interp([0.0, 1.5, 3.9], x, found["a"].estimate), [0.75, 0.5, 0.25])
    np.testing.assert_allclose(np.interp([1.5, 3.5], x, found["b"].estimate), [1, 0])
    assert (found["a"].low <= found["a"].estimate).all() and (found["a"].estimate <= found["a"].high).all()
    assert (found["a"].low < found["a"].high).any()


def test_the_probability_of_improvement_is_that_of_rliable() -> None:
    metrics = pytest.importorskip("rliable.metrics")
    random = np.random.default_rng(0)
    matrices = {name: random.integers(0, 5, (4, 3)).astype(np.float64) for name in "abc"}  # with ties
    found = improvements(matrices)
    assert list(found) == ["b", "c"]
    for name, band in found.items():
        expected = metrics.probability_of_improvement(matrices[name], matrices["a"])
        np.testing.assert_allclose(band.estimate, [expected])
        assert band.low[0] < expected < band.high[0]
    assert improvements({"a": matrices["a"]}) == {}


def test_sample_efficiency_is_the_interquartile_mean_over_the_course_of_training() -> None:
    pytest.importorskip("rliable")
    steps = np.arange(1.0, 101)
    runs = [Run("CartPole-v1", "a", Series(steps, np.full(100, value))) for value in (0.0, 10.0, 20.0, 90.0)]
    band = sample_efficiency(runs)["a"]
    assert (band.x[0], band.x[-1]) == (5, 100)
    np.testing.assert_allclose(band.estimate, 15)
    np.testing.assert_allclose(band.low, band.low[0])
    assert band.low[0] < 15 < band.high[0]
    rising = sample_efficiency([Run("CartPole-v1", "b", Series(steps, steps))])["b"]
    np.testing.assert_allclose(rising.estimate, rising.x - 2)  # the mean of a bin of five steps
    assert np.isnan(rising.low).all()


def test_runs_without_common_steps_have_no_sample_efficiency() -> None:
    pytest.importorskip("rliable")
    runs = [Run("CartPole-v1", "a", Series(np.array([x]), np.ones(1))) for x in (1.0, 100.0)]
    with pytest.raises(InputError, match="no steps in common"):
        sample_efficiency(runs)
