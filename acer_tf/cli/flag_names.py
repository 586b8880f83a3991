"""Names of flags as typed on a command line."""

import re
from collections.abc import Collection, Iterable

from acer_tf.suggestions import from_elsewhere, nearest

ALIASES = {"num_timesteps": "total_timesteps"}
"""Further names: that of baselines' command."""


def flag_name(word: str) -> str:
    """Returns the name of the flag in a word such as `--num-env=8`."""
    name = word.partition("=")[0].removeprefix("--").replace("-", "_")
    return ALIASES.get(name, name)


def intended_flag(name: str, known: Iterable[str]) -> str | None:
    """Returns the known flag that another library calls by an unknown name, or else the most similar one, if any."""
    flags = list(known)
    return next(iter(from_elsewhere(name, flags) or nearest(name, flags, n=1)), None)


def instead_of(name: str, known: Collection[str]) -> str:
    """Returns the end of a message that a flag does not exist."""
    flag = intended_flag(name, known)
    return "--help lists them" if flag is None else f"the nearest is --{flag}"


def stray(word: str, known: Collection[str]) -> str:
    """Returns a message that a word follows no flag."""
    flag = next((flag for flag in ("envs", "env") if flag in known and re.fullmatch(r"[A-Z]\w*|.+-v\d+", word)), None)
    expected = f"--{flag} {word}" if flag else "--name=value" if known else "none"
    return f"unexpected word '{word}'; expected {expected}."
