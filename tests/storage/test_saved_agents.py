import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.storage import saved_agents
from acer_tf.storage.agent_file import write_agent
from acer_tf.storage.arrays import save_arrays
from acer_tf.storage.checkpoint import read_manifest, step_folder
from acer_tf.storage.checkpoint_store import CheckpointStore
from acer_tf.storage.durable import fingerprint
from acer_tf.storage.saved_agents import PART, SavedAgent, keep_lost, part_of_checkpoint, read_saved_agent
from tests.saved import forge_manifest, make_buffer, make_checkpoints, put
from tests.zips import members, write_members

SETTINGS = {"env": "Some-v0"}


def agent(step: int) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
    """Values and arrays as an agent's file holds them."""
    model = {"param/a": np.full((2, 3), step, np.float32), "ms/a": np.array(0.5)}
    return {"num_timesteps": step}, {"model": model, "random": {"sampling": np.array([step])}, "normalization": {}}


def checkpoint(checkpoints: CheckpointStore, step: int, score: float | None = None) -> None:
    data, groups = agent(step)
    state = {"model": {**groups["model"], "random": np.array([1])}, PART: part_of_checkpoint(data, groups)}
    buffer = make_buffer()
    put(buffer, step // 100)
    checkpoints.save(step, state, buffer, score, SETTINGS, {})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Checkpoints at the steps 100, 200 and 300, the best at 200; no files besides."""
    checkpoints = make_checkpoints(tmp_path / "run" / "checkpoints")
    for step, score in ((100, None), (200, 7.0), (300, 5.0)):
        checkpoint(checkpoints, step, score)
    return tmp_path / "run"


def folder(run: Path, step: int) -> Path:
    return step_folder(run / "checkpoints", step)


def fail(path: Path) -> None:
    """Makes a file one that the disk cannot read: EIO at its first byte."""
    path.unlink()
    path.symlink_to("/proc/self/mem")


def assert_is(saved: SavedAgent, path: Path, step: int) -> None:
    data, groups = agent(step)
    assert (saved.name, saved.data) == (str(path), data)
    assert {name for name, arrays in saved.groups.items() if arrays} == {"model", "random"}
    for group, arrays in groups.items():
        assert saved.groups.get(group, {}).keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(saved.groups[group][name], array, strict=True)


def test_latest_best_and_step_of_a_run_in_progress(run: Path) -> None:
    assert_is(read_saved_agent(run), folder(run, 300), 300)
    assert read_saved_agent(run).settings == SETTINGS
    assert_is(read_saved_agent(run, "best"), folder(run, 200), 200)
    assert_is(read_saved_agent(run, 100), folder(run, 100), 100)


@pytest.mark.parametrize(("step", "nearest"), [(250, "200 and 300"), (1, "100 and 200"), (10**6, "200 and 300")])
def test_the_nearest_steps_are_named(run: Path, step: int, nearest: str) -> None:
    with pytest.raises(InputError, match=f"run has no checkpoint at step {step}; the nearest: {nearest}"):
        read_saved_agent(run, step)


@pytest.mark.parametrize(("learned", "expected"), [(200, "checkpoints/step-000000000300"), (300, "model.zip")])
def test_a_file_that_is_older_than_a_checkpoint_is_not_the_latest(run: Path, learned: int, expected: str) -> None:
    write_agent(run / "model.zip", *agent(learned))
    assert_is(read_saved_agent(run), run / expected, 300)


def test_files_alone_are_enough(run: Path, tmp_path: Path) -> None:
    write_agent(run / "best.zip", *agent(150))
    assert_is(read_saved_agent(run, "best"), run / "best.zip", 150)
    assert_is(read_saved_agent(run / "best.zip"), run / "best.zip", 150)
    write_agent(run / "model.zip", *agent(400))
    shutil.rmtree(run / "checkpoints")
    assert_is(read_saved_agent(run), run / "model.zip", 400)


def test_neither_replay_nor_the_rest_of_the_run_is_needed(run: Path, tmp_path: Path) -> None:
    shutil.rmtree(run / "checkpoints" / "replay")
    assert_is(read_saved_agent(run), folder(run, 300), 300)
    alone = shutil.copytree(folder(run, 200), tmp_path / "elsewhere" / folder(run, 200).name)
    assert_is(read_saved_agent(alone), alone, 200)
    assert_is(read_saved_agent(run / "checkpoints"), folder(run, 300), 300)


@pytest.mark.parametrize("name", ["manifest.json", "state.json", "arrays.npz"])
def test_what_is_damaged_is_skipped_and_named(run: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_agent(run / "model.zip", *agent(300))
    fail(run / "model.zip")
    fail(folder(run, 300) / name)
    assert_is(read_saved_agent(run), folder(run, 200), 200)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    for line, path in zip(lines, [run / "model.zip", folder(run, 300) / name], strict=True):
        assert line.startswith(f"skipped: {path} ")
    (folder(run, 200) / "arrays.npz").write_bytes(b"damaged")
    assert_is(read_saved_agent(run), folder(run, 100), 100)
    if name != "manifest.json":
        with pytest.raises(InputError, match="Input/output error"):
            read_saved_agent(run, 300)


def test_a_checkpoint_that_is_deleted_while_it_is_read_has_a_successor(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were listed are gone, one after the other; the run has published another meanwhile."""
    checkpoints = make_checkpoints(run / "checkpoints", keep=1)

    def deletes(path: Path) -> Any:
        monkeypatch.undo()
        checkpoint(checkpoints, 400)
        assert not path.exists()
        return read_manifest(path)

    monkeypatch.setattr(saved_agents, "read_manifest", deletes)
    assert_is(read_saved_agent(run), folder(run, 400), 400)


@pytest.fixture
def nothing(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


def test_bad_input(run: Path, nothing: Path) -> None:
    with pytest.raises(InputError, match="empty holds no agent; expected a run folder, a checkpoint, or a file that"):
        read_saved_agent(nothing)
    with pytest.raises(InputError, match="empty has no best agent yet"):
        read_saved_agent(nothing, "best")
    with pytest.raises(InputError, match="empty has no checkpoint at step 5; nor at any other"):
        read_saved_agent(nothing, 5)
    with pytest.raises(
        InputError, match=r"step-000000000300 is a single agent; to choose a checkpoint, give a run folder"
    ):
        read_saved_agent(folder(run, 300), 300)
    for step in (100, 200, 300):
        (folder(run, step) / "state.json").write_text("{}")
    with pytest.raises(InputError, match=r"run holds no agent that is whole: .*step-000000000300/state\.json is miss"):
        read_saved_agent(run)


def test_a_checkpoint_without_a_description_of_its_agent_says_so(tmp_path: Path) -> None:
    make_checkpoints(tmp_path).save(5, {"model": {"random": np.array(1)}}, make_buffer(), None, {}, {})
    with pytest.raises(InputError, match="does not describe its agent: it is of an earlier version; resume the run"):
        read_saved_agent(step_folder(tmp_path, 5))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"agent": None}, r"state\.json holds no state of a run\.$"),
        ({"agent": {"data": {}}, "model": None}, r"state\.json holds no state of a run\.$"),
        ([{"agent": {"data": {}}}], r"state\.json holds no state of a run\.$"),
        ({"agent": {"data": []}, "model": {}}, r"300 is damaged: it does not describe its agent\.$"),
        (
            {"agent": {"data": {}}, "model": {"param/a": 5}},
            r"300 is damaged: model/param/a of its agent is not an array\.$",
        ),
        ({"agent": {"data": {}, "random/a": 5}}, r"300 is damaged: random/a of its agent is not an array\.$"),
    ],
)
def test_a_forged_state_is_told(run: Path, state: Any, message: str) -> None:
    path = folder(run, 300)
    save_arrays(path / "arrays.npz", {})
    (path / "state.json").write_text(json.dumps(state))
    forge_manifest(path, files={name: fingerprint(path / name) for name in ("arrays.npz", "state.json")})
    with pytest.raises(InputError, match=message):
        read_saved_agent(path)


FORGED = [float("inf"), float("nan"), -1, 1e19, 2.5, "5", [5], None]


@pytest.mark.parametrize("learned", FORGED)
def test_a_forged_number_of_steps_is_damage(run: Path, learned: Any, capsys: pytest.CaptureFixture[str]) -> None:
    forged(run / "model.zip", learned)
    keep_lost(run / "model.zip", 5)
    assert (run / "model.zip").exists()
    assert_is(read_saved_agent(run), folder(run, 300), 300)
    said = capsys.readouterr().err
    assert said.startswith(f"skipped: {run / 'model.zip'} is damaged: num_timesteps is {learned!r}; expected a whole")


def test_a_whole_number_of_steps_may_be_written_as_another(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forged(run / "model.zip", 2.5e9)
    assert read_saved_agent(run).name == str(run / "model.zip")
    keep_lost(run / "model.zip", 5)
    assert (run / "model-002500000000.zip").exists()
    assert "is from step 2,500,000,000, which this run has not reached" in capsys.readouterr().err


def forged(path: Path, learned: Any) -> None:
    data, groups = agent(0)
    write_agent(path, data | {"num_timesteps": 123456}, groups)
    content = members(path)
    write_members(path, content | {"data.json": content["data.json"].replace(b"123456", json.dumps(learned).encode())})


def test_fingerprints_are_those_of_names_types_shapes_and_values() -> None:
    def fingerprint(**arrays: np.ndarray) -> str:
        return SavedAgent("x", {}, {"model": arrays}).fingerprint()

    ones = np.ones((2, 3), np.float32)
    assert fingerprint(a=ones, b=ones) == fingerprint(b=ones, a=np.asfortranarray(ones))
    others = [
        fingerprint(a=ones),
        fingerprint(b=ones),
        fingerprint(a=ones.T),
        fingerprint(a=ones.astype(np.float64)),
        fingerprint(a=ones * 2),
        SavedAgent("x", {}, {"normalization": {"a": ones}}).fingerprint(),
    ]
    assert len(set(others)) == len(others)
    assert SavedAgent("other", {"seed": 3}, {"model": {"a": ones}}).fingerprint() == others[0]
