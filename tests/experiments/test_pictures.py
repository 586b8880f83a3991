import numpy as np

from acer_tf.experiments.findings import Findings
from acer_tf.experiments.pictures import averaged, draw, highest
from acer_tf.plots.curves import Curve
from tests.experiments.samples import evaluations, experiment, result

KEY = ("a", "CartPole-v1")


def test_pictures_are_those_for_which_there_is_something_to_draw() -> None:
    evaluated = result(1.0)._replace(evaluations=evaluations((500, 1.0), (1000, 2.0)))
    drawn = draw(Findings(experiment()._replace(over_time=True), {KEY: [evaluated]}, [], []))
    assert [picture.name for picture in drawn] == ["curves.png", "curves-minutes.png", "evaluations.png"]
    assert all(picture.content.startswith(b"\x89PNG") for picture in drawn)
    assert draw(Findings(experiment(), {KEY: []}, [], [])) == []


def test_several_environments_and_variations_have_an_aggregate_once_every_run_is_there() -> None:
    envs = ("CartPole-v1", "Acrobot-v1")
    results = {
        (variation, env): [result(score + seed, seed, variation, env) for seed in range(3)]
        for variation, score in (("a", 10.0), ("b", 20.0))
        for env in envs
    }
    names = [picture.name for picture in draw(Findings(experiment(envs=envs), results, [], []))]
    assert names == ["curves.png", "aggregate.png"]
    results["b", "Acrobot-v1"].pop()
    assert [picture.name for picture in draw(Findings(experiment(envs=envs), results, [], []))] == ["curves.png"]


def test_the_mean_is_of_whole_runs_or_else_of_long_ones() -> None:
    whole, begun = result(1.0, 0), [result(1.0, seed, trained=100 * seed) for seed in (4, 5, 9)]
    assert averaged([whole, *begun]) == [whole]
    assert [r.facts["seed"] for r in averaged(begun)] == [5, 9]


def test_of_many_curves_the_highest_of_each_environment_are_drawn() -> None:
    x, ones = np.arange(20.0), np.ones(20, np.int64)
    ends = [3.0, 50.0, *range(100, 111), 7.0]
    curves = [
        Curve(env, f"v{end}", x, np.where(x < 18, -end, end), ones, ones, x) for env in ("A-v0", "B-v0") for end in ends
    ]
    drawn = highest([*curves, curves[0]._replace(env="C-v0")])
    kept = [f"v{end}" for end in (50.0, *range(100, 111))]
    assert [(c.env, c.setting) for c in drawn] == [(e, v) for e in ("A-v0", "B-v0") for v in kept] + [("C-v0", "v3.0")]
