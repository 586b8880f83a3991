import math
from pathlib import Path

import pytest

from acer_tf.experiments.experiment import Criterion, Experiment, Reference
from acer_tf.reproduce.report import cost, find, summary_of_size, write_page
from acer_tf.reproduce.results import Result
from tests.reproduce.samples import experiment, result

REACHES = Criterion("reaches", "a", ("CartPole-v1",), (0.5, 1.0), values={"CartPole-v1": 10.0})
KEY = ("a", "CartPole-v1")


def page(folder: Path, whole: Experiment, *results: Result) -> str:
    write_page(folder, find(whole, {KEY: results}), "acer reproduce sample")
    return (folder / "README.md").read_text(encoding="utf-8")


def test_the_page_has_verdicts_scores_references_and_how_much_is_missing(tmp_path: Path) -> None:
    others = Reference("others", "S", {"CartPole-v1": 9.5}, None)
    whole = experiment(REACHES)._replace(references=(others,), tuned_with=(7,), note="N.")
    text = page(tmp_path, whole, *(result(score, seed) for seed, score in enumerate((11.0, 12.0, 16.0))))
    assert text.startswith(
        "# Sample\n\nC\n\nSource: S.\n\n**3 of 6 runs are complete; criteria: 1 of 1 reproduced.**\n\nN.\n"
    )
    assert "| a reaches 10, from 50 % to 100 % of the run | CartPole-v1 | 13, least 11 (3 seeds) | reproduced |" in text
    assert "| CartPole-v1 | a | 3 of 3 | 11, 12, 16 | 13 | 11 to 16 | 9.5 |" in text
    assert "* Seeds: 0, 1, 2. The settings were chosen with seeds 7." in text
    assert "    acer reproduce sample\n" in text and (tmp_path / "curves.png").exists()


def test_a_run_under_way_has_no_score(tmp_path: Path) -> None:
    text = page(tmp_path, experiment(REACHES), result(11.0, 0), result(12.0, 1, trained=999))
    assert "**1 of 6 runs are complete; criteria: 0 of 1 reproduced, 1 incomplete.**" in text
    assert "| CartPole-v1 | a | 1 of 3 | 11 | 11 |  |" in text


def test_minutes_are_drawn_where_the_experiment_wants_them(tmp_path: Path) -> None:
    assert "curves-minutes.png" not in page(tmp_path, experiment(REACHES), result(1.0))
    text = page(tmp_path, experiment(REACHES)._replace(over_time=True), result(1.0))
    assert "![The same over minutes of training](curves-minutes.png)" in text
    assert (tmp_path / "curves-minutes.png").exists()


def test_what_is_left_costs_what_the_others_did_or_what_the_file_says() -> None:
    found = cost(find(experiment(REACHES), {KEY: [result(1.0, 0), result(1.0, 1, trained=400)]}))
    # Of a: 5 s for 1,000 steps, so 3 s for the rest of one and 5 s for another; of b: three at 100 / 2 steps a second.
    assert found.left * 3600 == pytest.approx(3 + 5 + 3 * 20)
    assert found.spent * 3600 == 10 and math.isnan(found.processor)


def test_processor_time_is_told_if_every_run_has_it() -> None:
    first, second = (r._replace(facts={**r.facts, "processor_seconds": 9.0}) for r in (result(1.0, 0), result(1.0, 1)))
    assert cost(find(experiment(REACHES), {KEY: [first, second]})).processor * 3600 == 18
    assert math.isnan(cost(find(experiment(REACHES), {KEY: [first, result(1.0, 2)]})).processor)


def test_the_size_in_a_few_words() -> None:
    assert summary_of_size(experiment()) == "1 environment, 2 variations, 3 seeds, 1k steps"
    envs = experiment().envs
    two = experiment()._replace(envs=(*envs, envs[0]._replace(id="Acrobot-v1", steps=2_500_000)))
    assert summary_of_size(two) == "2 environments, 2 variations, 3 seeds, 1k to 2.5M steps"
