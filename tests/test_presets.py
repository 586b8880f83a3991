import sys
from pathlib import Path

import pytest

from acer_tf.configs.presets import preset_names
from acer_tf.presets import description, main


def test_a_row_for_each_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["preset", "environment", "network", "what", "it", "is"]
    assert [row.split()[0] for row in rows] == preset_names()
    (row,) = [row for row in rows if row.startswith("zoo-Acrobot-v1 ")]
    assert row.split(maxsplit=3)[1:] == [
        "Acrobot-v1",
        "mlp",
        "rl-baselines-zoo's settings of Stable Baselines 2's ACER",
    ]


def test_the_source_is_the_first_sentence() -> None:
    assert description("paper").startswith("Wang et al. 2017 (") and description("paper").endswith("that does not fall")
    assert all(description(name) for name in preset_names())


@pytest.mark.parametrize(("name", "command"), [("Pendulum-v1", "run"), ("paper", "run-atari")])
def test_one_preset_is_shown_with_its_command(
    name: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["acer", "presets"])
    assert main([name]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"acer {command} --preset {name}\n\n# ")
    assert "\nlr: " in out


def test_the_command_of_a_file_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "my preset.yml"
    file.write_text("lr: 1e-3\n")
    assert main([str(file)]) == 0
    assert capsys.readouterr().out == f"python -m acer_tf.run --preset '{file}'\n\nlr: 1e-3\n"


def test_a_misspelt_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["Pendulum"]) == 2
    assert "the nearest are Pendulum-v1" in capsys.readouterr().err
