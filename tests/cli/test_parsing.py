import dataclasses
from pathlib import Path
from typing import Annotated, Literal

import pytest

from acer_tf.cli.parsing import Parser, flags_of, parse
from acer_tf.config import Config
from acer_tf.errors import InputError
from acer_tf.evaluate import Evaluate
from acer_tf.plot import Plot
from acer_tf.publish import Publish
from acer_tf.run import PARSER
from acer_tf.run_atari import PARSER as ATARI_PARSER
from acer_tf.sweep import PARSER as SWEEP_PARSER
from acer_tf.training.job import GROUPS


@dataclasses.dataclass(frozen=True)
class Sample:
    """Does this."""

    num_env: int = 1
    """Environments."""
    total_timesteps: int = 10
    """Length."""
    num_workers: int | None = None
    """Processes."""
    seed: int | None = None
    """Seed."""
    logdir: Path | None = None
    """Folder."""
    max_grad_norm: Annotated[float, "a number"] | None = 10
    """Largest norm."""
    lr: float = 0.1
    """Learning rate."""
    ent_coef: float = 0
    """Weight."""
    trust_region: bool = True
    """Whether to project."""
    force: bool = False
    """Whether to go on."""
    exact_resume: bool | None = None
    """Whether to be exact."""
    verbose: Literal[0, 1, 2] = 1
    """What to print."""
    track: Literal["wandb", "other"] | None = None
    """Tracker."""
    optimizer: Literal["rmsprop", "adam"] | object = "rmsprop"
    """A name; other objects have none."""


def read(*argv: str) -> Sample:
    return parse("acer_tf.some", Sample, argv)


@pytest.mark.parametrize("words", [["--logdir=~/runs/one"], ["--logdir", "~/runs/one"]])
def test_paths_begin_in_the_home_folder_where_no_shell_has_put_it(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read(*words).logdir == tmp_path / "runs" / "one"
    assert parse("acer_tf.plot", Plot, ["~/a", "~/b", "--out=~/c.png"]).runs == (tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize(("text", "value"), [("16", 16), ("1e6", 10**6), ("2.5e3", 2500), ("0", 0), ("+4", 4)])
def test_whole_numbers_may_be_written_as_floats(text: str, value: int) -> None:
    number = read("--num_env", text).num_env
    assert number == value
    assert type(number) is int


def test_large_whole_numbers_are_exact() -> None:
    assert read("--seed", str(2**63 - 1)).seed == 2**63 - 1


@pytest.mark.parametrize("text", ["1.5", "-3", "abc", "inf", "nan", "1e-3"])
@pytest.mark.parametrize("flag", ["--num_env", "--total_timesteps", "--num_workers"])
def test_what_is_no_count_is_refused_with_the_flag_and_the_value(flag: str, text: str) -> None:
    with pytest.raises(InputError) as refused:
        read(f"{flag}={text}")
    none = "None or " * (flag == "--num_workers")
    assert str(refused.value) == f"{flag}: expected {none}a whole number >= 0, such as 16 or 1e6, got '{text}'."


@pytest.mark.parametrize("text", ["None", "none", "null"])
def test_none_may_be_written_in_any_way(text: str) -> None:
    flags = read("--max_grad_norm", text, "--num_workers", "3", "--num_workers", text, "--logdir", text)
    assert (flags.max_grad_norm, flags.num_workers, flags.logdir) == (None, None, None)


def test_hyphens_are_underscores() -> None:
    assert read("--num-env", "3", "--ent-coef", "0").num_env == 3


def test_help_names_every_hyperparameter(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        PARSER.read(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    names = {field.name for field in dataclasses.fields(Config)}
    assert {name for name in names if f"--{name}" not in text} == set()
    assert "python -m acer_tf.run" in text


def test_values_reach_the_dataclass() -> None:
    flags = read("--total_timesteps", "1e4", "--no_trust_region", "--max_grad_norm", "None", "--logdir", "a/b")
    expected = Sample(logdir=Path("a/b"), total_timesteps=10_000, trust_region=False, max_grad_norm=None)
    assert flags == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--num_evn 3", "--num_evn is not a flag; the nearest is --num_env."),
        ("--num-evn=3", "--num_evn is not a flag; the nearest is --num_env."),
        ("--lr x", "--lr: expected a number, got 'x'."),
        ("--max_grad_norm x", "--max_grad_norm: expected None or a number, got 'x'."),
        ("--verbose 7", "--verbose: expected one of 0, 1, 2, got '7'."),
        ("--num_env", "--num_env has no value."),
        ("--num_env --seed 3", "--num_env has no value."),
        ("here", "unexpected word 'here'; expected --name=value."),
        ("-x", "unexpected word '-x'; expected --name=value."),
        ("--trust_region=maybe", "--trust_region: expected True or False, got 'maybe'."),
        ("--trust_region=", "--trust_region: expected True or False, got ''."),
        ("--trust_region maybe", "--trust_region: expected True or False, got 'maybe'."),
        ("--trust_region off --seed 1", "--trust_region: expected True or False, got 'off'."),
        ("--seed 1 2", "unexpected word '2'; expected --name=value."),
        ("--no_trust_region=maybe", "--trust_region: expected True or False, got 'maybe'."),
    ],
)
@pytest.mark.parametrize("columns", ["60", "200"])
def test_mistakes_are_one_sentence(
    words: str, message: str, columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(InputError) as refused:
        read(*words.split())
    assert str(refused.value) == message
    assert capsys.readouterr() == ("", "")


def test_a_choice_that_may_be_none() -> None:
    assert read("--track", "wandb").track == "wandb"
    assert (read("--track", "none").track, read("--optimizer", "adam").optimizer) == (None, "adam")
    with pytest.raises(InputError, match=r"^--optimizer: expected one of rmsprop, adam, got 'sgd'\.$"):
        read("--optimizer", "sgd")
    with pytest.raises(InputError, match=r"^--track: expected None or one of wandb, other, got 'foo'\.$"):
        read("--track", "foo")


def test_mistakes_with_positional_arguments() -> None:
    for words, message in {
        "": "RUN is missing: Run folder",
        "a b": "'b' is one word too many; expected python -m acer_tf.evaluate RUN [OPTIONS].",
        "a --deterministic off": "--deterministic: expected True or False, got 'off'.",
        "a a --deterministic": "'a' is one word too many; expected python -m acer_tf.evaluate RUN [OPTIONS].",
        "a --video film": "unexpected word 'film'; if it is meant for --video, write --video=film.",
        "--env_kwargs gravity:5 a": "RUN is missing; write it before --env_kwargs, which takes all words after it.",
        "--episods 3 a": "--episods is not a flag; the nearest is --episodes.",
    }.items():
        with pytest.raises(InputError) as refused:
            parse("acer_tf.evaluate", Evaluate, words.split())
        assert str(refused.value).startswith(message)
    with pytest.raises(
        InputError, match=r"^RUNS is missing; write it before --label, which takes all words after it\.$"
    ):
        parse("acer_tf.plot", Plot, ["--out", "a.png", "--label", "a", "b", "runs/a", "runs/b"])
    with pytest.raises(InputError, match=r"^RUN is missing: Run folder[^(]*\.$"):  # the first of two
        parse("acer_tf.publish", Publish, [])


def test_unknown_words_are_handed_back() -> None:
    parser = Parser("acer_tf.some", "", [Sample], takes_others=True)
    words = ["--num_env", "2", "--num_layers", "3", "--x=y", "--no_trust_region", "-h2", "log", "--no_such", "True"]
    given, rest = parser.read(words)
    assert given == {"num_env": 2, "trust_region": False}
    assert rest == ["--num_layers", "3", "--x=y", "-h2", "log", "--no_such", "True"]


def test_the_last_one_of_two_flags_counts() -> None:
    flags = read("--lr", "0.5", "--seed=1", "--lr=0.25", "--seed", "2", "--force", "--no_force")
    assert (flags.lr, flags.seed, flags.force) == (0.25, 2, False)
    words = ["--seeds", "1", "2", "--workers", "3", "--seeds", "4", "--envs", "Pong", "--envs", "Breakout", "Boxing"]
    assert SWEEP_PARSER.read(words)[0] == {"seeds": (4,), "workers": 3, "envs": ("Breakout", "Boxing")}
    given, _ = PARSER.read(["--env_kwargs", "a:1", "b:2", "--env_kwargs", "c:3"])
    assert given == {"env_kwargs": {"c": 3}}


def test_a_number_or_one_of_a_few_words() -> None:
    found = [parse("acer_tf.evaluate", Evaluate, ["run", "--checkpoint", word]).checkpoint for word in ("best", "2e3")]
    assert found == ["best", 2000]


def test_arguments_may_be_several() -> None:
    plot = parse("acer_tf.plot", Plot, ["a", "b", "--label", "A", "--label", "A", "B", "--smooth", "2"])
    assert (plot.runs, plot.label, plot.smooth) == ((Path("a"), Path("b")), ("A", "B"), 2)
    assert parse("acer_tf.plot", Plot, ["--smooth", "2", "a", "b"]).runs == (Path("a"), Path("b"))


def test_several_values_end_at_the_next_flag() -> None:
    given, rest = SWEEP_PARSER.read(["--seeds", "1", "2e1", "--num_layers", "2", "--envs", "Pong", "CartPole-v1"])
    assert given == {"seeds": (1, 20), "envs": ("Pong", "CartPole-v1")}
    assert rest == ["--num_layers", "2"]


def boxes(text: str) -> list[list[str]]:
    """The boxes of a help, each with its lines; borders are drawn where the output can show them."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("╭"):
            found.append([])
        if found:
            found[-1].append(line)
    return found


@pytest.mark.parametrize("parser", [PARSER, ATARI_PARSER])
@pytest.mark.parametrize("columns", ["80", "100", "120"])
def test_each_group_of_flags_fits_a_screen_and_shows_defaults(
    parser: Parser, columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit):
        parser.read(["--help"])
    text = capsys.readouterr().out
    groups = boxes(text)
    assert len(groups) >= 10 and max(map(len, groups)) <= 40
    assert max(map(len, text.splitlines())) <= max(int(columns), 110)  # sentences above the boxes are not wrapped
    assert " ".join(text.replace("│", " ").split()).count("[default: ") == len(parser.defaults)


def test_the_help_has_the_docstring_and_the_default_of_each_flag(capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser("acer_tf.some", "Does that.", [Sample, GROUPS["continuous"]])
    with pytest.raises(SystemExit):
        parser.read(["--num_env", "5", "--help"], lambda given: {"sigma": 0.5, "seed": given["num_env"]})
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert text.startswith("Usage: python -m acer_tf.some [OPTIONS] Does that. ╭─ sample ─")
    assert "Does this. --num_env INT Environments. [default: 1]" in text
    assert "╭─ continuous ─" in text and "as defaults. --sigma FLOAT The policy's standard deviation" in text
    assert "half the range of the action space. [default: 0.5]" in text
    assert "--seed INT Seed. [default: 5]" in text
    assert "--trust_region Whether" in text and "--no_trust_region" in text


def test_every_flag_has_a_docstring_and_a_name_of_its_own() -> None:
    for parser in (PARSER, ATARI_PARSER, SWEEP_PARSER):
        assert parser._docs().keys() == parser.defaults.keys()
        assert len(parser.names) == len(parser.defaults)
    assert {flag.field.name for flag in flags_of(Evaluate)} <= Parser("", "", [Evaluate])._docs().keys()


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--trust_region=False"], False),
        (["--trust_region", "False"], False),
        (["--trust-region", "false"], False),
        (["--no_trust_region"], False),
        (["--no-trust-region"], False),
        (["--trust_region"], True),
        (["--trust_region", "True"], True),
        (["--trust_region", "--force"], True),
        (["--no_trust_region", "--trust_region=true"], True),  # the last one counts
    ],
)
def test_every_way_of_writing_a_switch(words: list[str], value: bool) -> None:
    assert read("--lr", "0.5", *words, "--num_env", "2").trust_region is value


def test_what_may_be_none_is_written_in_the_same_ways() -> None:
    ways = [[], ["--exact_resume=none"], ["--exact_resume"], ["--no_exact_resume"], ["--exact_resume", "False"]]
    assert [read(*words).exact_resume for words in ways] == [None, None, True, False, False]


def test_a_switch_takes_no_positional_argument_for_its_value() -> None:
    assert parse("acer_tf.evaluate", Evaluate, ["--deterministic", "runs/a"]).deterministic
    assert not parse("acer_tf.evaluate", Evaluate, ["--deterministic", "False", "runs/a"]).deterministic
