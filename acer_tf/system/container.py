"""Limits of Linux control groups (containers) on this process: processor time and memory.

Neither the machine's number of cores nor its free memory shows them. Both versions of control groups are supported; in
nested groups, the tightest limit counts.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import psutil

ROOT = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
MEMORY = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""The controller ("" in version 2), its files for limit and use, and the name of the file cache in `memory.stat`."""


def free_memory() -> int:
    """Returns the bytes free for this process, within a container's limit."""
    available, left = psutil.virtual_memory().available, memory_left()
    return available if left is None else min(available, left)


def cpu_limit() -> int | None:
    """Returns the limit on processor time in cores, rounded up and at least 1, or None without a limit."""
    limits = [math.ceil(quota / period) for quota, period in _quotas()]
    return max(1, min(limits)) if limits else None


def memory_left() -> int | None:
    """Returns the bytes that this process may still allocate, counting file cache as free, or None without a limit."""
    left = []
    for group, limit_file, usage_file, cache in MEMORY:
        for folder in _folders(group):
            limit, usage = _number(folder / limit_file), _number(folder / usage_file)
            if limit is not None and usage is not None:
                left.append(limit - usage + _counters(folder / "memory.stat").get(cache, 0))
    return max(0, min(left)) if left else None


def _quotas() -> Iterator[tuple[int, int]]:
    """Yields quota and period of each limit on processor time, in microseconds."""
    for folder in _folders(""):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        if quota.isdecimal():
            yield int(quota), int(period)
    for folder in _folders("cpu"):
        old_quota, old_period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
        if old_quota is not None and old_period is not None:
            yield old_quota, old_period


def _folders(controller: str) -> Iterator[Path]:
    """Yields the folders of this process's group and its ancestors; in a container, the root is its own group."""
    top = ROOT / controller
    for line in _read(OWN_GROUPS).splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            own = Path(path.lstrip("/"))
            yield from (top / folder for folder in (own, *own.parents) if folder != Path())
    yield top


def _number(path: Path) -> int | None:
    """Reads an integer; returns None if the file does not exist or holds another value, which means no limit."""
    text = _read(path)
    return int(text) if text.isdecimal() else None


def _counters(path: Path) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in _read(path).splitlines())}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
