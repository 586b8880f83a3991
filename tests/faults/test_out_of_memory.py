"""The kernel kills a run that takes more memory than its control group may."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.processes import training
from tests.saved import steps

GROUPS = Path("/sys/fs/cgroup")
LIMIT = 2**20
"""Bytes from here on: what the process has taken before is not counted."""


@contextlib.contextmanager
def memory_group() -> Iterator[Path]:
    """A new control group of little memory, of either version; skips the test where none can be made."""
    for parent, limit in ((GROUPS, "memory.max"), (GROUPS / "memory", "memory.limit_in_bytes")):
        group = parent / f"acer-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            group.mkdir()
            if (group / limit).exists():
                (group / limit).write_text(str(LIMIT))
                try:
                    yield group
                finally:
                    group.rmdir()
                return
            group.rmdir()
    pytest.skip("no control group can be made here")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_run_that_is_killed_for_its_memory_resumes_from_its_newest_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    flags = {"num_env": 16, "buffer_size": 10**6, "num_timesteps": 10**7, "checkpoint_every": 1600}
    with memory_group() as group:
        with training(folder, **flags) as run:
            run.wait_for_checkpoint(4800)  # the size of replay has been projected, and fits
            (group / "cgroup.procs").write_text(str(run.process.pid))
            assert run.end() == -signal.SIGKILL, run.said
            assert "Traceback" not in run.said
    newest = steps(folder / "checkpoints")[-1]
    with training(folder, **flags) as run:
        assert int(run.wait_for(r"resumed at step ([\d,]+)").replace(",", "")) == newest
