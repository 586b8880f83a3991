from pathlib import Path

import pytest

from acer_tf.envs import __main__ as list_envs
from acer_tf.envs.__main__ import kind_of, main


def test_all_that_can_be_trained_on_and_their_presets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["environment", "kind", "presets"]
    (cart_pole,) = [row for row in rows if row.startswith("CartPole-v1 ")]
    assert cart_pole.split() == ["CartPole-v1", "classic", "control", "CartPole-v1,", "zoo-CartPole-v1"]
    assert any(row.startswith("MaskedCartPole-v1 ") for row in rows)
    (breakout,) = [row for row in rows if row.startswith("BreakoutNoFrameskip-v4 ")]
    assert breakout.split(maxsplit=2)[1:] == ["Atari", "atari, atari-fast, coach-atari, paper"]
    assert sum("NoFrameskip-v4 " in row for row in rows) > 50
    assert not any(row.startswith(("HalfCheetah-v2", "GymV21", "Breakout-v4", "ALE/Breakout")) for row in rows)


@pytest.mark.parametrize("pattern", ["pendulum", "*pendulum-v*", "PENDULUM-V"])
def test_a_pattern(pattern: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([pattern]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    assert any(row.startswith("Pendulum-v1 ") for row in rows) and all("pendulum" in row.lower() for row in rows)


def test_no_match_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["Pendulm"]) == 2
    assert "no environment matches 'Pendulm'; the nearest are Pendulum-v1" in capsys.readouterr().err


def test_what_is_not_installed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kind_of("LunarLander-v3") == "Box2D"
    (tmp_path / "chess").mkdir()  # a mere folder of the name is no package
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("no_such_module", "chess"):
        monkeypatch.setitem(list_envs.KINDS, "gymnasium.envs.box2d", ("Box2D", module))
        assert kind_of("LunarLander-v3") is None
