from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.experiments.experiment import Criterion, Experiment, Reference, Variation
from acer_tf.experiments.findings import find
from acer_tf.experiments.markdown import check_index, rows, write_index, write_page
from acer_tf.experiments.pictures import MOST_CURVES
from acer_tf.experiments.reading import experiment_names, load_experiment
from acer_tf.experiments.results import Result
from tests.experiments.samples import evaluations, experiment, result

REACHES = Criterion("reaches", "a", ("CartPole-v1",), (0.5, 1.0), values={"CartPole-v1": 10.0})
KEY = ("a", "CartPole-v1")


def page(folder: Path, whole: Experiment, *results: Result) -> str:
    write_page(folder, find(whole, {KEY: results}), "acer reproduce sample")
    return (folder / "README.md").read_text(encoding="utf-8")


def test_the_page_has_verdicts_scores_references_and_how_much_is_missing(tmp_path: Path) -> None:
    others = Reference("others", "S", {"CartPole-v1": 9.5}, None)
    whole = experiment(REACHES)._replace(references=(others,), tuned_with=(7,), note="N.")
    text = page(tmp_path, whole, *(result(score, seed) for seed, score in enumerate((12.0, 12.5, 14.5))))
    assert text.startswith(
        "# Sample\n\nC\n\nSource: S.\n\n**3 of 6 runs are complete; criteria: 0 of 1 reproduced, 1 undecided.**\n\nN.\n"
    )
    numbers = "13 [9.714, 16.29], least 12 (3 seeds)"
    assert f"| a reaches 10, from 50 % to 100 % of the run | CartPole-v1 | {numbers} | undecided |" in text
    assert "| CartPole-v1 | a | 3 of 3 | 12, 12.5, 14.5 | 13 | 9.714 to 16.29 | 0.1 | 9.5 |" in text
    assert "* Seeds: 0, 1, 2. The settings were chosen with seed 7." in text
    assert "    acer reproduce sample\n" in text and (tmp_path / "curves.png").exists()


def test_a_page_without_criteria_has_no_table_of_them(tmp_path: Path) -> None:
    text = page(tmp_path, experiment(), result(12.0))
    assert "\n\n**1 of 6 runs are complete; no criteria.**\n\n![" in text and "| criterion |" not in text


def test_evaluations_have_a_table_with_the_references_and_a_picture(tmp_path: Path) -> None:
    others = Reference("others", "S", {"CartPole-v1": 25.0}, None)
    whole = experiment(REACHES)._replace(references=(others,))
    evaluated = [
        result(11.0, seed)._replace(evaluations=evaluations((200, 1.0), (500, 30.0), (1000, 20.0 + seed)))
        for seed in (0, 1)
    ]
    text = page(tmp_path, whole, *evaluated, result(11.0, 2))
    assert "| environment | variation | evaluations | mean | interval | best | others |\n" in text
    assert "| CartPole-v1 | a | 20, 21 | 20.5 |  | 30 | 25 |" in text
    assert "| CartPole-v1 | a | 3 of 3 | 11, 11, 11 | 11 | 11 to 11 | 0.1 |\n" in text
    assert "(evaluations.png)" in text and (tmp_path / "evaluations.png").exists()
    assert "valuations" not in page(tmp_path, whole, result(11.0))
    once = evaluated[0]._replace(evaluations=evaluations((1000, 20.0)))
    assert "evaluations.png" not in page(tmp_path, whole, once)


def test_a_run_under_way_has_no_score(tmp_path: Path) -> None:
    text = page(tmp_path, experiment(REACHES), result(11.0, 0), result(12.0, 1, trained=999))
    assert "**1 of 6 runs are complete; criteria: 0 of 1 reproduced, 1 incomplete.**" in text
    assert "| CartPole-v1 | a | 1 of 3 | 11 | 11 |  | 0.1 |" in text
    assert "| CartPole-v1 | a | 1 | 999 of 1,000 | 12 | 8.25 |\n" in text
    assert "| 1 | 100 of 1,000 | 12 |  |\n" in page(tmp_path, experiment(REACHES), result(12.0, 1, trained=100))
    assert "Under way" not in page(tmp_path, experiment(REACHES), result(11.0, 0))


def test_a_run_under_way_stands_beside_the_references_at_the_same_steps(tmp_path: Path) -> None:
    curves = tmp_path / "others.csv"
    rows = ("400,3", "500,4", "600,5", "1000,90")
    curves.write_text("environment,seed,steps,mean_return,episodes\n" + "".join(f"CartPole-v1,,{r},\n" for r in rows))
    others = Reference("others", "S", {}, curves), Reference("level", "S", {"CartPole-v1": 95.0}, None)
    whole = experiment(REACHES)._replace(references=others, score=(0.8, 1.0))
    text = page(tmp_path, whole, result(12.0, 1, trained=600))
    assert "| environment | variation | seed | steps | last 100 | mean | others |\n" in text
    assert "| CartPole-v1 | a | 1 | 600 of 1,000 | 12 | 0 | 4.5 |\n" in text


def test_the_curve_of_a_run_under_way_ends_with_its_last_whole_bin(tmp_path: Path) -> None:
    whole = experiment(REACHES)
    pictures = []
    for trained in (1000, 999, 750):
        page(tmp_path, whole, result(12.0, trained=trained))
        pictures.append((tmp_path / "curves.png").read_bytes())
    assert pictures[0] != pictures[1] == pictures[2]
    assert "![" not in page(tmp_path, whole, result(12.0, trained=100))


def test_further_seeds_are_told(tmp_path: Path) -> None:
    text = page(tmp_path, experiment(REACHES), *(result(11.0, seed) for seed in (0, 1, 2, 7, 5)))
    assert "| CartPole-v1 | a | 3 of 3 and 2 more | 11, 11, 11, 11, 11 |" in text
    assert "* Seeds: 0, 1, 2; some settings also have 5, 7." in text
    assert "**3 of 6 runs are complete; criteria: 1 of 1 reproduced.**" in text


def test_the_first_and_the_last_stand_for_many_seeds(tmp_path: Path) -> None:
    many = experiment(seeds=11)
    for tuned_with, seeds in (((), "0 to 10"), ((3,), "0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11")):
        text = page(tmp_path, many._replace(tuned_with=tuned_with), result(11.0))
        assert f"* Seeds: {seeds}." in text


def test_seeds_are_told_by_environment_where_their_numbers_differ(tmp_path: Path) -> None:
    whole = experiment(REACHES, envs=("CartPole-v1", "Acrobot-v1"))
    envs = whole.envs[0]._replace(seeds=1), whole.envs[1]
    runs = [result(11.0, seed) for seed in (0, 2)] + [result(11.0, 2, env="Acrobot-v1")]
    text = page(tmp_path, whole._replace(envs=envs), *runs)
    assert "* Seeds: 0 (CartPole-v1); 0, 1, 2 (Acrobot-v1); some settings also have 2." in text
    assert "**2 of 8 runs are complete;" in text


def test_versions_commits_and_cores_are_told_once_each(tmp_path: Path) -> None:
    known = [{"versions": {"acer_tf": "1.0"}, "commit": c, "cores": n} for c, n in (("bb", 2), ("aa", 1), ("bb", 1))]
    runs = [result(11.0, seed) for seed in (0, 1, 2)]
    runs = [one._replace(facts={**one.facts, **facts}) for one, facts in zip(runs, known, strict=True)]
    assert "\n* acer_tf 1.0, commits aa, bb, on 1 or 2 cores.\n" in page(tmp_path, experiment(REACHES), *runs)
    assert "\n* acer_tf 1.0, commit aa, on 1 core.\n" in page(tmp_path, experiment(REACHES), runs[1])


def test_of_many_variations_the_highest_are_drawn_and_the_page_says_so(tmp_path: Path) -> None:
    whole = experiment(REACHES)
    assert f"({MOST_CURVES} highest" not in page(tmp_path, whole, result(1.0))
    many = whole._replace(variations=(*whole.variations, *(Variation(f"v{i}", {}, 1.0) for i in range(11))))
    assert "![Mean raw return over agent steps (12 highest of each environment)](curves.png)" in page(
        tmp_path, many, result(1.0)
    )


def test_minutes_are_drawn_where_the_experiment_wants_them(tmp_path: Path) -> None:
    assert "curves-minutes.png" not in page(tmp_path, experiment(REACHES), result(1.0))
    text = page(tmp_path, experiment(REACHES)._replace(over_time=True), result(1.0))
    assert "![The same over minutes of training](curves-minutes.png)" in text
    assert (tmp_path / "curves-minutes.png").exists()


def test_a_page_leaves_nothing_of_writers_that_were_killed(tmp_path: Path) -> None:
    for name in (".tmp-README.md-18032", ".tmp-curves.png-7"):
        (tmp_path / name).touch()
    page(tmp_path, experiment(REACHES), result(1.0))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "curves.png"]


def test_the_page_lists_every_experiment_and_links_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "README.md").touch()
    write_index(tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    for name in experiment_names():
        shown = "[zoo](zoo/README.md)" if name == "zoo" else name
        assert f"| {shown} | {load_experiment(name).claim} (" in text
    assert "| 0 of 20 | about 56 min | not run |" in text
    missing = text.split("## Not started, or incomplete")[1]
    assert "| zoo | 20 of 20 | 56 min | `acer reproduce zoo --workers 2` |" in missing and "(citing.md)" in text
    write_index(tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == text


def test_the_page_links_the_searches_if_there_are_some(tmp_path: Path) -> None:
    write_index(tmp_path)
    assert "searches.md" not in (tmp_path / "README.md").read_text(encoding="utf-8")
    (tmp_path / "searches.md").touch()
    write_index(tmp_path)
    assert "[searches.md](searches.md)" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_time_is_what_was_spent_and_what_is_left(tmp_path: Path) -> None:
    def time(*seconds: float) -> str:
        found = [result(1.0, seed) for seed in range(len(seconds))]
        found = [r._replace(facts={**r.facts, "seconds": s}) for r, s in zip(found, seconds, strict=True)]
        ((_, _, time, _, _),) = rows([find(experiment(seeds=2), {("a", "CartPole-v1"): found})])
        return time

    assert time() == "about 1 min"  # 10 s a run of a, 20 s one of b
    assert time(36_000) == "10 h spent, about 10 h left"
    assert time(600, 1200) == "30 min spent, about 1 min left"


def test_a_page_of_somebody_else_is_kept(tmp_path: Path) -> None:
    check_index(tmp_path)
    (tmp_path / "README.md").write_text("# My thesis")
    with pytest.raises(InputError, match="was not written by acer reproduce; choose another folder with --results"):
        check_index(tmp_path)
    with pytest.raises(InputError, match="was not written by"):
        write_index(tmp_path)
    assert (tmp_path / "README.md").read_text() == "# My thesis"


@pytest.mark.parametrize("name", ["citing.md", "settings.csv"])
def test_other_files_of_somebody_else_are_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=f"{name} was not written by acer reproduce"):
        write_index(tmp_path)
    assert (tmp_path / name).read_text() == "mine"
