from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acer_tf.errors import InputError
from acer_tf.logs.files import EpisodesCsv
from acer_tf.plots.curves import curve, mean_curve, read_returns
from acer_tf.segment import Episode
from tests.plots.samples import returns


def test_reads_what_a_run_writes(tmp_path: Path) -> None:
    sink = EpisodesCsv(tmp_path / "episodes.csv")
    sink.episodes([Episode(0, 2.5, 10, 0.1), Episode(1, -1.0, 12, 0.2)])
    sink.progress(40)
    sink.close()
    for source in (tmp_path, tmp_path / "episodes.csv"):
        steps, values = read_returns(source)
        np.testing.assert_array_equal(steps, [40, 40])
        np.testing.assert_array_equal(values, [2.5, -1.0])


def test_reads_a_recorded_curve_with_comments_and_columns_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# who, when\nlength,return,steps\n125,0,125\n# note\n129,3,254\n")
    steps, values = read_returns(tmp_path / "a.csv")
    np.testing.assert_array_equal(steps, [125, 254])
    np.testing.assert_array_equal(values, [0, 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#{"t_start": 1.0}\nr,l,t\n1,2,3\n', "lacks a column steps or return"),
        ("", "lacks a column"),
        ("steps,return\n", "no finished episode"),
        ("steps,return\n1,x\n", "no number"),
        ("steps,return\n1\n", "no number"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_other_files_are_input_errors(tmp_path: Path, text: str | bytes, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message):
        read_returns(tmp_path / "a.csv")


def test_missing_files_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_returns(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_returns(tmp_path / "absent")


def test_curve_averages_each_bin_and_leaves_empty_ones_out() -> None:
    c = curve("run", returns((1, 2), (10, 4), (11, 10), (35, 7)), width=10)
    assert c.label == "run"
    np.testing.assert_array_equal(c.steps, [10, 20, 40])
    np.testing.assert_array_equal(c.mean_return, [3, 10, 7])
    np.testing.assert_array_equal(c.episodes, [2, 1, 1])


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(-1000, 1000)), min_size=1, max_size=50),
    st.integers(1, 10**6),
)
def test_curve_counts_every_episode_once(episodes: list[tuple[int, int]], width: int) -> None:
    c = curve("run", returns(*episodes), width)
    assert c.episodes.sum() == len(episodes)
    np.testing.assert_allclose((c.episodes * c.mean_return).sum(), sum(r for _, r in episodes), atol=1e-6)
    assert (np.diff(c.steps) > 0).all()
    assert c.steps[-1] >= max(steps for steps, _ in episodes) > c.steps[-1] - width


@pytest.mark.parametrize("width", [0.0, -1.0, float("nan")])
def test_a_bin_needs_a_width(width: float) -> None:
    with pytest.raises(InputError, match="expected more than 0"):
        curve("run", returns((1, 2)), width)


def test_a_mean_over_runs_covers_what_all_have_and_fills_gaps() -> None:
    first = curve("a", returns((10, 0), (20, 10), (20, 30), (40, 40)), width=10)
    second = curve("b", returns((20, 10), (30, 20), (40, 20), (50, 99)), width=10)
    mean = mean_curve("both", [first, second])
    assert mean.label == "both"
    np.testing.assert_array_equal(mean.steps, [20, 30, 40])
    np.testing.assert_array_equal(mean.mean_return, [15, 25, 30])  # the first has 20, (30), 40; the second 10, 20, 20
    np.testing.assert_array_equal(mean.episodes, [3, 1, 2])
    np.testing.assert_array_equal(mean.seeds, [2, 2, 2])
    np.testing.assert_allclose(mean.deviation, np.array([10, 10, 20]) / np.sqrt(2))


def test_a_single_run_is_its_own_mean() -> None:
    single = curve("a", returns((10, 0), (40, 10)), width=10)
    mean = mean_curve("renamed", [single])
    assert mean.label == "renamed"
    np.testing.assert_array_equal(mean.steps, [10, 40])
    np.testing.assert_array_equal(mean.seeds, [1, 1])
    assert np.isnan(mean.deviation).all()


def test_runs_without_common_steps_have_no_mean() -> None:
    early, late = (curve("x", returns((steps, 1), (steps + 10, 2)), width=10) for steps in (10, 50))
    with pytest.raises(InputError, match="the runs of x have no steps in common"):
        mean_curve("x", [early, late])
