import math
from pathlib import Path

import pytest

from acer_tf.search.curves import RUNGS, curve, final_return
from tests.plots.samples import write_run


def test_a_curve_goes_as_far_as_episodes_have_ended(tmp_path: Path) -> None:
    """Episodes end every 100 steps; a part has 150 steps."""
    run = write_run(tmp_path / "run", [1.0, 2.0, 3.0, 4.0])
    assert curve(run, 150 * RUNGS, is_done=False) == [1.0, 2.0]  # over by step 400: those of 150 and 300
    assert curve(run, 150 * RUNGS, is_done=True) == [1.0, 2.0] + [2.5] * (RUNGS - 2)


def test_before_the_first_episode_there_is_no_value(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [7.0])
    values = curve(run, 40 * RUNGS, is_done=False)
    assert len(values) == 2 and all(map(math.isnan, values))
    assert curve(tmp_path / "none", 100, is_done=False) == []
    assert len(curve(tmp_path / "none", 100, is_done=True)) == RUNGS


def test_the_last_part_is_over_when_the_training_is(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0] * 20)
    assert len(curve(run, 100 * RUNGS, is_done=False)) == RUNGS - 1
    assert len(curve(run, 100 * RUNGS, is_done=True)) == RUNGS


def test_only_the_last_hundred_episodes_count(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1000.0] * 50 + [1.0] * 100)
    assert final_return(run) == pytest.approx(1.0)
    assert curve(run, 15_000, is_done=True)[-1] == pytest.approx(1.0)
    assert math.isnan(final_return(tmp_path / "none"))
