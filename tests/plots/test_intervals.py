import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.plots.curves import Returns
from acer_tf.plots.groups import Run
from acer_tf.plots.intervals import intervals, score_matrices, unit_of

BREAKOUT, PONG = "BreakoutNoFrameskip-v4", "PongNoFrameskip-v4"


def run(env: str, setting: str, *returns: float) -> Run:
    return Run(env, setting, Returns(np.arange(len(returns), dtype=np.float64), np.array(returns, np.float64)))


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
