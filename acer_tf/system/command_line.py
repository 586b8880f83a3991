"""The command line of this process, as the user typed it."""

import shutil
import sys
from pathlib import Path

SCRIPT = "acer"
"""Name of the console script."""


def command_line() -> list[str]:
    """Returns the words that started this process, such as `acer run ...` or `python -m acer_tf.run ...`.

    The operating system starts a console script as `PYTHON SCRIPT ...`, which nobody types.
    """
    script = sys.argv[0]
    if Path(script).stem != SCRIPT:
        return sys.orig_argv
    return [SCRIPT if shutil.which(SCRIPT) == script else script, *sys.argv[1:]]


def program(command: str) -> str:
    """Returns a command in the form in which this process was started.

    For instance `acer evaluate`, `python -m acer_tf evaluate` or the module's own command.

    Args:
        command: name of the command's module.
    """
    started, name = Path(sys.argv[0]), command.removeprefix("acer_tf.").replace("_", "-")
    if started.stem == SCRIPT:
        return f"{SCRIPT} {name}"
    if started.parts[-2:] == ("acer_tf", "__main__.py"):
        return f"python -m acer_tf {name}"
    return f"python -m {command}"
