"""Configures the C library's memory allocator."""

import ctypes
import sys

# Parameters of mallopt(3).
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3


def keep_freed_memory() -> None:
    """Makes the allocator hand out freed memory again instead of returning it to the system.

    Every update allocates and frees the same large tensors. By default glibc maps each of them afresh, and the page
    faults cost more than the arithmetic on them: a cast of 320 stacks of frames took 37 ms instead of 3 ms. Where the C
    library is another one, nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # A glibc that refuses so high a threshold keeps its own rule, which the other parameters would only switch off.
    if mallopt is not None and mallopt(_M_MMAP_THRESHOLD, 1 << 30):
        mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
        mallopt(_M_TOP_PAD, 1 << 28)
