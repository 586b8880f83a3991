from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.recordings.recorded import find, read
from tests.recordings.recordings import GOLDEN, altered

KINDS = {
    "buffer": "buffer",
    "buffer_vector": "buffer",
    "curves_cartpole": "curves",
    "lstm": "model",
    "mlp_value_copy": "model",
    "runner_rgb": "runner",
    "stack_obs": "stack_obs",
    "trajectory_lstm": "trajectory",
    "vec_frame_stack": "vec_frame_stack",
}


@pytest.mark.parametrize("name", KINDS)
def test_kind_is_told_by_the_arrays(tmp_path: Path, name: str) -> None:
    assert read(altered(tmp_path, name, lambda arrays, config: None)).kind == KINDS[name]


@pytest.mark.parametrize("name", ["seed0/timestep", "breakout/3/steps", "steps_1"])
def test_curves_are_known_however_they_are_named(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "file.npz", **{name: np.arange(3)})
    assert read(tmp_path / "file.npz").kind == "curves"


def test_recurrent_recordings_are_known() -> None:
    assert read(GOLDEN / "runner_recurrent.npz").is_recurrent
    assert not read(GOLDEN / "runner.npz").is_recurrent


def test_arrays_and_settings() -> None:
    recorded = read(GOLDEN / "buffer.npz")
    assert recorded["get/idx"].shape == (6, 3)
    assert "get/idx" in recorded and "get/index" not in recorded
    assert recorded.setting("size_arg") == 40
    assert recorded.settings(["nsteps", "gamma"]) == {"nsteps": 5}
    assert set(recorded.group("has_atleast")) == {"frames", "result"}
    assert read(GOLDEN / "explained_variance.npz").indices("ev/") == [0, 1, 2, 3, 4]
    assert read(GOLDEN / "ortho_init.npz").indices() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("missing", [lambda recorded: recorded["get/index"], lambda recorded: recorded.setting("lr")])
def test_what_is_missing_is_named(missing) -> None:
    with pytest.raises(InputError, match=r"lacks .* recording of kind buffer"):
        missing(read(GOLDEN / "buffer.npz"))


def test_whole_arrays_are_paired_as_they_are() -> None:
    recorded = read(GOLDEN / "mlp_value_copy.npz")
    name = "acer_model/q/b"
    ours = np.array([1.0, 2.0, 3.0])
    ((mine, theirs),) = recorded.matches("grad_raw", name, ours)
    assert mine is ours
    assert theirs is recorded[f"grad_raw/{name}"]
    assert recorded.matches("grad_policy", name, ours) == []
    assert recorded.has_parameters("grad_raw") and not recorded.has_parameters("grad_other")


def test_samples_are_paired_with_the_same_samples() -> None:
    recorded = read(GOLDEN / "cnn_small.npz")
    name = "acer_model/pi/c1/w"
    step = int(recorded[f"rms1.step/{name}"])
    ours = np.arange(8 * 8 * 4 * 8, dtype=np.float32).reshape(8, 8, 4, 8)
    (samples, theirs), (norm, recorded_norm) = recorded.matches("rms1", name, ours)
    np.testing.assert_array_equal(samples, [*range(64), *range(0, ours.size, step)])
    assert samples.shape == theirs.shape
    assert norm == pytest.approx(np.sqrt(np.square(np.arange(ours.size)).sum()))
    assert recorded_norm == recorded[f"rms1.norm/{name}"]
    assert recorded.has_parameters("rms1")


def test_folders_stand_for_their_files(tmp_path: Path) -> None:
    for name in ("b.npz", "a.npz", "c.csv", "README.md"):
        (tmp_path / name).touch()
    names = [path.name for path in find([tmp_path, tmp_path / "README.md"])]
    assert names == ["a.npz", "b.npz", "c.csv", "README.md"]


def test_paths_without_recordings_are_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        find([tmp_path / "nothing"])
    with pytest.raises(InputError, match="holds no npz file"):
        find([tmp_path])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"weights": np.ones(3)}, "holds no recorded numerics; expected one of the kinds trajectory, model"),
        ({"config": np.array("{not json")}, "config that is not JSON"),
        ({"config": np.array("[1, 2]")}, "config of type list; expected a JSON object"),
        ({"steps": np.array([{}])}, "not a readable npz file"),
    ],
)
def test_other_files_are_bad_input(tmp_path: Path, content: dict, message: str) -> None:
    path = tmp_path / "file.npz"
    np.savez(path, **content)
    with pytest.raises(InputError, match=message):
        read(path)


@pytest.mark.parametrize("cut", [10, 5000, -30])
def test_damaged_files_are_bad_input(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "file.npz"
    path.write_bytes((GOLDEN / "buffer.npz").read_bytes()[:cut])
    with pytest.raises(InputError, match="not a readable npz file"):
        read(path)


def test_a_flipped_byte_is_bad_input(tmp_path: Path) -> None:
    content = bytearray((GOLDEN / "buffer.npz").read_bytes())
    content[5000] ^= 0xFF
    path = tmp_path / "file.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a readable npz file"):
        read(path)
