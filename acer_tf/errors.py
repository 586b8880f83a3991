"""The one exception that means "the input is wrong", and how it names the nearest valid choice."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Input from a user that cannot work: one sentence that says what is wrong and what was expected.

    The commands print it and exit with status 2; as a library it is an ordinary `ValueError`.
    """


def nearest(name: str, choices: Iterable[str], n: int = 3) -> list[str]:
    """Returns the `n` choices most similar to `name`, best first, ignoring case."""
    by_lower = {choice.lower(): choice for choice in choices}
    return [by_lower[match] for match in difflib.get_close_matches(name.lower(), by_lower, n=n, cutoff=0.0)]
