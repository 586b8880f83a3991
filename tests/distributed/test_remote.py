"""One Ray for everything: it takes long to start."""

import os
import signal
import time
from pathlib import Path
from types import ModuleType

import pytest

from acer_tf.distributed.connection import connected
from acer_tf.distributed.remote import RemoteProgram
from acer_tf.errors import InputError
from tests.distributed.test_supervisor import python


class Scripts:
    """Starts programs in one folder."""

    def __init__(self, ray: ModuleType, folder: Path) -> None:
        self.ray, self.folder = ray, folder

    def start(self, name: str, code: str) -> RemoteProgram:
        log, steps = self.folder / f"{name}.log", self.folder / f"{name}.steps"
        return RemoteProgram(
            self.ray,
            python(code.format(steps=steps)),
            log,
            cpus=1,
            is_temporary=lambda status: status == -signal.SIGKILL,
            progress=lambda: steps.stat().st_size if steps.exists() else 0,
        )

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()


STEP = "import os; open('{steps}', 'a').write('x'); "
KILL = "os.kill(os.getpid(), 9)"


@pytest.mark.timeout(300)
def test_programs_on_a_ray_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    handler = signal.getsignal(signal.SIGTERM)
    with connected(cpus=2) as ray:
        address = ray.get_runtime_context().gcs_address
        assert signal.getsignal(signal.SIGTERM) is handler
        assert ray.cluster_resources()["CPU"] == 2
        with connected(address) as again:
            assert again is ray
        assert ray.is_initialized()
        folder = ray._private.worker._global_node.get_temp_dir_path()
        assert os.path.isdir(folder)
        _ends_as_the_programs_end(Scripts(ray, tmp_path))
        monkeypatch.setenv("RAY_AUTH_TOKEN", "wrong")
        with pytest.raises(InputError, match="does not accept the token"), connected(address):
            pass
    assert not os.path.exists(folder)
    assert not {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_USAGE_STATS_ENABLED"} & os.environ.keys()
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
    further = scripts.start("further", STEP + "os.path.getsize('{steps}') > 4 or " + KILL)
    in_vain = scripts.start("in_vain", "import os; print('start', flush=True); " + KILL)
    assert refused.wait() == 2
    assert (scripts.folder / "refused.steps").read_text() == "x"  # once
    assert further.wait() == 0
    assert (scripts.folder / "further.steps").read_text() == "xxxxx"  # killed four times, each time further
    assert in_vain.wait() == -signal.SIGKILL
    assert scripts.log("in_vain").count("start\n") == 3
    assert not list(scripts.folder.glob("*.beat"))
