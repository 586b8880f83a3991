import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.plots.curves import curve, mean_curve
from acer_tf.plots.figures import draw_curves, draw_intervals
from tests.plots.samples import CURVES, INTERVALS, returns


def test_the_band_is_drawn(tmp_path: Path) -> None:
    both = [curve("a", returns((10, 0), (40, y)), width=10) for y in (10, 30)]
    mean = mean_curve("a", both)
    draw_curves(tmp_path / "band.png", [mean])
    draw_curves(tmp_path / "line.png", [mean._replace(deviation=np.zeros_like(mean.deviation))])
    assert (cv2.imread(str(tmp_path / "band.png")) != cv2.imread(str(tmp_path / "line.png"))).any()


def test_picture_shows_both_curves(tmp_path: Path) -> None:
    draw_curves(tmp_path / "c.png", CURVES)
    draw_curves(tmp_path / "one.png", CURVES[:1])
    both, one = cv2.imread(str(tmp_path / "c.png")), cv2.imread(str(tmp_path / "one.png"))
    assert both.shape == one.shape == (600, 960, 3)
    assert (both != one).any()


def test_missing_matplotlib_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match="plots need matplotlib"):
        draw_curves(tmp_path / "c.png", CURVES)


def test_a_picture_shows_the_intervals(tmp_path: Path) -> None:
    draw_intervals(tmp_path / "one.png", INTERVALS, "raw return")
    draw_intervals(tmp_path / "other.png", [i._replace(high=2.5) for i in INTERVALS], "raw return")
    one, other = cv2.imread(str(tmp_path / "one.png")), cv2.imread(str(tmp_path / "other.png"))
    assert one.shape == other.shape and (one != other).any()
