import numpy as np
import pytest

from acer_tf.experiments.aggregate import aggregated
from acer_tf.experiments.findings import Findings
from acer_tf.experiments.results import Result, Returns
from tests.experiments.samples import experiment, result

ENVS = ("CartPole-v1", "Acrobot-v1")
FINAL = {"a": 20.0, "b": 10.0}


def linear(result: Result, scale: float) -> Result:
    """The result of a run whose return rises from nearly 0 to a value, in twenty bins of half a second."""
    share = np.arange(1, 21) / 20
    return result._replace(training=Returns(1000 * share, scale * share, np.ones(20), 10 * share))


def shifted(result: Result, offset: float) -> Result:
    """The result with all returns higher by an offset."""
    return result._replace(training=result.training._replace(mean=result.training.mean + offset))


def slower(result: Result) -> Result:
    """The result of a run that takes twice as long."""
    return result._replace(training=result.training._replace(seconds=2 * result.training.seconds))


def found(scales: dict[str, tuple[float, float]] | None = None, seeds: int = 3) -> Findings:
    """Runs of two variations; returns of an environment are `scale * share + offset`."""
    scales = scales or {"CartPole-v1": (1.0, 0.0), "Acrobot-v1": (100.0, -500.0)}
    results = {}
    for variation, final in FINAL.items():
        for env, (scale, offset) in scales.items():
            group = [linear(result(0.0, seed, variation, env), scale * final) for seed in range(seeds)]
            results[variation, env] = [shifted(r, offset) for r in group]
    return Findings(experiment(seeds=seeds, envs=tuple(scales)), results, [], [])


def test_every_environment_is_brought_to_one_scale() -> None:
    """In the first twentieth, runs return (1 + 0.5) / 2; the score of the best is the mean of .55 to 1 times 20."""
    bands = aggregated(found(), "steps")
    assert list(bands) == ["a", "b"]
    share = np.arange(1, 21) / 20
    assert bands["a"].x == pytest.approx(100 * share)
    low, high = 0.75, 20 * share[10:].mean()
    for name, final in FINAL.items():
        expected = (final * share - low) / (high - low)
        for values in bands[name][1:]:
            assert values == pytest.approx(expected)


def test_seeds_that_differ_have_an_interval() -> None:
    some = found()
    for env in ENVS:
        low, middle, high = some.results["a", env]
        changed = [shifted(low, -1), middle, shifted(high, 1)]
        some = some._replace(results={**some.results, ("a", env): changed})
    bands = aggregated(some, "steps")
    assert bands["a"].low[-1] < bands["a"].estimate[-1] < bands["a"].high[-1]
    assert bands["b"].low[-1] == pytest.approx(bands["b"].high[-1])


def test_minutes_end_with_the_first_run_of_a_variation() -> None:
    some = found()
    slow = [slower(r) for r in some.results["b", "Acrobot-v1"]]
    some = some._replace(results={**some.results, ("b", "Acrobot-v1"): slow})
    bands, steps = aggregated(some, "minutes"), aggregated(some, "steps")
    assert bands["a"].x[-1] == bands["b"].x[-1] == pytest.approx(10 / 60)
    assert bands["a"].estimate[-1] == pytest.approx(steps["a"].estimate[-1])
    assert bands["b"].estimate[-1] < steps["b"].estimate[-1]  # half of the runs are at their middle


def test_there_is_none_before_all_runs_are_there() -> None:
    some = found()
    missing = some._replace(results={**some.results, ("b", "Acrobot-v1"): some.results["b", "Acrobot-v1"][:2]})
    assert aggregated(missing, "steps") == {}


def test_there_is_none_for_one_environment_or_where_nothing_is_learned() -> None:
    assert aggregated(found({"CartPole-v1": (1.0, 0.0)}), "steps") == {}
    assert aggregated(found({"CartPole-v1": (1.0, 0.0), "Acrobot-v1": (0.0, -500.0)}), "steps") == {}


def test_where_environments_have_different_numbers_of_seeds_those_of_all_are_taken() -> None:
    some = found()
    first, *others = some.experiment.envs
    fewer = found(seeds=2).experiment._replace(envs=(first._replace(seeds=2), *others))
    *shared, last = some.results["a", "Acrobot-v1"]
    results = {**some.results, ("a", "Acrobot-v1"): [*shared, shifted(last, 999.0)]}
    uneven = some._replace(experiment=fewer, results=results)
    assert (uneven.needed, uneven.whole) == (2 * (2 + 3 * len(others)), 2 * (2 + 3 * len(others)))
    expected = aggregated(found(seeds=2), "steps")["a"].estimate
    assert aggregated(uneven, "steps")["a"].estimate == pytest.approx(expected)


def test_further_seeds_are_left_out() -> None:
    some = found()
    more = [*some.results["a", "CartPole-v1"], linear(result(0.0, 7), 999.0)]
    with_more = some._replace(results={**some.results, ("a", "CartPole-v1"): more})
    assert aggregated(with_more, "steps")["a"].estimate == pytest.approx(aggregated(some, "steps")["a"].estimate)
