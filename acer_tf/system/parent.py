"""Child processes that end with their parent."""

import ctypes
import os
import signal
import sys

_SIGNAL_AT_PARENTS_DEATH = 1  # PR_SET_PDEATHSIG
_LIBC = ctypes.CDLL(None)  # loaded here: nothing may be, between fork and exec


def end_with_parent(parent: int, signum: signal.Signals) -> None:
    """Has the kernel send this process a signal when its parent ends, however that ends; only Linux can.

    For a child that was just forked, as `preexec_fn` of `subprocess.Popen`.

    Args:
        parent: process id of the parent, which may have ended meanwhile.
        signum: the signal.
    """
    if sys.platform == "linux":
        _LIBC.prctl(_SIGNAL_AT_PARENTS_DEATH, int(signum))
        if os.getppid() != parent:
            os.kill(os.getpid(), signum)
