from pathlib import Path

import numpy as np
import pytest

from acer_tf.envs.atari.human_scores import human_normalized
from acer_tf.envs.ids import is_atari
from acer_tf.experiments.experiment import Reference
from acer_tf.experiments.published import read_reference_runs, reference_final, reference_scores, to_draw
from acer_tf.experiments.reading import experiment_names, load_experiment
from tests.experiments.samples import experiment

ROWS = """\
# theirs
environment,seed,steps,mean_return,episodes
CartPole-v1,0,100,1,2
CartPole-v1,0,200,4,1
CartPole-v1,1,100,2,1
CartPole-v1,1,200,5,1
CartPole-v1,2,100,3,1
Acrobot-v1,,100,7,
"""


def test_runs_of_a_file_and_what_is_drawn_of_them(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text(ROWS)
    curves = Reference("theirs", "S", {}, tmp_path / "theirs.csv")
    level = Reference("others", "S", {"CartPole-v1": 9.0, "Unknown-v0": 1.0}, None)
    e = experiment()._replace(references=(curves, level))
    runs = read_reference_runs(e)
    assert [(r.env, r.seed, r.returns.steps.tolist()) for r in runs] == [
        ("CartPole-v1", "0", [100, 200]),
        ("CartPole-v1", "1", [100, 200]),
        ("CartPole-v1", "2", [100]),
        ("Acrobot-v1", "", [100]),
    ]
    mean, drawn = to_draw(e, runs, {"CartPole-v1": 200})
    assert (mean.env, mean.label, mean.x.tolist(), mean.mean.tolist()) == (
        "CartPole-v1",
        "theirs",
        [100, 200],
        [2, 4.5],
    )
    assert mean.band is not None
    low, high = mean.band
    assert (low[0], high[0]) == pytest.approx((1, 3)) and np.isnan(low[1])  # of two seeds no band
    assert (drawn.label, drawn.mean.tolist(), len(drawn.x)) == ("others", [9], 0)


def test_the_rows_of_a_file_may_be_in_any_order(tmp_path: Path) -> None:
    header, columns, *rows = ROWS.splitlines(keepends=True)
    runs = []
    for text in (ROWS, "".join([header, columns, *reversed(rows)])):
        (tmp_path / "theirs.csv").write_text(text)
        e = experiment()._replace(references=(Reference("theirs", "S", {}, tmp_path / "theirs.csv"),))
        runs.append({(r.env, r.seed): [a.tolist() for a in r.returns[:3]] for r in read_reference_runs(e)})
    assert runs[0] == runs[1] and runs[0]["CartPole-v1", "0"] == [[100, 200], [1, 4], [2, 1]]


def test_references_are_drawn_as_far_as_runs_have_come(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text(ROWS)
    theirs = Reference("theirs", "S", {}, tmp_path / "theirs.csv")
    e = experiment()._replace(references=(theirs,))
    runs = read_reference_runs(e)
    first, other = to_draw(e, runs, {"CartPole-v1": 150, "Acrobot-v1": 150})
    assert (first.env, first.x.tolist(), first.mean.tolist()) == ("CartPole-v1", [100], [2])
    assert (other.env, other.x.tolist(), other.mean.tolist()) == ("Acrobot-v1", [100], [7])
    assert to_draw(e, runs, {"CartPole-v1": 99}) == []


def test_scores_are_of_runs_that_go_on_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text(ROWS)
    theirs = Reference("theirs", "S", {}, tmp_path / "theirs.csv")
    runs = read_reference_runs(experiment()._replace(references=(theirs,)))
    assert reference_scores(runs, "theirs", "CartPole-v1", 0, 200).tolist() == [2, 3.5]  # weighted by episodes
    assert reference_scores(runs, "theirs", "CartPole-v1", 0, 210).tolist() == [2, 3.5]  # 200 is near enough to 210
    assert reference_scores(runs, "theirs", "CartPole-v1", 0, 100).tolist() == [1, 2, 3]
    assert not len(reference_scores(runs, "theirs", "CartPole-v1", 0, 220))
    assert not len(reference_scores(runs, "nobody", "CartPole-v1", 0, 100))


@pytest.mark.parametrize("name", experiment_names())
def test_references_that_ship_are_about_environments_of_the_experiment(name: str) -> None:
    e = load_experiment(name)
    envs = {env.id for env in e.envs}
    assert {run.env for run in read_reference_runs(e)} <= envs
    assert {env for reference in e.references for env in reference.numbers} <= envs
    awaited = [reference.label for reference in e.references if reference.same_seeds]
    for criterion in (criterion for criterion in e.criteria if criterion.reference not in awaited):
        for env in (env for env in e.envs if criterion.reference and env.id in criterion.envs):
            begin, end = (fraction * env.steps for fraction in criterion.window)
            assert len(reference_scores(read_reference_runs(e), criterion.reference, env.id, begin, end)) >= (
                1 if criterion.of == "area" else 3
            )


def test_the_final_score_is_that_of_the_longest_runs(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text(ROWS)
    runs = read_reference_runs(
        experiment()._replace(references=(Reference("theirs", "S", {}, tmp_path / "theirs.csv"),))
    )
    assert reference_final(runs, "theirs", "CartPole-v1") == 4.5
    assert np.isnan(reference_final(runs, "theirs", "Pendulum-v1"))


@pytest.mark.parametrize("name", experiment_names())
def test_games_that_the_published_agent_has_not_learned_have_no_criterion(name: str) -> None:
    e = load_experiment(name)
    share = 0.8 if name in ("paper-atari", "baselines-atari") else 1.0  # of the way from random play
    runs = read_reference_runs(e)
    for criterion in e.criteria:
        for env in (env for env in criterion.envs if is_atari(env)):
            values = criterion.values or {env: reference_final(runs, criterion.reference, env)}
            if criterion.kind != "better":
                normalized = human_normalized(env, values[env])
                assert normalized is not None and normalized / share >= 0.05, env


def test_the_published_curves_are_whole() -> None:
    runs = {run.env: run.returns for run in read_reference_runs(load_experiment("baselines-atari-5m"))}
    assert {len(returns.steps) for returns in runs.values()} == {99}
    breakout = runs["BreakoutNoFrameskip-v4"]
    assert breakout.score(9e6, 10e6) == pytest.approx(440.3, abs=0.1)
    assert breakout.area(0, 5e6) == pytest.approx(81.1, abs=0.1)


def test_the_recorded_original_is_what_it_was() -> None:
    runs = read_reference_runs(load_experiment("minatar-original"))
    breakout = reference_scores(runs, "baselines", "MinAtar/Breakout-v1", 200_000, 300_000)
    np.testing.assert_allclose(breakout, [4.930, 4.992, 5.081, 5.138, 5.013, 5.089, 5.063], atol=2e-3)
    assert len(reference_scores(runs, "baselines", "MinAtar/Breakout-v1", 120_000, 150_000)) == 11
