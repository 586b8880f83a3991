import numpy as np
import pytest

from acer_tf.plots.interval_figures import Performance, figure_of_bands, figure_of_performance
from acer_tf.plots.intervals import AGGREGATES, Band, Interval
from acer_tf.plots.style import rendered, styled


def band(x: list[float], estimate: list[float], width: float = 0.1) -> Band:
    values = np.array(estimate)
    return Band(np.array(x), values, values - width, values + width)


@pytest.mark.parametrize("settings", [["a"], ["a", "_b $", "c" * 90]])
def test_every_estimate_is_drawn_and_named(settings: list[str]) -> None:
    found = Performance(
        unit="raw return",
        axis="agent steps",
        intervals=[Interval(s, name, 2.0, 1.5, 3.0) for name in AGGREGATES for s in settings],
        profiles={s: band([0, 5], [1, 0]) for s in settings},
        efficiency={s: band([0, 1e6], [0, 3]) for s in settings},
        improvements={s: band([0], [0.75]) for s in settings[1:]},
    )
    with styled():
        figure = figure_of_performance(found)
        rendered(figure, ".png")
    titles = ["IQM", "median", "mean", "performance profile", "sample efficiency", "probability of improvement"]
    assert [axes.get_title() for axes in figure.axes] == titles[: 5 + (len(settings) > 1)]
    bars, profile = figure.axes[0], figure.axes[3]
    assert [(bar.get_x(), bar.get_width()) for bar in bars.patches] == [(1.5, 1.5)] * len(settings)
    assert bars.get_xlim()[0] < 1.5 and bars.get_xlim()[1] > 3
    assert [label.get_text().replace("\n", "") for label in bars.get_yticklabels()] == settings
    assert len(profile.lines) == len(profile.collections) == len(settings)
    assert "95 %" in figure.get_suptitle()


def test_a_panel_of_bands_for_each_axis() -> None:
    panels = {"steps": {"a": band([1, 2], [3, 4]), "b": band([1, 2], [5, 6])}, "minutes": {"a": band([7, 8], [3, 4])}}
    with styled():
        figure = figure_of_bands(panels, "return")
        rendered(figure, ".png")
    left, right = figure.axes
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in (left, right)] == [
        ("steps", "return"),
        ("minutes", "return"),
    ]
    assert [list(line.get_ydata()) for line in left.lines] == [[3, 4], [5, 6]]
    assert [list(line.get_xdata()) for line in right.lines] == [[7, 8]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_a_legend_of_many_settings_stays_within_the_figure() -> None:
    settings = [f"no-trust-region-{i}" for i in range(6)]
    with styled():
        figure = figure_of_bands({"steps": {s: band([1, 2], [3, 4]) for s in settings}}, "return")
        rendered(figure, ".png")
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    assert 0 <= box.y0 < box.y1 <= figure.axes[0].xaxis.label.get_window_extent().y0
