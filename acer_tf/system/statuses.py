"""The exit statuses of all commands."""

import enum


class Status(enum.IntEnum):
    """Exit status of a command; docs/reliability.md explains each."""

    DONE = 0
    FAILED = 1
    """An environment failed, or a trial of a sweep; 1 is also Python's status after an error nobody expected."""
    BAD_INPUT = 2
    LOCKED = 69
    """Another process works in the folder: `EX_UNAVAILABLE` of sysexits.h."""
    SUPERSEDED = 76
    """A process on another host took the folder over."""
    HUNG_UP = 129
    """128 + SIGHUP: the terminal was closed."""
    INTERRUPTED = 130
    """128 + SIGINT: Ctrl-C."""
    STALLED = 142
    """128 + SIGALRM, as shells tell it: no progress for too long."""
    TERMINATED = 143
    """128 + SIGTERM."""
