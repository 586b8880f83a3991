from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from acer_tf.demos.cards import demo_names, read_card
from benchmarks.gallery import DOCS, PICTURES, SECONDS, SIZE, main, page

LARGEST = 500_000


def played(path: Path) -> list[Image.Image]:
    """The frames of an animation, for which its length, size and repetition are right."""
    animation: Any
    with Image.open(path) as animation:
        frames = []
        for i in range(animation.n_frames):
            animation.seek(i)
            frames.append((animation.convert("RGB"), animation.info["duration"]))
        assert animation.info["loop"] == 0 and SIZE[0] / 2 < max(animation.size) <= SIZE[0]
    assert 2000 <= sum(duration for _, duration in frames) <= 1000 * SECONDS + 100
    return [frame for frame, _ in frames]


def test_the_page_is_what_the_command_writes() -> None:
    """Else run it: `python -m benchmarks.gallery`, with the name of a new agent."""
    assert (DOCS / f"{PICTURES}.md").read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", demo_names())
def test_each_agent_has_pictures_of_moderate_size(name: str) -> None:
    animation, curves = (DOCS / PICTURES / f"{name}{suffix}" for suffix in (".webp", ".png"))
    assert max(animation.stat().st_size, curves.stat().st_size) < LARGEST
    frames = played(animation)
    assert len(frames) >= 40 and frames[-1].tobytes() not in (frames[0].tobytes(), frames[len(frames) // 2].tobytes())
    section = page().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert all(text in section for text in (f"{name}.webp)", f"{name}.png)", read_card(name).command, "seeds"))


def test_nothing_is_shown_that_does_not_ship() -> None:
    assert {file.stem for file in (DOCS / PICTURES).iterdir()} == set(demo_names())


def test_one_agent_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cartpole", "--out", str(tmp_path)]) == 0
    assert sorted(file.name for file in (tmp_path / PICTURES).iterdir()) == ["cartpole.png", "cartpole.webp"]
    assert len(played(tmp_path / PICTURES / "cartpole.webp")) > 60
    assert (tmp_path / PICTURES / "cartpole.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "gallery.md").read_text(encoding="utf-8") == page()
    assert capsys.readouterr().out == "drew cartpole\n"


def test_an_agent_that_does_not_ship_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cartpol", "--out", str(tmp_path / "new")]) == 2
    assert "no agent cartpol ships with the package; the nearest are cartpole, " in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
