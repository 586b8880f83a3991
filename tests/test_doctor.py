import re
from pathlib import Path

import pytest

from acer_tf import __version__, doctor
from acer_tf.doctor import EXTRAS, Extra, main

FOR_DEVELOPERS = {"audit", "benchmarks", "docs", "gpu", "test"}
"""Extras of setup.py that have no line; gpu is that of the graphics processor."""


def findings(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
    """Mark and text of each line, by its name; one screen of 80 columns at most."""
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    return {name: (mark, text) for mark, name, text in (line.split(maxsplit=2) for line in lines)}


def test_what_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "processor_flags", lambda: {"avx2", "avx512f"})
    monkeypatch.setattr(doctor, "bfloat16_slowdown", lambda: 1)
    monkeypatch.setattr(doctor, "gpu_names", lambda: ["A", "B"])
    monkeypatch.setattr(doctor, "is_installed", lambda module: True)
    monkeypatch.setenv("DISPLAY", ":1")
    found = findings(capsys)
    assert {mark for name, (mark, _) in found.items() if name != "opengl"} == {"ok"}
    assert found["acer_tf"][1].startswith(__version__)
    assert found["kernels"] == ("ok", "AVX-512") and found["gpu"] == ("ok", "A, B") and found["display"] == ("ok", ":1")
    assert found.keys() > EXTRAS.keys()


def test_advice_for_each_thing_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "processor_flags", lambda: {"sse2"})
    monkeypatch.setattr(doctor, "bfloat16_slowdown", lambda: 8)
    monkeypatch.setattr(doctor, "gpu_names", list)
    monkeypatch.setattr(doctor, "is_installed", lambda module: module not in ("scipy", "mujoco"))
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    missing = {name: text for name, (mark, text) in findings(capsys).items() if mark == "--"}
    assert missing == {
        "kernels": "plain: images train several times as slowly",
        "bfloat16": "it takes 8 times as long; keep --precision float32",
        "gpu": 'none: NVIDIA\'s needs pip install -e ".[gpu]"',
        "display": "none: acer enjoy RUN --video writes a video",
        "opengl": "none: MuJoCo's videos need libegl1 or libosmesa6",
        "plots": 'plots and reports: pip install -e ".[plots]"',
        "mujoco": 'HalfCheetah and other robots: pip install -e ".[mujoco]"',
    }


def test_a_mere_folder_of_the_name_is_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chess").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(doctor, "EXTRAS", {"games": Extra(("chess",), "games")})
    assert findings(capsys)["games"] == ("--", 'games: pip install -e ".[games]"')


def test_every_extra_for_users_has_a_line() -> None:
    setup = (Path(__file__).parents[1] / "setup.py").read_text(encoding="utf-8")
    named = re.findall(r'^ {8}"([\w-]+)": [A-Z]', setup, flags=re.MULTILINE)
    assert {*named} - FOR_DEVELOPERS == {*EXTRAS}
