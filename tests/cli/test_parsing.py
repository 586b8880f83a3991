import dataclasses
import sys
from pathlib import Path

import pytest

from acer_tf.cli.flag_groups import groups_of
from acer_tf.cli.parsing import command, guarded, parse, parse_known, print_table, write_json, writing
from acer_tf.config import Config
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.evaluate import Evaluate
from acer_tf.publish import Publish
from acer_tf.run import Run
from acer_tf.run_atari import RunAtari
from acer_tf.training.job import TrainFlags


@dataclasses.dataclass(frozen=True)
class Flags(TrainFlags):
    env: str = "CartPole-v1"


def read(*argv: str) -> Flags:
    return parse("acer_tf.some", Flags, argv)


@pytest.mark.parametrize(("text", "value"), [("16", 16), ("1e6", 10**6), ("2.5e3", 2500), ("0", 0), ("+4", 4)])
def test_whole_numbers_may_be_written_as_floats(text: str, value: int) -> None:
    number = read("--num_env", text).num_env
    assert number == value
    assert type(number) is int


def test_large_whole_numbers_are_exact() -> None:
    assert read("--seed", str(2**63 - 1)).seed == 2**63 - 1


@pytest.mark.parametrize("text", ["1.5", "-3", "abc", "inf", "nan", "1e-3"])
@pytest.mark.parametrize("flag", ["--num_env", "--num_timesteps", "--num_workers"])
def test_what_is_no_count_is_refused_with_the_flag_and_the_value(flag: str, text: str) -> None:
    with pytest.raises(InputError) as refused:
        read(f"{flag}={text}")
    assert str(refused.value) == f"{flag}: expected a whole number >= 0, such as 16 or 1e6, got '{text}'."


@pytest.mark.parametrize("text", ["None", "none", "null"])
def test_none_may_be_written_in_any_way(text: str) -> None:
    assert read("--max_grad_norm", text).max_grad_norm is None


def test_hyphens_are_underscores() -> None:
    assert read("--num-env", "3", "--ent-coef", "0").num_env == 3


def test_help_names_every_hyperparameter(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        read("--help")
    assert stop.value.code == 0
    text = capsys.readouterr().out
    names = {field.name for field in dataclasses.fields(Config)} - {"total_timesteps"} | {"num_timesteps"}
    assert {name for name in names if f"--{name}" not in text} == set()
    assert "python -m acer_tf.some" in text


def test_values_reach_the_dataclass() -> None:
    flags = read("--num_timesteps", "1e4", "--no_trust_region", "--max_grad_norm", "None", "--logdir", "a/b")
    expected = Flags(logdir=Path("a/b"), total_timesteps=10_000, trust_region=False, max_grad_norm=None)
    assert flags == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--num_evn 3", "--num_evn is not a flag; the nearest is --num_env."),
        ("--num-evn=3 --lr x", "--num_evn is not a flag; the nearest is --num_env."),
        ("--lr x", "--lr: expected a number, got 'x'."),
        ("--max_grad_norm x", "--max_grad_norm: expected a number, got 'x'."),
        ("--verbose 7", "--verbose: expected one of '0', '1', '2', got '7'."),
        ("--num_env", "--num_env has no value."),
        ("--num_env --seed 3", "--num_env has no value."),
        ("here", "'here' belongs to no flag."),
        ("-x", "'-x' belongs to no flag."),
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
    with pytest.raises(InputError, match=r"^--track: expected None\|\{wandb\}, got 'foo'\.$"):
        read("--track", "foo")


def test_mistakes_with_positional_arguments() -> None:
    for words, message in {
        "": "PATH is missing: Run folder",
        "a b": "'b' belongs to no flag.",
        "--episods 3 a": "--episods is not a flag; the nearest is --episodes.",
    }.items():
        with pytest.raises(InputError) as refused:
            parse("acer_tf.evaluate", Evaluate, words.split())
        assert str(refused.value).startswith(message)
    with pytest.raises(InputError, match=r"^PATH is missing: Run folder[^(]*\.$"):  # the first of two
        parse("acer_tf.publish", Publish, [])


def test_unknown_words_are_handed_back() -> None:
    flags, rest = parse_known("acer_tf.some", Flags, ["--num_env", "2", "--num_layers", "3", "--x=y"])
    assert flags.num_env == 2
    assert rest == ["--num_layers", "3", "--x=y"]


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (InputError("no such thing."), 2, "error: no such thing.\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_errors_become_a_line_and_a_status(
    error: BaseException, status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @guarded
    def main(argv: object) -> int:
        raise error

    assert main([]) == status
    assert capsys.readouterr().err == line


def test_other_errors_pass() -> None:
    @guarded
    def main(argv: object) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        main([])


@dataclasses.dataclass(frozen=True)
class Repeat:
    times: int = 1


@pytest.mark.parametrize(("returned", "status"), [(None, 0), (0, 0), (1, 1)])
def test_a_command_runs_with_its_flags(returned: int | None, status: int) -> None:
    seen: list[Repeat] = []

    def run(flags: Repeat) -> int | None:
        seen.append(flags)
        return returned

    assert command("acer_tf.some", Repeat, run)(["--times", "3"]) == status
    assert seen == [Repeat(3)]


def test_a_command_turns_errors_into_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    def run(flags: Repeat) -> None:
        raise EnvironmentFailedError("it broke.")

    assert command("acer_tf.some", Repeat, run)([]) == 1
    assert capsys.readouterr().err == "error: it broke.\n"


def test_a_file_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"x": [1]})
    assert (tmp_path / "a.json").read_text() == '{\n  "x": [\n    1\n  ]\n}\n'
    with pytest.raises(InputError, match=r"a\.json cannot be written \(Not a directory\); choose another file\."):
        write_json(tmp_path / "a.json" / "a.json", {})
    with pytest.raises(InputError, match="some cannot be written"), writing(Path("some")):
        raise OSError(28, "No space left on device")


def boxes(text: str) -> list[list[str]]:
    """The boxes of a help, each with its lines; borders are drawn where the output can show them."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.strip("╭─╮ ").endswith("options"):
            found.append([])
        if found:
            found[-1].append(line)
    return found


@pytest.mark.parametrize("flags", [Run, RunAtari])
@pytest.mark.parametrize("columns", ["80", "100", "120"])
def test_each_group_of_flags_fits_a_screen_and_shows_defaults(
    flags: type[TrainFlags], columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit):
        parse("acer_tf.some", flags, ["--help"])
    text = capsys.readouterr().out
    groups = boxes(text)
    assert len(groups) >= 10 and max(map(len, groups)) <= 40
    assert max(map(len, text.splitlines())) <= max(int(columns), 110)  # sentences above the boxes are not wrapped
    assert " ".join(text.replace("│", " ").split()).count("(default: ") == len(dataclasses.fields(flags))


def test_every_flag_of_a_command_is_in_one_group() -> None:
    for flags in (Run, RunAtari):
        names = [field.name for group in groups_of(flags) for field in dataclasses.fields(group)]
        assert sorted(names) == sorted(field.name for field in dataclasses.fields(flags))


def test_a_table_leaves_nothing_out_in_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    print_table(("name", "text"), [("some/environment-with-a-long-id", "of two words")])
    _, *rows = capsys.readouterr().out.splitlines()
    assert rows == ["some/environment  of two words", "-with-a-long-id"]
