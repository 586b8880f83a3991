import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from acer_tf.errors import InputError
from acer_tf.experiments.experiment import Environment
from acer_tf.experiments.reading import experiment_names, load_experiment

ROOT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {
    "title": "A",
    "claim": "B",
    "source": "C",
    "steps": "2e3",
    "steps_per_second": 10,
    "flags": {"nsteps": 5, "gamma": 0.9},
    "envs": {
        "CartPole-v1": None,
        "Acrobot-v1": {"preset": "Acrobot-v1", "steps": 300, "seeds": 1, "flags": {"gamma": 0.8}},
    },
    "variations": {"a": None, "b": {"flags": {"replay_ratio": 0}, "slowdown": 0.5}},
    "first_seed": 3,
    "seeds": 2,
    "tuned_with": [5, 7],
    "references": [
        {"label": "theirs", "source": "S", "numbers": {"CartPole-v1": 9}},
        {"label": "curves", "source": "S", "curves": "theirs.csv"},
    ],
    "random": {"CartPole-v1": 22, "Acrobot-v1": -500},
    "criteria": [
        {"kind": "reaches", "variation": "a", "values": {"CartPole-v1": -1}},
        {"kind": "better", "variation": "a", "than": "b", "window": [0, 0.5]},
        {"kind": "same", "variation": "b", "reference": "curves", "margin": 0.2, "envs": ["Acrobot-v1"]},
        {"kind": "same", "variation": "b", "than": "a", "margin": 0.2},
    ],
}


LAST = {"kind": "reaches", "variation": "a", "values": {"CartPole-v1": 1}, "of": "last_100"}


def written(folder: Path, **changes: Any) -> str:
    (folder / "theirs.csv").write_text("environment,seed,steps,mean_return,episodes\nAcrobot-v1,0,300,-500,1\n")
    path = folder / "mine.yml"
    path.write_text(yaml.safe_dump({**SMALL, **changes}, sort_keys=False))
    return str(path)


def test_everything_in_the_file_is_in_the_experiment(tmp_path: Path) -> None:
    found = load_experiment(written(tmp_path))
    assert (found.name, found.title, found.first_seed, found.tuned_with) == ("mine", "A", 3, (5, 7))
    assert found.envs == (
        Environment("CartPole-v1", "baselines", 2000, {"nsteps": 5, "gamma": 0.9}, 10, 2),
        Environment("Acrobot-v1", "Acrobot-v1", 300, {"nsteps": 5, "gamma": 0.8}, 10, 1),
    )
    assert [(v.name, v.flags, v.slowdown) for v in found.variations] == [("a", {}, 1), ("b", {"replay_ratio": 0}, 0.5)]
    assert found.references[0].numbers == {"CartPole-v1": 9}
    assert found.references[1].curves == tmp_path / "theirs.csv"
    reaches, better, same, as_other = found.criteria
    assert (reaches.envs, reaches.values, reaches.window) == (("CartPole-v1",), {"CartPole-v1": -1}, (0.9, 1))
    assert (reaches.every_seed, reaches.minutes, reaches.of) == (False, math.inf, "training")
    assert (better.than, better.window, better.envs) == ("b", (0, 0.5), ("CartPole-v1", "Acrobot-v1"))
    assert (same.reference, same.margin, same.envs) == ("curves", 0.2, ("Acrobot-v1",))
    assert (as_other.reference, as_other.than, as_other.margin) == ("", "a", 0.2)
    assert found.random == {"CartPole-v1": 22, "Acrobot-v1": -500}


def test_further_seeds_leave_out_those_that_were_chosen_with(tmp_path: Path) -> None:
    found = load_experiment(written(tmp_path))
    assert [found.seeds(env) for env in found.envs] == [(3, 4), (3,)]
    assert found.seeds(found.envs[1], 5) == (3, 4, 6, 8, 9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"titel": "A"}, "titel is not a setting; the nearest are title"),
        ({"title": None}, "title is missing"),
        ({"seeds": 0}, "seeds is 0; expected a whole number >= 1"),
        ({"seeds": 1e9}, "seeds is 1000000000.0; expected a whole number >= 1 and <= 1000"),
        ({"criteria": [{"kind": "same", "variation": "a", "margin": 1}]}, "expected either than or reference"),
        (
            {"random": {}, "criteria": [{"kind": "better", "variation": "a", "than": "b", "margin": 1}]},
            "criterion 1: random play in CartPole-v1 is not known",
        ),
        (
            {"criteria": [LAST | {"of": "area_of_minutes"}]},
            "criterion 1: area_of_minutes compares two variations; expected than",
        ),
        (
            {"criteria": [{"kind": "better", "variation": "a", "than": "b", "every_seed": True}]},
            "criterion 1: every_seed is not a setting",
        ),
        ({"criteria": [{"kind": "better", "variation": "a"}]}, "criterion 1: than is missing"),
        ({"seeds": 1.5}, "seeds is 1.5; expected a whole number >= 1"),
        ({"seeds": True}, "seeds is True; expected a whole number >= 1"),
        ({"envs": {}}, "has no envs; expected one or more"),
        ({"envs": ["CartPole-v1"]}, "expected values by name"),
        (
            {"envs": {"CartPole-v1": {"step": 5}}},
            "environment CartPole-v1: step is not a setting",
        ),
        ({"variations": {"a/b": None}}, "variation a/b: expected a name of letters"),
        ({"variations": {"a": {"flags": {"load-path": "x.zip"}}}}, "variation a: load-path cannot be set in a file"),
        ({"flags": {"ray_address": "there:1"}}, "environment CartPole-v1: ray_address cannot be set in a file"),
        ({"flags": {"env": "evil:Env-v0"}}, "environment CartPole-v1: env cannot be set in a file"),
        ({"flags": {"gama": 0.9}}, "environment CartPole-v1: gama cannot be set in a file; the nearest are gamma"),
        ({"variations": {"a": {"flag": {}}}}, "variation a: flag is not a setting"),
        ({"envs": {"CartPole-v1": [5]}}, "environment CartPole-v1 is [5]; expected settings by name"),
        ({"variations": {"a": 5}}, "variation a is 5; expected settings by name"),
        ({"tuned_with": ["x"]}, "tuned_with is ['x']; expected whole numbers >= 0"),
        ({"references": [5]}, "reference is 5; expected settings by name"),
        ({"claim": 5}, "claim is 5; expected text"),
        ({"random": {"CartPole-v1": "low"}}, "random of CartPole-v1 is 'low'; expected a number"),
        (
            {"random": {}, "criteria": [{"kind": "same", "variation": "a", "than": "b", "margin": 0.1}]},
            "criterion 1: random play in CartPole-v1 is not known; expected its mean return under random",
        ),
        (
            {"criteria": [{"kind": "same", "variation": "a", "than": "b", "margin": 1.5}]},
            "criterion 1: margin is 1.5; expected a number between 0 and 1",
        ),
        ({"tuned_with": [4]}, "seed 4 is in tuned_with and is reported; expected disjoint seeds"),
        ({"score": [1, 0.5]}, "expected two fractions of a run"),
        ({"over_time": 1}, "over_time is 1; expected True or False"),
        ({"references": [{"label": "x", "source": "y", "curves": "no.csv"}]}, "no.csv does not exist"),
        ({"references": [{"label": "x", "source": "y", "curves": __file__}]}, "a CSV file of curves beside the"),
        (
            {"criteria": [{"kind": "bettr", "variation": "a"}]},
            "criterion 1: kind is 'bettr'; expected same, reaches or better",
        ),
        (
            {"criteria": [{"kind": "better", "variation": "c", "than": "a"}]},
            "variation 'c' does not exist",
        ),
        (
            {"criteria": [{"kind": "same", "variation": "a", "reference": "theirs", "margin": 1}]},
            "one of curves",
        ),
        (
            {"criteria": [{"kind": "reaches", "variation": "a", "values": {"CartPole-v0": 1}}]},
            "CartPole-v0 is not one of its environments; the nearest are CartPole-v1",
        ),
        (
            {"criteria": [{"kind": "reaches", "variation": "a", "values": {}}]},
            "criterion 1 is judged in no environment; expected one or more",
        ),
        (
            {"criteria": [{"kind": "better", "variation": "a", "than": "b", "envs": []}]},
            "criterion 1 is judged in no environment; expected one or more",
        ),
        (
            {"criteria": [{"kind": "reaches", "variation": "a", "values": {"CartPole-v1": "high"}}]},
            "values of CartPole-v1 is 'high'; expected a number",
        ),
        (
            {"criteria": [LAST | {"of": "best"}]},
            "of is 'best'; expected training, area, area_of_minutes, evaluations or last_100",
        ),
        ({"criteria": [LAST | {"window": [0, 0.5]}]}, "window has no effect for the last 100 episodes"),
        (
            {"variations": {"a": {"flags": {"total_timesteps": 100}}}},
            "total_timesteps is not a flag of an experiment; give steps",
        ),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_experiment(written(tmp_path, **changes))
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert "mine.yml" in str(caught.value)


def test_an_experiment_that_does_not_exist() -> None:
    with pytest.raises(InputError, match="'minatar-orginal' does not exist; the nearest are minatar-original"):
        load_experiment("minatar-orginal")
    with pytest.raises(InputError, match=r"^no\.yml cannot be read \(No such file"):
        load_experiment("no.yml")


def test_the_package_holds_the_files() -> None:
    assert experiment_names() == sorted(path.stem for path in (ROOT / "acer_tf" / "experiments").glob("*.yml"))
    assert {"minatar-original", "replay-ratio", "ablation", "baselines-atari", "zoo", "paper-atari"} <= {
        *experiment_names()
    }
    setup = (ROOT / "setup.py").read_text()
    assert '"experiments/*.yml"' in setup and '"experiments/*.csv"' in setup


def test_all_experiments_are_told() -> None:
    page = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    assert [name for name in experiment_names() if f"`{name}`" not in page] == []


@pytest.mark.parametrize(("prefix", "name"), [("tf1/", "cartpole-original-tf1"), ("", "cartpole-original-tf2")])
def test_the_originals_curves_of_cartpole_are_the_recorded_ones(prefix: str, name: str) -> None:
    text = (ROOT / "acer_tf" / "experiments" / f"{name}.csv").read_text(encoding="utf-8")
    seed, steps, mean, episodes = np.array([line.split(",")[1:] for line in text.splitlines()[2:]], np.float64).T
    cells = seed.astype(int) * 10 + (steps.astype(int) - 1) // 10_000  # ten of a seed
    totals, numbers = np.bincount(cells, mean * episodes), np.bincount(cells, episodes)
    with np.load(ROOT / "tests" / "golden" / "curves_cartpole.npz") as recorded:
        expected = recorded[f"{prefix}mean_return_per_10k_steps"]
        np.testing.assert_allclose((totals / numbers).reshape(10, 10), expected, rtol=1e-5)
        np.testing.assert_array_equal(numbers.reshape(10, 10).sum(1), recorded[f"{prefix}summary"][:, 3])
