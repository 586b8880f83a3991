from pathlib import Path

from acer_tf.agent.logs import tensorboard_folder


def test_runs_are_numbered(tmp_path: Path) -> None:
    for is_new in (True, False):
        assert tensorboard_folder(str(tmp_path / "tb"), "ACER", is_new) == tmp_path / "tb" / "ACER_1"
    for name in ("ACER_1", "ACER_10", "ACER_x", "PACER_30", "ACER_2"):
        (tmp_path / name).mkdir()
    assert tensorboard_folder(str(tmp_path), "ACER", True).name == "ACER_11"
    assert tensorboard_folder(str(tmp_path), "ACER", False).name == "ACER_10"
    assert tensorboard_folder(str(tmp_path), "A.ER", True).name == "A.ER_1"
