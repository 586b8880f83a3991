"""The command line of this process, as its user typed it."""

import shutil
import sys
from pathlib import Path

SCRIPT = "acer"
"""Name of the console script."""


def command_line() -> list[str]:
    """Returns the words by which this process was started, such as `acer run ...` or `python -m acer_tf.run ...`.

    The operating system starts a console script as `PYTHON SCRIPT ...`, which nobody types.
    """
    script = sys.argv[0]
    if Path(script).stem != SCRIPT:
        return sys.orig_argv
    return [SCRIPT if shutil.which(SCRIPT) == script else script, *sys.argv[1:]]
