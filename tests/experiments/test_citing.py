import csv
import dataclasses
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.config import Config, Continuous
from acer_tf.experiments.citing import CITING, SETTINGS, citing_files, steps_to
from acer_tf.experiments.experiment import Criterion
from acer_tf.experiments.findings import find
from tests.experiments.samples import experiment, result

RESULTS = Path(__file__).parents[2] / "docs" / "results"
REACHES = Criterion("reaches", "a", ("CartPole-v1",), (0.5, 1.0), values={"CartPole-v1": 10.0})
MINATAR = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def cited(name: str) -> dict[tuple[str, str], list[str]]:
    """The numbers of the page about an experiment, by environment and variation."""
    section = (RESULTS / CITING).read_text(encoding="utf-8").split(f"\n## {name}\n")[1].split("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line.count(" | ") > 5]
    return {(row[0], row[1]): row for row in cells[1:]}


def curves(name: str, env: str, variation: str) -> dict[str, Any]:
    """Arrays [bins, 3] of steps, mean return and episodes, by seed."""
    found: dict[str, list[list[float]]] = {}
    for row in rows(RESULTS / name / "curves.csv"):
        if (row["environment"], row["variation"], row["kind"]) == (env, variation, "training"):
            numbers = [float(row[column]) for column in ("steps", "mean_return", "episodes")]
            found.setdefault(row["seed"], []).append(numbers)
    return {seed: np.array(points) for seed, points in found.items()}


def score(curve: Any, begin: float, end: float) -> float:
    inside = curve[(curve[:, 0] > begin) & (curve[:, 0] <= end)]
    return float((inside[:, 1] * inside[:, 2]).sum() / inside[:, 2].sum()) if len(inside) else math.nan


def area(curve: Any, steps: int) -> float:
    x = np.concatenate([[0], curve[:, 0], [steps]])
    y = np.concatenate([curve[:1, 1], curve[:, 1], curve[-1:, 1]])
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum() / steps)


def number(cell: str) -> float:
    return float(cell.split()[0].replace(",", ""))


@pytest.mark.parametrize("game", MINATAR)
def test_the_numbers_of_minatars_preset_follow_from_the_csv_files(game: str) -> None:
    env, steps = f"MinAtar/{game}-v1", 1_000_000
    by_variation = {name: curves("presets-minatar", env, name) for name in ("original", "preset")}
    scores = {name: np.array([score(c, 9e5, 1e6) for c in by.values()]) for name, by in by_variation.items()}
    low = np.mean([score(c, 0, steps / 20) for by in by_variation.values() for c in by.values()])
    level = (low + max(values.mean() for values in scores.values())) / 2
    for name, by_seed in by_variation.items():
        _, _, seeds, mean, middle, human, areas, threshold, reached, _ = cited("presets-minatar")[env, name]
        assert (int(seeds), human) == (5, "")
        assert number(mean) == pytest.approx(scores[name].mean(), rel=1e-3)
        assert number(middle) == pytest.approx(np.sort(scores[name])[1:-1].mean(), rel=1e-3)
        assert number(areas) == pytest.approx(np.mean([area(c, steps) for c in by_seed.values()]), rel=1e-3)
        assert number(threshold) == pytest.approx(level, rel=1e-3)
        firsts = [
            next((x for x in curve[:, 0] if x >= steps / 20 and score(curve, x - steps / 20, x) >= level), math.inf)
            for curve in by_seed.values()
        ]
        assert reached.endswith(f"({np.isfinite(firsts).sum()})")
        assert reached.startswith("-") if math.isinf(np.median(firsts)) else number(reached) == np.median(firsts)


def test_atari_scores_are_human_normalised() -> None:
    row = cited("presets-atari")["PongNoFrameskip-v4", "preset"]
    assert number(row[5]) == pytest.approx((number(row[3]) + 20.7) / (14.6 + 20.7), abs=2e-3)


def test_seconds_and_commits_are_those_of_the_csv_file() -> None:
    runs = rows(RESULTS / "zoo" / "seeds.csv")
    seconds = [float(run["seconds"]) for run in runs]
    page = (RESULTS / CITING).read_text(encoding="utf-8").split("\n## zoo\n")[1]
    assert f"* Runs: {len(runs)}, {sum(seconds) / 3600:.2f} hours, {np.mean(seconds) / 60:.1f} minutes each" in page
    assert f"* Commits: {', '.join(sorted({run['commit'] for run in runs}))}." in page


def test_the_table_of_settings_has_all_of_them_for_every_run_that_is_kept() -> None:
    table = {(row["experiment"], row["variation"], row["environment"]): row for row in rows(RESULTS / SETTINGS)}
    fields = {f.name for kind in (Config, Continuous) for f in dataclasses.fields(kind)} - {"log_interval"}
    (columns,) = {tuple(row) for row in table.values()}
    assert fields <= {*columns}
    for name in ("ablation", "zoo", "presets-atari", "replay-ratio"):
        for run in rows(RESULTS / name / "seeds.csv"):
            row = table[name, run["variation"], run["environment"]]
            given = {column.removeprefix("settings."): run[column] for column in run if column.startswith("settings.")}
            wrong = [n for n, value in given.items() if value and n != "env" and row[n] != value]
            assert wrong == [] and row["total_timesteps"] == run["steps"]
    assert (
        table["zoo", "zoo", "Acrobot-v1"]["delta"] == "1.0" and table["zoo", "zoo", "Acrobot-v1"]["num_hidden"] == "64"
    )


def test_a_level_is_reached_by_the_last_twentieth_of_a_run() -> None:
    run = result(8.0)  # 0 until the middle, 7 in (500, 750], 11 in (750, 1000]
    assert [steps_to(run, level) for level in (0.0, 7.0, 7.1, 11.1)] == [250, 750, 1000, math.inf]


def test_an_experiment_without_results_is_not_cited_and_one_under_way_has_no_numbers() -> None:
    files = citing_files([find(experiment(REACHES), {("a", "CartPole-v1"): []})])
    assert b"## sample" not in files[CITING] and len(files[SETTINGS].splitlines()) == 1
    under_way = {("a", "CartPole-v1"): [result(1.0, trained=500)], ("b", "CartPole-v1"): []}
    files = citing_files([find(experiment(REACHES), under_way)])
    assert "No run is complete yet" in files[CITING].decode().split("## sample")[1]
    (row,) = csv.DictReader(io.StringIO(files[SETTINGS].decode()))
    assert (row["experiment"], row["variation"], row["total_timesteps"], row["gamma"]) == (
        "sample",
        "a",
        "1000",
        "0.99",
    )
