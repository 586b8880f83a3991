"""What may have been meant by a name that does not exist."""

import difflib
import heapq
from collections.abc import Callable, Iterable

Likeness = Callable[[str, str], float]
LIKE = 0.5
"""Likeness from which a name is suggested for another."""
FEW = 8
"""Choices that are all named if none is like what was given."""


def likeness(a: str, b: str) -> float:
    """Returns how similar two names are, from 0 to 1, ignoring case; from `LIKE` on one may be meant by the other."""
    return difflib.SequenceMatcher(a=a.lower(), b=b.lower()).ratio()


def nearest(name: str, choices: Iterable[str], n: int = 3, alike: Likeness = likeness) -> list[str]:
    """Returns the `n` choices most similar to `name`, best first; none if even the best is unlike it."""
    near = heapq.nlargest(n, choices, key=lambda choice: alike(name, choice))
    return near if near and alike(name, near[0]) >= LIKE else []


def suggestion(name: str, choices: Iterable[str], otherwise: str = "", alike: Likeness = likeness) -> str:
    """Returns the end of the message that a name does not exist, from its semicolon on.

    Args:
        name: what was given.
        choices: what exists; if few, and none is similar, all are named.
        otherwise: where to find the choices, if they are many and none is similar.
        alike: how similar two names are, from 0 to 1.
    """
    names = list(choices)
    if near := nearest(name, names, alike=alike):
        return f"; the nearest are {', '.join(near)}"
    if len(names) > FEW:
        return otherwise and f"; {otherwise}"
    return f"; expected {' or '.join(filter(None, (', '.join(names[:-1]), names[-1])))}" if names else ""
