import dataclasses
from typing import Annotated

import pytest
import tyro

from acer_tf.cli.parsing import parse
from acer_tf.cli.switches import spelled_out, switches
from acer_tf.errors import InputError
from acer_tf.evaluate import Evaluate
from acer_tf.run import Run
from acer_tf.run_atari import RunAtari


@dataclasses.dataclass(frozen=True)
class Flags:
    words: tyro.conf.Positional[str] = ""
    log: Annotated[bool, tyro.conf.arg(help="Logs.")] = False
    exact: bool | None = None
    number: int = 0


def test_switches_are_what_is_true_or_false() -> None:
    assert switches(Flags) == {"log", "exact"}
    assert {"trust_region", "force", "exact_resume", "learn_sigma"} < switches(Run)


@pytest.mark.parametrize("command", [Run, RunAtari])
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
def test_every_way_of_writing_a_switch(command: type, words: list[str], value: bool) -> None:
    assert parse("acer_tf.some", command, ["--gamma", "0.5", *words, "--num_env", "2"]).trust_region is value


def test_what_may_be_none_is_written_in_the_same_ways() -> None:
    ways = [[], ["--exact_resume=none"], ["--exact_resume"], ["--no_exact_resume"], ["--exact_resume", "False"]]
    assert [parse("acer_tf.some", Run, words).exact_resume for words in ways] == [None, None, True, False, False]


def test_a_switch_takes_no_positional_argument_for_its_value() -> None:
    assert parse("acer_tf.evaluate", Evaluate, ["--deterministic", "runs/a"]).deterministic
    assert not parse("acer_tf.evaluate", Evaluate, ["--deterministic", "False", "runs/a"]).deterministic


def test_other_words_stay_as_they_are() -> None:
    words = ["--no_such", "x", "--num_layers=2", "-h", "--log_interval", "3", "log"]
    assert spelled_out(words, {"log"}, is_alone=True) == words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trust_region=maybe"], "--trust_region is 'maybe'; expected True or False"),
        (["--trust-region", "maybe"], "--trust_region is 'maybe'; expected True or False"),
        (["--trust_region="], "--trust_region is ''; expected True or False"),
        (["--no_trust_region=True"], "--no_trust_region takes no value; expected --trust_region=True or"),
    ],
)
def test_any_other_value_is_one_sentence(words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse("acer_tf.some", Run, words)
