from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.experiments.results import check_same, collect, path_of, read, window_mean, write
from tests.experiments.samples import planned, result, run

RETURNS = [1.0, 2.0, 6.0, 4.0, 5.0]


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
    assert found.steps.tolist() == [100, 200, 300, 400, 500] and found.mean.tolist() == RETURNS
    assert found.seconds.tolist() == [60, 120, 180, 240, 300]


def test_what_a_run_does_beyond_its_steps_is_in_its_last_bin(tmp_path: Path) -> None:
    run(tmp_path, RETURNS, steps=420)
    found = collect(planned(tmp_path, 420))
    assert found is not None and found.steps[-1] == 420 and found.mean[-1] == 5
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
    expected = {"episodes": 4, "deterministic": True, "steps": [250, 500], "mean_return": [1.5, 2.5]}
    assert found.facts["evaluations"] == expected
    assert (found.evaluated(0, 500), found.evaluated(250, 500)) == (2, 2.5)
    assert np.isnan(found.evaluated(0, 200)) and np.isnan(result(1.0).evaluated(0, 1000))
    write(tmp_path / "kept.csv", found)
    assert read(tmp_path / "kept.csv").facts["evaluations"] == expected


def test_a_run_of_other_settings_is_refused(tmp_path: Path) -> None:
    run(tmp_path, RETURNS, gamma=0.9)
    with pytest.raises(InputError, match=r"is of other settings: gamma 0\.9 \(now None\); choose another --out"):
        collect(planned(tmp_path))
    with pytest.raises(InputError, match=r"gamma 0\.9 \(now 0\.8\)"):
        collect(planned(tmp_path, gamma=0.8))
    assert collect(planned(tmp_path, gamma=0.9)) is not None
    with pytest.raises(InputError, match="has seed 3; expected 4"):
        collect(planned(tmp_path, gamma=0.9)._replace(seed=4))


def test_a_file_holds_what_was_written(tmp_path: Path) -> None:
    run(tmp_path, [1 / 3, 1e6 / 7, *RETURNS], steps=700)
    kept, path = collect(planned(tmp_path, 700)), tmp_path / "x" / "y.csv"
    assert kept is not None
    write(path, kept)
    found = read(path)
    assert found.facts == kept.facts
    np.testing.assert_allclose(found.mean, kept.mean, rtol=5e-6)
    assert found.steps.tolist() == kept.steps.tolist() and found.episodes.tolist() == kept.episodes.tolist()
    assert "\n105,0.333333,1,63\n" in path.read_text()


def test_a_longer_result_replaces_a_shorter_one_and_nothing_else_does(tmp_path: Path) -> None:
    path = tmp_path / "seed-0.csv"
    write(path, result(1.0, trained=400))
    write(path, result(2.0, trained=900))
    write(path, result(3.0, trained=300))
    assert read(path).facts["trained"] == 900 and read(path).score(500, 1000) == 2
    other = result(4.0, trained=1000)
    changed = other._replace(facts={**other.facts, "settings": {"env": "CartPole-v1", "gamma": 0.5}})
    with pytest.raises(InputError, match=r"is of other settings: gamma None \(now 0\.5\); choose another --results"):
        write(path, changed)
    with pytest.raises(InputError, match=r"seed 0 \(now 1\)"):
        write(path, result(4.0, seed=1))
    assert read(path).facts["trained"] == 900


def test_a_result_is_checked_against_the_plan(tmp_path: Path) -> None:
    run(tmp_path, RETURNS)
    plan = planned(tmp_path)
    kept, path = collect(plan), path_of(tmp_path, plan)
    assert kept is not None and path == tmp_path / "a" / "A-B-v0" / "seed-3.csv"
    check_same(kept, plan, path)
    with pytest.raises(InputError, match=r"nsteps None \(now 5\); choose another --results"):
        check_same(kept, planned(tmp_path, nsteps=5), path)


def test_a_file_that_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "seed-0.csv"
    write(path, result(1.0))
    whole = path.read_text()
    assert read(path).facts["seed"] == 0
    for line, broken in (("seed: 0", "seed: x"), ("variation: a", "note: a"), ("  env: CartPole-v1", "- 1")):
        assert f"# {line}\n" in whole
        path.write_text(whole.replace(f"# {line}\n", f"# {broken}\n"))
        with pytest.raises(InputError, match=r"in its header; expected a result of acer reproduce"):
            read(path)
    path.write_text(whole.replace("250,0,1", "250,?,1"))
    with pytest.raises(InputError, match="is not a number"):
        read(path)


def test_a_window_is_open_below_closed_above_and_weighted_by_episodes() -> None:
    steps, mean, episodes = np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 3.0])
    assert window_mean(steps, mean, episodes, 10, 30) == pytest.approx((2 + 15) / 4)
    assert window_mean(steps, mean, episodes, 0, 10) == 1
    assert np.isnan(window_mean(steps, mean, episodes, 30, 40))
