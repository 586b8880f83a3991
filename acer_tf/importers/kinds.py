"""Tells files of Stable Baselines from files of baselines."""

from pathlib import Path

from acer_tf.importers.contents import contents, told
from acer_tf.importers.pickled import read_pickle


def is_of_stable_baselines(path: str | Path) -> bool:
    """Whether a file is a zip or a pickle of two things, rather than baselines' dict.

    Raises:
        InputError: there is no such file, or it is neither.
    """
    with told(path, "agent of Stable Baselines 2 or baselines"):
        data = contents(path)
        if data.startswith(b"PK"):
            return True
        value = read_pickle(data)
        if not isinstance(value, tuple | dict):
            raise ValueError("expected settings and parameters, or parameters by name")
        return isinstance(value, tuple)
