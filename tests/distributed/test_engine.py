"""One Ray for everything: it takes long to start."""

import errno
import signal
import tempfile
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import pytest

from acer_tf.distributed import engine
from acer_tf.distributed.connection import connected
from acer_tf.distributed.engine import RemoteProgram
from acer_tf.distributed.supervisor import Ended
from acer_tf.errors import InputError
from acer_tf.trials.scheduler import Trial
from tests.distributed.nodes import AUTHENTICATION
from tests.distributed.test_supervisor import python


class Scripts:
    """Starts programs in one folder."""

    def __init__(self, ray: ModuleType, folder: Path) -> None:
        self.ray, self.folder = ray, folder

    def start(self, name: str, code: str) -> RemoteProgram:
        folder = self.folder / name
        checkpoints = folder / "checkpoints"
        checkpoints.mkdir(parents=True)
        return RemoteProgram(self.ray, Trial(name, 0, folder, python(code.format(checkpoints=checkpoints))), cpus=1)

    def checkpoints(self, name: str) -> int:
        return len(list((self.folder / name / "checkpoints").iterdir()))

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()


STEP = "import os; done = len(os.listdir('{checkpoints}')); os.mkdir(f'{checkpoints}/step-{{done:012d}}'); "
KILL = "os.kill(os.getpid(), 9)"


def folders() -> set[Path]:
    """Folders of Rays that were started by this package."""
    return set(Path(tempfile.gettempdir()).glob("acer-ray-*"))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_programs_on_a_ray_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    for name, value in AUTHENTICATION.items():
        monkeypatch.setenv(name, value)  # Ray keeps these for as long as the process lives
    handler, before = signal.getsignal(signal.SIGTERM), folders()
    with connected(cpus=2) as ray:
        address = ray.get_runtime_context().gcs_address
        assert signal.getsignal(signal.SIGTERM) is handler
        assert ray.cluster_resources()["CPU"] == 2
        with connected(address) as again:
            assert again is ray
        assert ray.is_initialized()
        (folder,) = folders() - before
        _ends_as_the_programs_end(Scripts(ray, tmp_path))
        monkeypatch.setenv("RAY_AUTH_TOKEN", "wrong")
        with pytest.raises(InputError, match="does not accept the token"), connected(address):
            pass
    assert not folder.exists()
    monkeypatch.setenv("RAY_AUTH_TOKEN", "any")
    with pytest.raises(InputError, match="no Ray cluster answers"), connected(address):
        pass


def _ends_as_the_programs_end(scripts: Scripts) -> None:
    endless = scripts.start("endless", "import time; time.sleep(600)")
    withdrawn = [scripts.start(f"waiting{i}", "import time; time.sleep(600)") for i in range(2)]
    while endless.poll() is None and not (scripts.folder / "endless.log").exists():
        time.sleep(0.05)
    for program in (*withdrawn, endless):
        program.terminate()
    assert [program.wait() for program in (endless, *withdrawn)] == [-signal.SIGTERM] * 3

    refused = scripts.start("refused", STEP + "os._exit(2)")
    further = scripts.start("further", STEP + "done >= 4 or " + KILL)
    in_vain = scripts.start("in_vain", "import os; print('start', flush=True); " + KILL)
    assert refused.wait() == 2
    assert scripts.checkpoints("refused") == 1  # once
    assert further.wait() == 0
    assert scripts.checkpoints("further") == 5  # killed four times, each time further
    assert in_vain.wait() == -signal.SIGKILL
    assert scripts.log("in_vain").count("start\n") == 3
    assert not list(scripts.folder.glob("*.heartbeat"))


class Tasks:
    """A Ray whose tasks have ended at once, the first ones killed."""

    exceptions = SimpleNamespace(RayError=RuntimeError, TaskCancelledError=InterruptedError)

    def __init__(self, killed: int) -> None:
        self.killed, self.begun = killed, 0

    def remote(self, call: object) -> Self:
        return self

    def options(self, **options: object) -> Any:
        return SimpleNamespace(remote=self._begin)

    def _begin(self, program: object) -> int:
        self.begun += 1
        return self.begun

    def wait(self, tasks: list[int], timeout: float) -> tuple[list[int], list[int]]:
        return tasks, []

    def get(self, task: int) -> Ended:
        return Ended(-signal.SIGKILL if task <= self.killed else 0, "here")


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_program_that_cannot_be_started_again_yet_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_stopped: bool
) -> None:
    ray, real = Tasks(killed=1), engine.new_heartbeat
    program = RemoteProgram(ray, Trial("a", 0, tmp_path / "a", ("x",)), cpus=1)  # type: ignore[arg-type]

    def full(path: Path) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(engine, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(engine, "new_heartbeat", full)
    assert program.poll() is None and program.poll() is None
    assert capsys.readouterr().err.count("cannot start again (No space left on device); it will be tried again") == 1
    if is_stopped:
        program.terminate()
    monkeypatch.setattr(engine, "new_heartbeat", real)
    assert program.wait() == (-signal.SIGTERM if is_stopped else 0)
    assert ray.begun == (1 if is_stopped else 2)
    assert not list(tmp_path.glob("*.heartbeat"))
