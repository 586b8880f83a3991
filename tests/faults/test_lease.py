import contextlib
import signal
import time
from pathlib import Path

import pytest

from acer_tf.storage.lock import locked
from tests.faults.processes import training


def contents(folder: Path) -> dict[Path, bytes]:
    """All that the run wrote."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path: path.read_bytes() for path in files}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("has_ended", [False, True])
def test_a_run_whose_folder_was_taken_over_writes_nothing_more(tmp_path: Path, has_ended: bool) -> None:
    folder = tmp_path / "run"
    with training(folder, num_timesteps=1_000_000, checkpoint_every=200, log_interval=1) as run:
        run.wait_for_checkpoint(200)
        run.process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        for name in (".lock", ".lease"):  # as if it had been stopped on another host, for long
            (folder / name).unlink()
        with contextlib.ExitStack() as other:
            other.enter_context(locked(folder))
            before = contents(folder)
            if has_ended:
                other.close()
            run.process.send_signal(signal.SIGCONT)
            assert run.end() == 76, run.said
            assert contents(folder) == before
        assert f"has taken {folder} over" in run.said
