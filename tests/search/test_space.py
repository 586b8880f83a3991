from pathlib import Path

import optuna
import pytest

from acer_tf.errors import InputError
from acer_tf.search.space import Space, check_space, read_space, suggested


def space(tmp_path: Path, text: str, taken: tuple[str, ...] = ()) -> Space:
    (tmp_path / "space.yml").write_text(text)
    return read_space(tmp_path / "space.yml", taken)


def drawn(found: Space, count: int = 200) -> list[dict[str, object]]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    return [suggested(found, study.ask()) for _ in range(count)]


def test_values_are_drawn_as_each_line_says(tmp_path: Path) -> None:
    lines = """
lr: {low: 1e-4, high: 1e-2, log: true}
num-env: {low: 4, high: 32, int: true}
ent_coef: {choices: [0.0, 1e-2]}
trust_region: {choices: [true, false]}
max_grad_norm: {choices: [null, 10]}
"""
    values = drawn(space(tmp_path, lines))
    lr = sorted(v["lr"] for v in values)
    assert 1e-4 <= lr[0] < lr[-1] <= 1e-2
    assert 5e-4 < lr[100] < 2e-3  # on a linear scale the median would be 5e-3
    assert {type(v["num_env"]) for v in values} == {int}
    assert {v["num_env"] for v in values} == set(range(4, 33))
    assert {v["ent_coef"] for v in values} == {0.0, 0.01}
    assert {v["trust_region"] for v in values} == {True, False}
    assert {v["max_grad_norm"] for v in values} == {None, 10}


def test_a_range_may_be_as_small_as_a_setting(tmp_path: Path) -> None:
    (parameter,) = space(tmp_path, "rprop_epsilon: {low: 1.0e-14, high: 1.0e-12}")
    low, high, between = parameter.extremes
    assert (low, high) == (1e-14, 1e-12) and isinstance(between, float)
    assert low < between < high


def test_a_line_with_a_condition_counts_only_where_it_holds(tmp_path: Path) -> None:
    lines = """
network: {choices: [mlp, lstm, lnlstm]}
nlstm: {choices: [64, 128], when: {network: [lstm, lnlstm]}}
num_layers: {low: 1, high: 3, int: true, when: {network: mlp}}
gamma: {low: 0.9, high: 0.99, when: {nlstm: 64}}
"""
    values = drawn(space(tmp_path, lines))
    assert {v["network"] for v in values} == {"mlp", "lstm", "lnlstm"}
    for v in values:
        assert ("nlstm" in v) == (v["network"] != "mlp") != ("num_layers" in v)
        assert ("gamma" in v) == (v.get("nlstm") == 64)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; expected settings by name"),
        ("{}", "is empty; expected lines such as lr: {low: 1e-4, high: 1e-2}."),
        ("lrr: {low: 1, high: 2}", r"space.yml: lrr cannot be set in a file; the nearest are lr,"),
        ("ray-address: {choices: [a]}", "ray_address cannot be set in a file"),
        ("lr: 3", r"lr is 3; expected \{low: ..., high: ...\} or \{choices: \[...\]\}."),
        ("lr: {low: 1, hihg: 2}", "lr: hihg is not a setting; the nearest are high,"),
        ("lr: {low: 1}", "lr lacks low or high; expected both, or choices."),
        ("lr: {low: 2, high: 1}", "lr has low 2 and high 1; expected low < high."),
        ("lr: {low: 1, high: 1}", "expected low < high."),
        ("lr: {low: 0, high: 1, log: true}", "lr has low 0; expected a number > 0 where log is true."),
        ("lr: {low: a, high: 1}", "lr: low is 'a'; expected a number."),
        ("lr: {low: true, high: 2}", "lr: low is True; expected a number."),
        ("lr: {low: .nan, high: 2}", "lr: low is nan; expected a number."),
        ("lr: {low: 1, high: 2, log: 1}", "lr: log is 1; expected True or False."),
        ("num_env: {low: 1.5, high: 2, int: true}", "has low 1.5; expected a whole number where int is true."),
        ("lr: {choices: [1], low: 1}", "lr has choices and low; expected one or the other."),
        ("lr: {choices: []}", r"lr: choices is \[\]; expected a list of values."),
        ("lr: {choices: 3}", "lr: choices is 3; expected a list of values."),
        ("lr: {choices: [1, 1.0]}", "lr has a choice twice."),
        ("lr: {choices: [[1]]}", r"lr: a choice is \[1\]; expected a number, a word, true, false or null."),
        ("lr: {choices: [1], when: 3}", r"lr: when is 3; expected values by name."),
        ("nlstm: {choices: [1], when: {network: lstm}}\nnetwork: {choices: [lstm]}", "depends on network; expected a"),
        (
            "network: {choices: [lstm, mlp]}\nnlstm: {choices: [1], when: {network: cnn}}",
            "nlstm depends on network cnn; expected one of the choices of network: lstm, mlp.",
        ),
        ("lr: {low: 1, high: 2}\nnlstm: {choices: [1], when: {lr: 1}}", "of the choices of lr, which has none."),
        ("gamma: {choices: [1]}", "gamma is set by another flag of this command; leave out one of them."),
    ],
)
def test_what_cannot_work_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        space(tmp_path, text, taken=("gamma",))
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.yml cannot be read \(No such file or directory\)."):
        read_space(tmp_path / "none.yml", ())


def test_every_extreme_is_checked_where_its_conditions_hold(tmp_path: Path) -> None:
    lines = """
network: {choices: [mlp, lstm]}
nlstm: {low: 1, high: 9, int: true, when: {network: lstm}}
gamma: {low: 0.5, high: 2, when: {nlstm: 4}}
"""
    found = space(tmp_path, lines.replace("{low: 1, high: 9, int: true,", "{choices: [4, 8],"))
    seen: list[list[str]] = []

    def check(given: list[str]) -> None:
        seen.append(given)
        if "--gamma=2.0" in given:
            raise InputError("gamma is 2.0; expected a number between 0 and 1.")

    with pytest.raises(InputError, match=r"space.yml: gamma 2.0 cannot work: gamma is 2.0; expected a number between"):
        check_space(tmp_path / "space.yml", found, check)
    assert seen == [
        ["--network=mlp"],
        ["--network=lstm"],
        ["--network=lstm", "--nlstm=4"],
        ["--network=lstm", "--nlstm=8"],
        ["--network=lstm", "--nlstm=4", "--gamma=0.5"],
        ["--network=lstm", "--nlstm=4", "--gamma=2.0"],
    ]
