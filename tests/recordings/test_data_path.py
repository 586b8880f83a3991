from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.buffer import Buffer
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.recordings.compare import compare
from acer_tf.recordings.recorded import read
from tests.recordings.recordings import Arrays, altered, compared, failures


@pytest.mark.parametrize(
    "name", ["buffer", "buffer_vector", "stack_obs", "vec_frame_stack", "runner", "runner_rgb", "runner_recurrent"]
)
def test_passes(name: str) -> None:
    case = compared(name)
    assert failures(case) == set()
    assert case.status == "pass"
    assert len(case.quantities) >= 5
    assert {quantity.tolerance for quantity in case.quantities} == {0.0}


def _fewer_puts(arrays: Arrays, config: dict[str, Any]) -> None:
    for key in list(arrays):
        if key.startswith("put/") or key == "has_atleast/result":
            arrays[key] = arrays[key][:9]
        elif key.startswith("get/"):
            arrays[key] = arrays[key][:2]


def _fewer_frames(arrays: Arrays, config: dict[str, Any]) -> None:
    for key in list(arrays):
        if key.startswith("3/"):
            arrays[key.replace("3/", "17/")] = arrays[key][:6, :2].copy()
        if key != "config":
            del arrays[key]


def _fewer_runs(arrays: Arrays, config: dict[str, Any]) -> None:
    for key in list(arrays):
        if key.startswith("run/"):
            arrays[key] = arrays[key][:2]
        elif key.startswith("model/"):
            arrays[key] = arrays[key][: 2 * config["nsteps"]]
    config["decode_of_enc_obs_equals_obs"] = config["decode_of_enc_obs_equals_obs"][:2]


SHORTER = {
    "buffer": (_fewer_puts, "get/mus"),
    "vec_frame_stack": (_fewer_frames, "17/stacked"),
    "runner": (_fewer_runs, "run/rewards"),
    "runner_rgb": (_fewer_runs, "model/obs"),
}


@pytest.mark.parametrize("name", SHORTER)
def test_others_work(tmp_path: Path, name: str) -> None:
    assert failures(compare(read(altered(tmp_path, name, SHORTER[name][0])))) == set()


@pytest.mark.parametrize("name", SHORTER)
def test_one_altered_number_fails(tmp_path: Path, name: str) -> None:
    shorten, key = SHORTER[name]

    def alter(arrays: Arrays, config: dict[str, Any]) -> None:
        shorten(arrays, config)
        flat = arrays[key].reshape(-1)
        flat[-1] = np.nextafter(flat[-1], 1) if flat.dtype.kind == "f" else flat[-1] ^ 1

    assert failures(compare(read(altered(tmp_path, name, alter)))) == {key}


def _edit_env(arrays: Arrays) -> None:
    arrays["env/reset_at"] = np.array([0, 2])


def _edit_masks(arrays: Arrays) -> None:
    arrays["model/M"][3, 0] ^= True


def _edit_rewards(arrays: Arrays) -> None:
    arrays["run/rewards"] = arrays["run/rewards"].astype(np.float64)


@pytest.mark.parametrize(
    ("edit", "key"),
    [(_edit_env, "env/reset_at"), (_edit_masks, "model/M"), (_edit_rewards, "run/rewards")],
)
def test_altered_runner_fails(tmp_path: Path, edit: Callable[[Arrays], None], key: str) -> None:
    assert failures(compare(read(altered(tmp_path, "runner", lambda arrays, config: edit(arrays))))) == {key}


def test_frames_of_an_earlier_episode_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def keep_all(enc_obs: Any, dones: Any) -> Any:
        nstack, length = enc_obs.shape[1] - dones.shape[1], dones.shape[1] + 1
        return np.concatenate([enc_obs[:, i : i + length] for i in range(nstack)], axis=-1)

    monkeypatch.setattr("acer_tf.buffer.stack_obs", keep_all)
    monkeypatch.setattr("acer_tf.recordings.data_path.stack_obs", keep_all)
    assert failures(compared("buffer")) == {"get/obs"}
    assert "0/obs" in failures(compared("stack_obs"))
    assert failures(compared("runner")) == {"decode_of_enc_obs_equals_obs"}


def test_rolling_by_whole_frames_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    init = FrameStack.__init__
    monkeypatch.setattr(FrameStack, "__init__", lambda self, env, nstack: init(self, env, nstack, whole_frames=True))
    assert failures(compared("vec_frame_stack")) == {"1/stacked", "3/stacked"}
    assert {"run/obs", "model/obs", "decode_of_enc_obs_equals_obs"} <= failures(compared("runner_rgb"))


def test_one_slot_for_all_environments_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    get = Buffer.get

    class OneSlot(np.random.RandomState):
        def __init__(self, rng: np.random.RandomState) -> None:
            super().__init__(0)
            self.rng = rng

        def randint(self, *args: Any, **kwargs: Any) -> Any:
            return np.full_like(drawn := self.rng.randint(*args, **kwargs), drawn[0])

    monkeypatch.setattr(Buffer, "get", lambda self, rng: get(self, OneSlot(rng)))
    assert {"get/obs", "get/mus"} <= failures(compared("buffer"))
