from pathlib import Path

import pytest
import yaml

from acer_tf.errors import InputError
from acer_tf.plots.groups import Run, grouped, mean_curves, read_runs
from tests.plots.samples import returns


def run(tmp_path: Path, name: str, **settings: object) -> Path:
    folder = tmp_path / name
    folder.mkdir(parents=True)
    (folder / "episodes.csv").write_text(f"steps,return\n100,{len(name)}\n")
    if settings:
        (folder / "config.yml").write_text(yaml.safe_dump(settings))
    return folder


def names(runs: list[Run]) -> list[tuple[str, str]]:
    return [(run.env, run.setting) for run in runs]


def test_what_differs_beside_the_seed_is_in_the_name(tmp_path: Path) -> None:
    common = {"env": "A-v0", "gamma": 0.9, "versions": {"numpy": "2"}, "keep_every": 5}
    sources = [
        run(tmp_path, "a", **common, network="mlp", seed=0, lr=0.1, logdir="a"),
        run(tmp_path, "bb", **{**common, "versions": {}, "keep_every": 7}, network="mlp", seed=1, lr=0.1, logdir="bb"),
        run(tmp_path, "c", **common, network="mlp", seed=0, lr=0.2, num_layers=1),
        run(tmp_path, "d", **{**common, "env": "B-v0"}, network="lstm", seed=0, lr=0.1),
    ]
    runs = read_runs(sources, [], unnamed=("seed", "versions", "keep_every", "logdir"))
    assert names(runs) == [
        ("A-v0", "mlp, lr=0.1, num_layers=None"),
        ("A-v0", "mlp, lr=0.1, num_layers=None"),
        ("A-v0", "mlp, lr=0.2, num_layers=1"),
        ("B-v0", "lstm, lr=0.1, num_layers=None"),
    ]
    groups = grouped(runs, is_labelled=False)
    assert [(name, [r.returns.returns[0] for r in group]) for name, group in groups.items()] == [
        ("A-v0 mlp, lr=0.1, num_layers=None", [1, 2]),
        ("A-v0 mlp, lr=0.2, num_layers=1", [1]),
        ("B-v0 lstm, lr=0.1, num_layers=None", [1]),
    ]


def test_runs_of_one_setting_need_no_more_than_the_network(tmp_path: Path) -> None:
    sources = [run(tmp_path, str(i), env="A-v0", network="mlp", lr=0.1, seed=i) for i in range(2)]
    assert list(grouped(read_runs(sources, []), is_labelled=False)) == ["A-v0 mlp"]


def test_labels_are_the_setting(tmp_path: Path) -> None:
    sources = [run(tmp_path, str(i), env=env, network="mlp", seed=i) for i, env in enumerate(("A-v0", "A-v0", "B-v0"))]
    assert list(grouped(read_runs(sources[:2], ["x", "y"]), is_labelled=True)) == ["x", "y"]
    assert list(grouped(read_runs(sources, ["x", "x", "x"]), is_labelled=True)) == ["A-v0 x", "B-v0 x"]


def test_without_settings_the_name_is_that_of_the_file_as_far_as_it_tells(tmp_path: Path) -> None:
    one, two, other = run(tmp_path, "one/run"), run(tmp_path, "two/run"), run(tmp_path, "other")
    runs = read_runs([one, two, other, other / "episodes.csv"], [])
    assert names(runs) == [("", str(one)), ("", str(two)), ("", "other"), ("", "episodes.csv")]
    assert list(grouped(runs, is_labelled=False)) == [str(one), str(two), "other", "episodes.csv"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "cannot be read"), ("[1, 2]", "no settings"), ("!!python/name:os.system", "cannot be read")],
)
def test_other_settings_are_input_errors(tmp_path: Path, text: str, message: str) -> None:
    folder = run(tmp_path, "a")
    (folder / "config.yml").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_runs([folder], [])
    assert "\n" not in str(error.value)


def test_a_bin_is_a_hundredth_of_the_longest_run() -> None:
    runs = [Run("A-v0", "x", returns((5, 1), (12, 3), (500, 9))), Run("A-v0", "y", returns((4, 2), (1000, 4)))]
    long, short = mean_curves(runs, is_labelled=True)
    assert (long.label, short.label) == ("x", "y")
    assert (long.steps.tolist(), short.steps.tolist()) == ([10, 20, 500], [10, 1000])
    assert mean_curves(runs, is_labelled=True, width=100)[0].steps.tolist() == [100, 500]
