from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.experiments.collecting import collect
from acer_tf.experiments.results import read, write
from tests.experiments.samples import planned, result, run

RETURNS = [1.0, 2.0, 6.0, 4.0, 5.0]
WINDOW = (0.5, 1.0)
KEY = ("a", "A/B-v0", 3)


def test_a_run_becomes_bins_and_facts(tmp_path: Path) -> None:
    run(tmp_path, RETURNS, commit="abc", versions={"acer_tf": "1"}, lost_replay=[100])
    (tmp_path / "run" / "usage.csv").write_text("begin,end,seconds,processor_seconds\n0,500,9,7.5\n")
    found = collect(planned(tmp_path))
    assert found is not None and found.is_whole
    facts = dict(found.facts)
    assert facts.pop("settings") == {"env": "A/B-v0", "total_timesteps": 500}
    assert facts == {
        **{"variation": "a", "environment": "A/B-v0", "seed": 3, "steps": 500, "trained": 500, "episodes": 5},
        **{"last_100": 3.6, "seconds": 300, "processor_seconds": 7.5, "commit": "abc", "lost_replay": [100]},
        **{"cores": 2, "versions": {"acer_tf": "1"}},
    }
    assert found.training.steps.tolist() == [100, 200, 300, 400, 500] and found.training.mean.tolist() == RETURNS
    assert found.training.seconds.tolist() == [60, 120, 180, 240, 300]


def test_what_a_run_does_beyond_its_steps_is_in_its_last_bin(tmp_path: Path) -> None:
    run(tmp_path, RETURNS, steps=420)
    found = collect(planned(tmp_path, 420))
    assert found is not None and found.training.steps[-1] == 420 and found.training.mean[-1] == 5
    assert found.facts["trained"] == 500


def test_a_run_under_way_and_none_yet(tmp_path: Path) -> None:
    assert collect(planned(tmp_path)) is None
    run(tmp_path, RETURNS[:2])
    found = collect(planned(tmp_path))
    assert found is not None and not found.is_whole and found.facts["trained"] == 200
    (tmp_path / "run" / "checkpoints" / "step-000000000500").mkdir(parents=True)
    found = collect(planned(tmp_path))
    assert found is not None and found.is_whole  # the last episode ended long before the run did


def test_evaluations_are_kept(tmp_path: Path) -> None:
    run(tmp_path, RETURNS, eval_episodes=4, eval_deterministic=True)
    (tmp_path / "run" / "evaluations.csv").write_text("steps,episodes,mean_return\n250,4,1.5\n520,4,2.5\n")
    found = collect(planned(tmp_path))
    assert found is not None
    steps, mean, episodes, _ = found.evaluations
    assert (steps.tolist(), mean.tolist(), episodes.tolist()) == ([250, 500], [1.5, 2.5], [4, 4])
    assert (found.evaluations.score(0, 500), found.evaluations.score(250, 500)) == (2, 2.5)
    assert np.isnan(found.evaluations.score(0, 200)) and np.isnan(result(1.0).evaluations.score(0, 1000))
    write(tmp_path / "kept", [found], WINDOW)
    kept = read(tmp_path / "kept")[KEY]
    assert kept.facts["eval_deterministic"] is True
    for array, written in zip(found.evaluations, kept.evaluations, strict=True):
        np.testing.assert_array_equal(array, written)


def test_a_run_of_other_settings_is_refused(tmp_path: Path) -> None:
    run(tmp_path, RETURNS, gamma=0.9)
    with pytest.raises(InputError, match=r"has different settings: gamma 0\.9 \(now None\); choose another --out"):
        collect(planned(tmp_path))
    with pytest.raises(InputError, match=r"gamma 0\.9 \(now 0\.8\)"):
        collect(planned(tmp_path, gamma=0.8))
    assert collect(planned(tmp_path, gamma=0.9)) is not None
    with pytest.raises(InputError, match="has seed 3; expected 4"):
        collect(planned(tmp_path, gamma=0.9)._replace(seed=4))
