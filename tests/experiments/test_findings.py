from pathlib import Path

import pytest

from acer_tf.experiments.experiment import Criterion
from acer_tf.experiments.findings import cost, find, read_results, summary_of_size
from acer_tf.experiments.results import write
from tests.experiments.samples import experiment, result

REACHES = Criterion("reaches", "a", ("CartPole-v1",), (0.5, 1.0), values={"CartPole-v1": 10.0})
KEY = ("a", "CartPole-v1")


def test_what_is_left_costs_what_the_others_did_or_what_the_file_says() -> None:
    found = cost(find(experiment(REACHES), {KEY: [result(1.0, 0), result(1.0, 1, trained=400)]}))
    # Of a: 5 s for 1,000 steps, so 3 s for the rest of one and 5 s for another; of b: three at 100 / 2 steps a second.
    assert found.left * 3600 == pytest.approx(3 + 5 + 3 * 20)
    assert found.spent * 3600 == 10 and found.noted == 0


def test_processor_time_is_that_of_the_runs_that_noted_it() -> None:
    first, second = (r._replace(facts={**r.facts, "processor_seconds": 9.0}) for r in (result(1.0, 0), result(1.0, 1)))
    found = cost(find(experiment(REACHES), {KEY: [first, second, result(1.0, 2)]}))
    assert (found.processor * 3600, found.noted) == (18, 2)


def test_the_size_in_a_few_words() -> None:
    assert summary_of_size(experiment()) == "1 environment, 2 variations, 3 seeds, 1k steps"
    envs = experiment().envs
    two = experiment()._replace(envs=(*envs, envs[0]._replace(id="Acrobot-v1", steps=2_500_000)))
    assert summary_of_size(two) == "2 environments, 2 variations, 3 seeds, 1k to 2.5M steps"
    uneven = two._replace(envs=(two.envs[0]._replace(seeds=1), two.envs[1]))
    assert summary_of_size(uneven) == "2 environments, 2 variations, 1 to 3 seeds, 1k to 2.5M steps"
    assert summary_of_size(experiment(seeds=1)) == "1 environment, 2 variations, 1 seed, 1k steps"


def test_results_are_those_of_the_experiments_steps_ordered_by_seed(tmp_path: Path) -> None:
    short = result(1.0, 3)
    short = short._replace(facts={**short.facts, "steps": 10})
    write(tmp_path, [result(1.0, 10), result(1.0, 9), short, result(1.0, 3, "c")], (0.5, 1.0))
    found = read_results(tmp_path, experiment())
    assert [*found] == [("a", "CartPole-v1"), ("b", "CartPole-v1")]
    assert [r.facts["seed"] for r in found["a", "CartPole-v1"]] == [9, 10]
    assert found["b", "CartPole-v1"] == []


def test_seeds_that_settings_were_tuned_with_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, [result(1.0, seed) for seed in (0, 1, 5)], (0.5, 1.0))
    found = read_results(tmp_path, experiment()._replace(first_seed=2, tuned_with=(0, 1)))
    assert [r.facts["seed"] for r in found[KEY]] == [5]
