import re
from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib.figure import Figure

from acer_tf.plots import references
from acer_tf.plots.curves import Curve
from acer_tf.plots.figures import View, figure_of_bands, figure_of_curves
from acer_tf.plots.references import ReferenceLine
from acer_tf.plots.style import rendered, styled
from tests.plots.samples import band, some_curve


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with styled():
        yield


def drawn(curves: list[Curve], view: View | None = None, references: tuple[ReferenceLine, ...] = ()) -> Figure:
    figure = figure_of_curves(curves, view or View(widths=(10,)), references)
    rendered(figure, ".png")
    return figure


def level(value: float, label: str = "human") -> ReferenceLine:
    return references.level("A-v0", label, value)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_each_environment_has_a_panel_and_a_setting_the_same_line_in_all() -> None:
    curves = [some_curve("A-v0", "x"), some_curve("A-v0", "y"), some_curve("B-v0", "y")]
    figure = drawn(curves)
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("A-v0", "B-v0")
    assert first.lines[1].get_color() == second.lines[0].get_color() != first.lines[0].get_color()
    np.testing.assert_array_equal(second.lines[0].get_xydata(), [[10, 2], [20, 10.5]])
    assert legend(figure) == ["x (1 seed)", "y (1 seed)"]


def test_what_lines_bands_and_points_are_is_told() -> None:
    text = drawn([some_curve("A-v0", "x", seeds=3)]).get_suptitle()
    assert "means over seeds" in text and "Bands: ± one standard deviation" in text
    assert "Smoothing: means over 10 agent steps." in " ".join(text.split())
    assert "No band" not in text
    text = drawn([some_curve("A-v0", "x")], View(widths=(1e5, 200, 1000))).get_suptitle()
    assert "means over 200 to 100k agent steps." in " ".join(text.split())
    text = drawn([some_curve("A-v0", "x")], View("eval")).get_suptitle()
    assert text == "No band below 3 seeds."


@pytest.mark.parametrize(("seeds", "bands"), [(1, 0), (2, 0), (3, 1)])
def test_bands_begin_at_three_seeds(seeds: int, bands: int) -> None:
    figure = drawn([some_curve("A-v0", "x", seeds)])
    assert len(figure.axes[0].collections) == bands
    assert legend(figure) == [f"x ({seeds} seed{'s' if seeds > 1 else ''})"]


def test_axes_have_units() -> None:
    axes = drawn([some_curve("A-v0", "x")], View("entropy", "hours", (1.0, 2.0))).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("hours of training", "entropy (nat)")
    axes = drawn([some_curve("A-v0", "x")], View("mean_rho")).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("agent steps", "mean_rho")


def test_panels_have_the_same_size_whatever_is_in_the_legend() -> None:
    names = ["x", *(f"a_setting_with_a_long_name={i}, another_setting_with_a_long_name={i}" * 2 for i in range(12))]
    sizes = []
    for settings in (names[:1], names):
        figure = drawn([some_curve("A-v0", name) for name in settings])
        box = figure.axes[0].get_position()
        sizes.append((box.width * figure.get_figwidth(), box.height * figure.get_figheight()))
        below = figure.legends[0].get_window_extent()
        assert below.x0 >= 0 and below.x1 <= figure.bbox.width and below.y0 >= 0
        assert below.y1 <= figure.axes[0].xaxis.label.get_window_extent().y0
    np.testing.assert_allclose(*sizes, rtol=0.15)


def test_names_are_text_and_nothing_else() -> None:
    figure = drawn([some_curve("A-$v0", name) for name in ("_hidden", r"$\frac$", "<b>")])
    assert legend(figure) == ["_hidden (1 seed)", r"$\frac$ (1 seed)", "<b> (1 seed)"]


def test_references_are_grey_and_have_their_band() -> None:
    points = np.array([0.0, 20.0])
    reference = ReferenceLine("A-v0", "paper", points, points, (points - 1, points + 1))
    figure = drawn([some_curve("A-v0", "x")], references=(reference,))
    assert legend(figure) == ["x (1 seed)", "paper"]
    assert figure.axes[0].lines[1].get_linestyle() == "--"
    assert len(figure.axes[0].collections) == 1


def test_a_reference_of_few_points_has_markers() -> None:
    curves = [np.arange(float(count)) for count in (10, 11)]
    references = tuple(ReferenceLine("A-v0", f"{len(x)}", x, x) for x in curves)
    markers = [line.get_marker() for line in drawn([some_curve("A-v0", "x")], references=references).axes[0].lines]
    assert markers[1:] == ["o", "None"]


def test_a_level_is_a_line_unless_it_would_flatten_the_curves() -> None:
    near = drawn([some_curve("A-v0", "x")], references=(level(15.0),)).axes[0]
    assert len(near.lines) == 2 and near.get_ylim()[1] > 15
    far = drawn([some_curve("A-v0", "x")], references=(level(42054.7),)).axes[0]
    assert len(far.lines) == 1 and far.get_ylim()[1] < 15
    assert far.texts[0].get_text() == "↑ human: 42,054.7"


def test_levels_are_told_apart_and_far_ones_named_together() -> None:
    levels = {"PPO": 14.0, "SAC": 900.0, "TD3": 15.0, "A2C": 11.0, "DDPG": 800.0, "TRPO": -900.0, "ACKTR": 12.0}
    panel = drawn([some_curve("A-v0", "x")], references=tuple(level(y, name) for name, y in levels.items())).axes[0]
    assert [text.get_text() for text in panel.texts] == ["↑ SAC: 900.0\n↑ DDPG: 800.0", "↓ TRPO: -900.0"]
    lines = panel.lines[1:]
    assert {line.get_ydata()[0] for line in lines} == {14, 15, 11, 12}
    five = drawn([some_curve("A-v0", "x")], references=tuple(level(y, f"{y}") for y in (10.0, 11.0, 12.0, 13.0, 14.0)))
    patterns = re.findall(rb"stroke-dasharray: ([^;]+)", rendered(five, ".svg"))
    assert len(set(patterns)) == 2 * 5  # in the panel and, as thicker lines, in the legend


def test_a_panel_of_bands_for_each_axis() -> None:
    panels = {"steps": {"a": band([1, 2], [3, 4]), "b": band([1, 2], [5, 6])}, "minutes": {"a": band([7, 8], [3, 4])}}
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
    figure = figure_of_bands({"steps": {s: band([1, 2], [3, 4]) for s in settings}}, "return")
    rendered(figure, ".png")
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    assert 0 <= box.y0 < box.y1 <= figure.axes[0].xaxis.label.get_window_extent().y0
