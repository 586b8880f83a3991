import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.plots.performance import (
    Performance,
    figure_of_performance,
    performance,
    sample_efficiency,
    score_matrices,
)
from acer_tf.plots.runs import Run
from acer_tf.plots.series import Series
from acer_tf.plots.statistics import AGGREGATES, Interval
from acer_tf.plots.style import rendered, styled
from tests.plots.samples import band

BREAKOUT, PONG = "BreakoutNoFrameskip-v4", "PongNoFrameskip-v4"


def run(env: str, setting: str, *returns: float) -> Run:
    return Run(env, setting, Series(np.arange(1.0, len(returns) + 1), np.array(returns, np.float64)))


def test_a_score_is_the_mean_of_the_last_hundred_episodes() -> None:
    matrices = score_matrices([run("CartPole-v1", "a", *([0] * 50), *range(100)), run("CartPole-v1", "a", 7)])
    assert matrices.keys() == {"a"}
    np.testing.assert_array_equal(matrices["a"], [[49.5], [7]])
    assert performance([run("CartPole-v1", "a", 1)]).unit == "raw return"


def test_atari_scores_are_human_normalised() -> None:
    runs = [
        *(run(BREAKOUT, "a", 1.7), run(PONG, "a", 14.6), run(BREAKOUT, "b", 30.5), run(PONG, "b", -20.7)),
        *(run(PONG, "a", -20.7), run(BREAKOUT, "a", 16.1), run(PONG, "b", 49.9), run(BREAKOUT, "b", 1.7)),
    ]
    matrices = score_matrices(runs)
    np.testing.assert_allclose(matrices["a"], [[0, 1], [0.5, 0]], atol=1e-12)
    np.testing.assert_allclose(matrices["b"], [[1, 0], [0, 2]], atol=1e-12)
    assert performance(runs).unit == "human-normalised score"


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


def test_sample_efficiency_is_the_interquartile_mean_over_the_course_of_training() -> None:
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
    runs = [Run("CartPole-v1", "a", Series(np.array([x]), np.ones(1))) for x in (1.0, 100.0)]
    with pytest.raises(InputError, match="no steps in common"):
        sample_efficiency(runs)


def test_settings_are_estimated_and_compared_with_the_first() -> None:
    random = np.random.default_rng(0)
    runs = [run("CartPole-v1", s, *random.normal(mean, 1, 3)) for s, mean in (("a", 0), ("b", 5)) for _ in range(10)]
    found = performance(runs)
    assert list(found.intervals) == ["IQM", "median of environments", "mean"] and list(found.improvements) == ["b"]
    for by_setting in found.intervals.values():
        for setting, (estimate, low, high) in by_setting.items():
            assert low < estimate < high and abs(estimate - {"a": 0, "b": 5}[setting]) < 1
    assert found.improvements["b"].estimate == 1
    assert found.profiles.keys() == found.efficiency.keys() == {"a", "b"}


@pytest.mark.parametrize("settings", [["a"], ["a", "_b $", "c" * 90]])
def test_every_estimate_is_drawn_and_named(settings: list[str]) -> None:
    found = Performance(
        unit="raw return",
        intervals={name: {s: Interval(2.0, 1.5, 3.0) for s in settings} for name in AGGREGATES},
        profiles={s: band([0, 5], [1, 0]) for s in settings},
        efficiency={s: band([0, 1e6], [0, 3]) for s in settings},
        improvements={s: Interval(0.75, 0.65, 0.85) for s in settings[1:]},
    )
    with styled():
        figure = figure_of_performance(found, "steps")
        rendered(figure, ".png")
    titles = [
        "IQM",
        "median of environments",
        "mean",
        "performance profile",
        "sample efficiency",
        "probability of improvement",
    ]
    assert [axes.get_title() for axes in figure.axes] == titles[: 5 + (len(settings) > 1)]
    bars, profile = figure.axes[0], figure.axes[3]
    assert [(bar.get_x(), bar.get_width()) for bar in bars.patches] == [(1.5, 1.5)] * len(settings)
    assert bars.get_xlim()[0] < 1.5 and bars.get_xlim()[1] > 3
    assert [label.get_text().replace("\n", "") for label in bars.get_yticklabels()] == settings
    assert len(profile.lines) == len(profile.collections) == len(settings)
    assert "95 %" in figure.get_suptitle()
