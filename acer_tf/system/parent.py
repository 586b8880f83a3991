"""Child processes that end with their parent."""

import ctypes
import os
import signal
import sys

_SIGNAL_AT_PARENTS_DEATH = 1  # PR_SET_PDEATHSIG
_LIBC = ctypes.CDLL(None)  # loaded here: nothing may be, between fork and exec


def end_with_parent(parent: int, signum: signal.Signals) -> None:
    """Has the kernel send this process a signal when its parent ends, however that ends; only Linux can.

    For a child that was just forked, as `preexec_fn` of `subprocess.Popen`. If the parent has several threads, the
    signal may come several times.

    Args:
        parent: process id of the parent, which may have ended meanwhile.
        signum: the signal; if the parent ignores it, the child does not.
    """
    if sys.platform == "linux":
        signal.signal(signum, signal.SIG_DFL)
        _LIBC.prctl(_SIGNAL_AT_PARENTS_DEATH, int(signum))
        if os.getppid() != parent:
            os.kill(os.getpid(), signum)
