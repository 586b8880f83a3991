"""Agents of runs that go on, were killed, or lost a part of their folder."""

import json
import shutil
from pathlib import Path

import pytest

from acer_tf.evaluate import main
from acer_tf.storage.checkpoint import read_manifest, step_folder
from tests.faults.processes import training
from tests.saved import hashes, steps


def evaluated(source: Path, report: Path, *words: str) -> str:
    """Plays a game with the agent; returns its file or checkpoint."""
    assert main([str(source), "--episodes", "1", "--json", str(report), *words]) == 0
    return str(json.loads(report.read_text())["model"])


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_weights_can_be_used_at_any_moment_and_after_every_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """First while it trains, which does not notice; then after SIGKILL, from less and less of its folder."""
    folder, count = tmp_path / "run", iter(range(99))
    checkpoints = folder / "checkpoints"

    def agent(source: Path = folder, *words: str) -> str:
        return evaluated(source, tmp_path / f"{next(count)}.json", *words)

    with training(folder, num_timesteps=10**7, checkpoint_every=200) as run:
        run.wait_for_checkpoint(1000)
        used = agent()
        assert used.startswith(str(checkpoints / "step-"))
        run.wait_for_checkpoint(int(used[-12:]) + 400)
        assert agent() > used
        assert run.process.poll() is None and "warning" not in run.said
        run.kill()
    newest = steps(checkpoints)[-1]
    before = hashes(folder)
    assert agent() == str(step_folder(checkpoints, newest))
    assert agent(folder, "--checkpoint", str(newest - 200)) == str(step_folder(checkpoints, newest - 200))
    assert read_manifest(Path(agent(folder, "--checkpoint", "best"))).score is not None
    assert hashes(folder) == before
    capsys.readouterr()
    assert main([str(folder), "--checkpoint", "1"]) == 2
    assert "has no checkpoint at step 1; the nearest: " in capsys.readouterr().err

    first = checkpoints / "replay" / read_manifest(step_folder(checkpoints, newest)).replay[0].name
    first.write_bytes(first.read_bytes()[:-1] + b"x")
    with training(folder, num_timesteps=newest + 200, checkpoint_every=200, force=True) as run:
        assert run.end() == 0, run.said
    assert f"resumed at step {newest:,}" in run.said and "Traceback" not in run.said
    assert run.said.count(f"1 file of replay left out: {first} is missing or damaged. From step {newest:,} on") == 1
    assert agent() == str(folder / "model.zip")
    assert f"lost_replay:\n- {newest}\n" in (folder / "config.yml").read_text()

    (folder / "model.zip").write_bytes(b"damaged")
    (folder / "config.yml").unlink()
    shutil.rmtree(checkpoints / "replay")
    arrays = step_folder(checkpoints, newest + 200) / "arrays.npz"
    arrays.unlink()
    arrays.symlink_to("/proc/self/mem")  # raises EIO
    assert agent() == str(step_folder(checkpoints, newest))
    assert f"skipped: {arrays} cannot be read (Input/output error)." in capsys.readouterr().err
    alone = shutil.copytree(step_folder(checkpoints, newest), tmp_path / "alone" / f"step-{newest:012d}")
    shutil.rmtree(folder)
    assert agent(alone) == str(alone)

    with training(tmp_path / "again", num_timesteps=100, load_path=alone) as again:
        assert again.end() == 0, again.said
