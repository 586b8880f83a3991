"""What Linux has and other systems lack is hidden from the package: put this folder on PYTHONPATH.

The modules of acer_tf import stand-ins of `os`, `signal` and the like; everybody else gets the real ones.
"""

import builtins
import enum
import multiprocessing
import os
import pathlib
import signal
import types
from collections.abc import Mapping, Sequence
from typing import Any

MODULES = {"fcntl", "grp", "pwd", "resource", "termios"}
SIGNALS = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM"}
HIDDEN = {
    "os": {name for name in dir(os) if name.startswith(("sched_", "fork", "mkfifo", "posix_", "setsid", "getuid"))}
    | {
        "O_NOFOLLOW",
        "O_DIRECTORY",
        "O_CLOEXEC",
        "O_NONBLOCK",
        "killpg",
        "fchmod",
        "geteuid",
        "statvfs",
        "set_blocking",
    },
    "signal": {name for name in dir(signal) if name.startswith(("SIG", "ITIMER")) and name not in SIGNALS}
    - {"SIG_DFL", "SIG_IGN"}
    | {"setitimer", "getitimer", "pthread_sigmask", "pthread_kill", "sigwait", "Signals"},
    "faulthandler": {"register", "unregister"},
    "sys": set(),
    "subprocess": set(),
}


def open_file(path: Any, *args: Any, **kwargs: Any) -> int:
    """Opens a file, but no folder: as Windows does."""
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    return os.open(path, *args, **kwargs)


REPLACED: dict[str, dict[str, Any]] = {
    "os": {"open": open_file, "name": "nt"},
    "signal": {"Signals": enum.IntEnum("Signals", {name: int(getattr(signal, name)) for name in SIGNALS})},
    "sys": {"platform": "win32"},
}


class StandIn(types.ModuleType):
    """A module without some of its names, and with others replaced."""

    def __init__(self, module: types.ModuleType) -> None:
        self.__dict__.update(_module=module, _hidden=HIDDEN[module.__name__])
        self.__dict__.update(REPLACED.get(module.__name__, {}))

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__["_hidden"]:
            raise AttributeError(f"module has no attribute {name!r} on this system")
        return getattr(self.__dict__["_module"], name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_module"], name, value)


real_import, real_open = builtins.__import__, pathlib.Path.open
stand_ins: dict[str, StandIn] = {}


def import_as_elsewhere(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> types.ModuleType:
    """Imports as `__import__` does; gives the package's modules the stand-ins."""
    if not (globals or {}).get("__name__", "").startswith("acer_tf"):
        return real_import(name, globals, locals, fromlist, level)
    if name in MODULES:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = real_import(name, globals, locals, fromlist, level)
    return stand_ins.setdefault(name, StandIn(module)) if name in HIDDEN else module


def open_as_elsewhere(path: pathlib.Path, *args: Any, **kwargs: Any) -> Any:
    """Opens as `Path.open` does, which the package uses and libraries do not: there is no /proc and no /sys."""
    if path.parts[1:2] in (("proc",), ("sys",)):
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return real_open(path, *args, **kwargs)


builtins.__import__ = import_as_elsewhere  # type: ignore[assignment]
pathlib.Path.open = open_as_elsewhere  # type: ignore[method-assign]
multiprocessing.get_all_start_methods = lambda: ["spawn"]
