"""The command that exports policies."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf

from acer_tf import ACER, export
from acer_tf.demos.cards import demo_file


def test_writes_what_is_asked_for_and_nothing_else(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").mkdir()  # may be there, as it is empty
    words = ["cartpole", "--onnx", str(tmp_path / "a.onnx"), "--saved_model", str(tmp_path / "a")]
    assert export.main(words) == 0
    out, err = capfd.readouterr()
    assert out == f"exported: {tmp_path / 'a'}\nexported: {tmp_path / 'a.onnx'}\n"
    assert "WARNING" not in err
    assert {path.name for path in tmp_path.iterdir()} == {"a", "a.onnx"}

    obs = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    expected, _ = ACER.load(demo_file("cartpole")).predict(obs, deterministic=True)
    (actions,) = onnxruntime.InferenceSession(tmp_path / "a.onnx").run(["action"], {"obs": obs})
    np.testing.assert_array_equal(actions, expected)
    act = tf.saved_model.load(str(tmp_path / "a")).signatures["serving_default"]
    np.testing.assert_array_equal(act(obs=tf.constant(obs))["action"].numpy(), expected)
    assert set(expected.tolist()) == {0, 1}

    assert export.main(words) == 2
    assert capfd.readouterr().err == f"error: {tmp_path / 'a'} exists; choose another name.\n"


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export.main(["cartpole"]) == 2
    assert "give --saved_model FOLDER, --onnx FILE or --tflite FILE" in capsys.readouterr().err
    assert export.main(["cartpool", "--onnx", str(tmp_path / "a.onnx")]) == 2
    assert "cartpool does not exist; expected a run folder" in capsys.readouterr().err
    assert export.main(["cartpole", "--onnx", str(tmp_path / "a"), "--tflite", str(tmp_path / "a")]) == 2
    assert "two formats have the same path; give each its own" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert export.main(["cartpole", "--onnx", str(tmp_path / "file" / "a.onnx")]) == 2
    assert "a.onnx cannot be written" in capsys.readouterr().err
