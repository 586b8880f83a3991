from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.plots.runs import Run, default_widths, differing, mean_curves, names_of_settings, read_runs, short_number
from tests.plots.samples import series, write_run


def names(runs: list[Run]) -> list[tuple[str, str]]:
    return [(run.env, run.setting) for run in runs]


def test_what_differs_beside_the_seed_is_in_the_name(tmp_path: Path) -> None:
    common = {"env": "A-v0", "gamma": 0.9, "versions": {"numpy": "2"}, "keep_every": 5}
    sources = [
        write_run(tmp_path / "a", [1], **common, network="mlp", seed=0, lr=0.1, logdir="a"),
        write_run(tmp_path / "b", [2], **{**common, "versions": {}, "keep_every": 7}, network="mlp", seed=1, lr=0.1),
        write_run(tmp_path / "c", [3], **common, network="mlp", seed=0, lr=0.2, num_layers=1),
        write_run(tmp_path / "d", [4], **{**common, "env": "B-v0"}, network="lstm", seed=0, lr=0.5),
    ]
    runs = read_runs(sources, [])
    assert names(runs) == [
        ("A-v0", "lr=0.1"),
        ("A-v0", "lr=0.1"),
        ("A-v0", "lr=0.2, num_layers=1"),
        ("B-v0", "lr=0.5"),  # its network differs from those in another environment only
    ]
    means = mean_curves(runs, {"A-v0": 100, "B-v0": 100})
    assert [(c.env, c.setting, c.mean.tolist()) for c in means] == [
        ("A-v0", "lr=0.1", [1.5]),
        ("A-v0", "lr=0.2, num_layers=1", [3]),
        ("B-v0", "lr=0.5", [4]),
    ]


def test_names_are_short() -> None:
    settings = [
        {"env": "A-v0", "network": "mlp", "trust_region": True, "buffer_size": 50_000, "q_lambda": None},
        {"env": "A-v0", "network": "lstm", "trust_region": False, "buffer_size": 12_345, "q_lambda": 0.5},
    ]
    assert names_of_settings(settings, "episodes") == [
        "mlp, trust_region, buffer_size=50k",
        "lstm, no trust_region, buffer_size=12345, q_lambda=0.5",
    ]
    assert differing(settings) == ["network", "trust_region", "buffer_size", "q_lambda"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((4.0, "4"), (999, "999"), (20_000, "20k"), (1_500_000, "1.5M"), (1e7, "10M"), (-2000, "-2k")),
        *((0.0007, "0.0007"), (1e-5, "1e-05"), (1_234_567, "1234567"), (1000.5, "1000.5"), (float("inf"), "inf")),
    ],
)
def test_numbers_are_shortened_without_loss(number: float, text: str) -> None:
    assert short_number(number) == text


def test_runs_of_one_setting_have_the_name_of_the_network(tmp_path: Path) -> None:
    sources = [write_run(tmp_path / str(i), [1], env="A-v0", network="mlp", lr=0.1, seed=i) for i in range(2)]
    assert names(read_runs(sources, [])) == [("A-v0", "mlp")] * 2
    assert names_of_settings([{"env": "A-v0"}], "episodes") == ["ACER"]


def test_labels_are_the_setting(tmp_path: Path) -> None:
    envs = ("A-v0", "A-v0", "B-v0")
    sources = [write_run(tmp_path / str(i), [1], env=env, network="mlp", seed=i) for i, env in enumerate(envs)]
    assert names(read_runs(sources, ["x", "y", "x"])) == [("A-v0", "x"), ("A-v0", "y"), ("B-v0", "x")]


def test_a_folder_of_runs_stands_for_those_that_have_an_episode(tmp_path: Path) -> None:
    for env, seed in [("A-v0", 0), ("A-v0", 1), ("B-v0", 0)]:
        write_run(tmp_path / "sweep" / env / f"seed-{seed}", [1.0 + seed], env=env, seed=seed, network="mlp")
    write_run(tmp_path / "sweep" / "B-v0" / "seed-1", [], env="B-v0", seed=1, network="mlp")
    other = write_run(tmp_path / "other", [5.0], env="A-v0", seed=0, network="cnn")
    runs = read_runs([tmp_path / "sweep", other], ["ours", "theirs"])
    assert names(runs) == [("A-v0", "ours"), ("A-v0", "ours"), ("B-v0", "ours"), ("A-v0", "theirs")]
    assert [run.series.values.tolist() for run in runs] == [[1.0], [2.0], [1.0], [5.0]]
    with pytest.raises(InputError, match="no finished episode yet"):
        read_runs([tmp_path / "sweep" / "B-v0" / "seed-1"], [])


def test_runs_are_drawn_where_they_have_rows_of_the_metric(tmp_path: Path) -> None:
    for seed in (0, 1):
        run = write_run(tmp_path / str(seed), [], env="A-v0", seed=seed, network="mlp")
        (run / "progress.csv").write_text("total_timesteps,entropy\n10,0.5\n")
    assert len(read_runs([tmp_path], [], "entropy")) == 2


def test_evaluations_that_are_played_otherwise_are_another_curve(tmp_path: Path) -> None:
    for seed, is_deterministic in enumerate((True, False)):
        run = write_run(
            tmp_path / str(seed), [1], env="A-v0", seed=seed, network="mlp", eval_deterministic=is_deterministic
        )
        (run / "evaluations.csv").write_text("steps,mean_return\n100,7\n")
    expected = [("A-v0", "eval_deterministic"), ("A-v0", "no eval_deterministic")]
    assert names(read_runs([tmp_path], [], "eval")) == expected
    assert names(read_runs([tmp_path], [])) == [("A-v0", "mlp")] * 2


def test_a_run_counts_once(tmp_path: Path) -> None:
    for seed, name in enumerate(("seed-0-old", "seed-0", "seed-0-old-2", "seed-1-old")):
        write_run(tmp_path / name, [seed], env="A-v0", network="mlp", seed=seed)
    again = [tmp_path, tmp_path / "seed-0", tmp_path / "seed-1-old" / ".." / "seed-0"]
    assert [run.series.values.tolist() for run in read_runs(again, [])] == [[1], [3]]  # the others were set aside
    assert names(read_runs(again, ["x", "y", "z"])) == [("A-v0", "x")] * 2
    one = tmp_path / "seed-0-old"
    assert [run.series.values.tolist() for run in read_runs([one], [])] == [[0]]


def test_without_settings_the_name_is_that_of_the_file_as_far_as_it_tells(tmp_path: Path) -> None:
    one, two, other = (write_run(tmp_path / name, [1]) for name in ("one/run", "two/run", "other"))
    runs = read_runs([one, two, other, other / "episodes.csv"], [])
    assert names(runs) == [("", str(one)), ("", str(two)), ("", "other"), ("", "episodes.csv")]


def test_without_settings_the_environment_is_that_of_the_other_runs(tmp_path: Path) -> None:
    known = [write_run(tmp_path / env, [1], env=env, network="mlp") for env in ("A-v0", "B-v0")]
    unknown = write_run(tmp_path / "unknown", [1])
    assert names(read_runs([known[0], unknown], [])) == [("A-v0", "mlp"), ("A-v0", "unknown")]
    assert names(read_runs([*known, unknown], []))[2] == ("", "unknown")


def test_runs_may_be_drawn_over_time(tmp_path: Path) -> None:
    (run,) = read_runs([write_run(tmp_path / "a", [1, 2], env="A-v0")], [], axis="minutes")
    assert run.series.x.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not valid YAML"), ("[1, 2]", "holds a list"), ("!!python/name:os.system", "is not valid YAML")],
)
def test_other_settings_are_input_errors(tmp_path: Path, text: str, message: str) -> None:
    folder = write_run(tmp_path / "a", [1])
    (folder / "config.yml").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_runs([folder], [])
    assert "\n" not in str(error.value)


def test_a_bin_is_a_hundredth_of_the_longest_run_and_evaluations_have_none() -> None:
    runs = [Run(env, "x", series((5, 1), (end, 9))) for env, end in (("A-v0", 500), ("A-v0", 1000), ("B-v0", 70))]
    assert default_widths(runs, "episodes") == default_widths(runs, "entropy") == {"A-v0": 10, "B-v0": 0.7}
    at_begin = runs[0]._replace(series=runs[0].series._replace(x=runs[0].series.x * 0))
    assert default_widths([at_begin], "episodes") == {at_begin.env: None}
    assert default_widths(runs, "eval") == {"A-v0": None, "B-v0": None}
