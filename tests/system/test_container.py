from pathlib import Path

import numpy as np
import pytest

from acer_tf.config import Config
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError
from acer_tf.replay.size import check_replay, smallest_bytes
from acer_tf.system import container
from acer_tf.system.compute import cores
from acer_tf.system.container import cpu_limit, memory_left
from tests.scripted import ScriptedEnv

V1_NO_LIMIT = "9223372036854771712"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the system's; it has `own` for /proc/self/cgroup, the rest as in /sys/fs/cgroup."""
    monkeypatch.setattr(container, "ROOT", tmp_path)
    monkeypatch.setattr(container, "OWN_GROUPS", tmp_path / "own")
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n")


def test_no_control_groups_no_limit(files: Path) -> None:
    assert cpu_limit() is None
    assert memory_left() is None


def test_on_this_machine_limits_are_positive_or_absent() -> None:
    assert (cpu_limit() or 1) >= 1
    assert (memory_left() or 1) > 0


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", None), ("200000 100000", 2), ("150000 100000", 2), ("5000 100000", 1)]
)
def test_version_2(files: Path, quota: str, cores: int | None) -> None:
    write(files, {"own": "0::/", "cpu.max": quota, "memory.max": "1000", "memory.current": "700"})
    write(files, {"memory.stat": "anon 400\nfile 300\ninactive_file 150"})
    assert cpu_limit() == cores
    assert memory_left() == 450
    write(files, {"memory.max": "max"})
    assert memory_left() is None


@pytest.mark.parametrize(("quota", "cores"), [("-1", None), ("400000", 4)])
def test_version_1(files: Path, quota: str, cores: int | None) -> None:
    write(
        files, {"own": "3:memory:/\n2:cpu,cpuacct:/", "cpu/cpu.cfs_quota_us": quota, "cpu/cpu.cfs_period_us": "100000"}
    )
    write(files, {"memory/memory.limit_in_bytes": "1000", "memory/memory.usage_in_bytes": "1200"})
    assert cpu_limit() == cores
    assert memory_left() == 0
    write(files, {"memory/memory.limit_in_bytes": V1_NO_LIMIT})
    assert memory_left() == int(V1_NO_LIMIT) - 1200  # more than any machine has


def test_the_tightest_of_nested_groups_counts(files: Path) -> None:
    write(files, {"own": "0::/job/step/task", "job/cpu.max": "300000 100000", "job/step/cpu.max": "max 100000"})
    write(files, {"job/step/task/cpu.max": "800000 100000"})
    write(files, {"job/memory.max": "1000", "job/memory.current": "100"})
    write(files, {"job/step/task/memory.max": "500", "job/step/task/memory.current": "50"})
    assert cpu_limit() == 3
    assert memory_left() == 450


def test_a_group_that_is_not_seen_from_here_is_passed_over(files: Path) -> None:
    """Without a namespace of its own, a container is told its path on the host but shown only its own folder."""
    write(files, {"own": "5:cpu:/docker/0123\n4:memory:/docker/0123", "cpu/cpu.cfs_quota_us": "100000"})
    write(files, {"cpu/cpu.cfs_period_us": "100000"})
    write(files, {"memory/memory.limit_in_bytes": "1000", "memory/memory.usage_in_bytes": "0"})
    assert cpu_limit() == 1
    assert memory_left() == 1000


def test_cores_and_replay_keep_to_the_limits(files: Path) -> None:
    env = FrameStack(ScriptedEnv(np.ones((1, 2, 100)), nact=3), 1)
    config = Config(buffer_size=100_000)
    needed = smallest_bytes(env, config)
    write(files, {"own": "0::/", "cpu.max": "100000 100000", "memory.max": str(needed), "memory.current": "0"})
    assert cores() == 1
    check_replay(env, config)
    write(files, {"memory.current": "1"})
    with pytest.raises(InputError, match="lower buffer_size"):
        check_replay(env, config)
