"""Mistakes in a command line, told in one sentence: flags that do not exist, and what tyro rejects."""

import contextlib
import dataclasses
import io
import itertools
import re
import typing
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import tyro

from acer_tf.errors import InputError, nearest

OTHER_NAMES = {"total_timesteps": "num_timesteps", "num_trials": "trials"}
"""Flags of fields with other names."""
ALWAYS = ("help",)
"""Flags of every command."""

REWORDED = (
    (r"^Error parsing (\S+): (?:\w+: )?", r"\1: "),
    (r"no type matching .* - <class '\w+'>: (?!.* - )", ""),
    (r"could not convert string to float: ('.*')", r"expected a number, got \1"),
    (r"no type matching (.+?) could be instantiated from \['(.*?)'\]\..*", r"expected \1, got '\2'."),
    (r"Could not find valid parse for arguments: \['(.*)'\]", r"'\1' cannot be read."),
    (r"^Missing value for argument '(\S+)'\..*", r"\1 has no value."),
    (
        r"^invalid choice '(.*)' for argument '(\S+)'\. Expected one of \((.*)\) ?\.",
        r"\2: expected one of \3, got '\1'.",
    ),
    (r"^Missing from .*?: (\S+) (.*?) \(required\).*$", r"\1 is missing: \2"),
    (r"^Unrecognized options: (.*)$", r"'\1' belongs to no flag."),
)
"""Tyro's sentences and ours, of which a part may stay as it is."""


def flag_names(flags: type[Any]) -> list[str]:
    """Returns the names of a command's flags, without its positional arguments."""
    hints = typing.get_type_hints(flags, include_extras=True)
    names = [field.name for field in dataclasses.fields(flags)]
    named = [name for name in names if tyro.conf.Positional not in typing.get_args(hints[name])]
    return [OTHER_NAMES.get(name, name) for name in named]


def check_flags(words: Sequence[str], known: Collection[str]) -> None:
    """Checks that every flag among the words exists.

    Args:
        words: of a command line, switches spelled out.
        known: names of flags.

    Raises:
        InputError: one does not; the message has the nearest.
    """
    for word in words:
        name = word.partition("=")[0].removeprefix("--").replace("-", "_")
        if word.startswith("--") and name not in (*known, *ALWAYS):
            raise InputError(f"--{name} is not a flag; the nearest is --{nearest(name, known)[0]}.")


def check_spelling(names: Iterable[str], own: Collection[str], others: Collection[str]) -> None:
    """Checks that none of the names, which a command passes on, is a misspelt flag of its own.

    Raises:
        InputError: one is; the message has the flag that is probably meant.
    """
    for name in set(names) - {*own, *others}:
        if (near := nearest(name, [*own, *others])[0]) in own:
            raise InputError(f"--{name} is not a flag; the nearest is --{near}.")


@contextlib.contextmanager
def one_sentence() -> Iterator[None]:
    """Re-raises what tyro rejects in the block as InputError; its box of several lines is not printed."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            yield
    except SystemExit as error:
        if not error.code:  # after the help
            raise
        raise InputError(_sentence(printed.getvalue())) from None


def _sentence(box: str) -> str:
    """Returns the first paragraph of a box, below its title; an explanation of the flag follows after a rule."""
    plain = (re.sub(r"\x1b\[[\d;]*m", "", line).strip("│ ") for line in box.splitlines()[1:])
    lines = itertools.dropwhile(_is_rule, filter(None, plain))
    text = " ".join(" ".join(itertools.takewhile(lambda line: not _is_rule(line), lines)).split())
    for theirs, ours in REWORDED:
        text = re.sub(theirs, ours, text)
    return text if text.endswith(".") else f"{text}."


def _is_rule(line: str) -> bool:
    return not line.strip("─-╰╯")
