import sys
from pathlib import Path

import pytest

from acer_tf.errors import InputError
from acer_tf.plots.style import count_in_thousands, lines, new_figure, rendered, require_format, save, styled


def test_lines_differ_and_repeat_beyond_24() -> None:
    looks = lines([str(i) for i in range(25)])
    assert len(set(looks.values())) == 24
    assert looks["24"] == looks["0"]


def test_a_name_has_one_line() -> None:
    assert lines(["a", "b", "a"]) == lines(["a", "b"])


@pytest.mark.parametrize(
    ("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")]
)
def test_the_suffix_is_the_format_and_the_same_picture_the_same_file(
    tmp_path: Path, suffix: str, begins: bytes
) -> None:
    contents = []
    for name in ("a", "b"):
        with styled():
            figure = new_figure(2, 2)
            figure.add_subplot().plot([0, 1], [0, 1], label="$x")
            save(figure, tmp_path / f"{name}{suffix}")
        contents.append((tmp_path / f"{name}{suffix}").read_bytes())
    assert contents[0].startswith(begins)
    assert contents[0] == contents[1]


def test_other_suffixes_are_an_input_error() -> None:
    require_format(Path("a.SVG"))
    with pytest.raises(InputError, match=r"a\.jpg .* expected one of a\.png, a\.svg, a\.pdf"):
        require_format(Path("a.jpg"))


def test_counts_are_in_thousands_and_millions() -> None:
    figure = new_figure(4, 3)
    axes = figure.add_subplot()
    axes.plot([0, 2_000_000], [0, 1])
    count_in_thousands(axes.xaxis)
    figure.canvas.draw()
    assert {"0", "500k", "1.5M"} <= {tick.get_text() for tick in axes.get_xticklabels()}


def test_dark_pictures_have_light_text_and_leave_other_plots_alone() -> None:
    import matplotlib

    before = matplotlib.rcParams["text.color"]
    with styled(is_dark=True):
        figure = new_figure(2, 2)
        figure.add_subplot(title="t")
        assert b"#1b1d21" in rendered(figure, ".svg")
    assert matplotlib.rcParams["text.color"] == before


def test_missing_matplotlib_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match="plots need matplotlib"), styled():
        pass
