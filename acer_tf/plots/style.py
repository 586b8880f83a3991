"""The look of all plots: colours, line styles, numbers on axes, and the files of pictures."""

import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from acer_tf.errors import InputError, require
from acer_tf.storage.durable import replace
from acer_tf.storage.paths import check_name

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")

# Okabe and Ito's palette for all kinds of colour vision, without black and yellow, which is pale on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
NamedDashes = Literal["-", "--", ":", "-."]
Dashes = NamedDashes | tuple[int, tuple[float, ...]]
"""Dashes as in matplotlib: a name, or an offset and the lengths of dashes and gaps."""
GREY = "#808080"
"""Colour of captions and references, legible on black and on white."""
DASHES: tuple[NamedDashes, ...] = get_args(NamedDashes)
REFERENCE_DASHES: tuple[Dashes, ...] = (
    *DASHES[1:],
    (0, (10, 4)),
    (0, (7, 1.5, 1, 1.5, 1, 1.5)),
)
"""Dashes of references, which are all grey: the curves' except solid, then long dashes, and dashes with two dots."""

_SMALL = 8
CHARACTERS_PER_INCH = 14
"""Characters per inch of small text, on average."""
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": _SMALL,
    "text.parse_math": False,  # names of settings and files may contain dollar signs
    "svg.hashsalt": "acer_tf",  # so that the same picture yields the same file
    "pdf.fonttype": 42,
}
_INK = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color")
_DARK: dict[Any, Any] = {**dict.fromkeys(_INK, "#e6e6e6"), "figure.facecolor": "#1b1d21", "axes.facecolor": "#1b1d21"}


class Line(NamedTuple):
    """Look of a curve."""

    color: str
    dashes: Dashes


def lines(names: Sequence[str]) -> dict[str, Line]:
    """Gives each name its own line: first by colour, then by line style; beyond 24 names, lines repeat."""
    looks = [Line(color, dashes) for dashes in DASHES for color in COLORS]
    return {name: looks[i % len(looks)] for i, name in enumerate(dict.fromkeys(names))}


@contextlib.contextmanager
def styled(is_dark: bool = False) -> Iterator[None]:
    """Sets the look of all plots in a block, and restores the look of others afterwards.

    Raises:
        InputError: matplotlib is not installed.
    """
    require("matplotlib", "plots need", "plots")
    import matplotlib

    with matplotlib.rc_context({**_STYLE, **(_DARK if is_dark else {})}):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Makes an empty figure of this size in inches, without pyplot's global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def legend_columns(names: Sequence[str], width: float) -> int:
    """Returns how many columns of these names fit below a figure of this width in inches."""
    longest = max(len(line) for name in names for line in name.splitlines())
    return max(1, min(len(names), round(CHARACTERS_PER_INCH * width) // (longest + 9)))


def draw_legend(figure: "Figure", names: Sequence[str], looks: Sequence[Line]) -> None:
    """Draws a legend below the panels, which keep their size whatever it contains."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=look.color, linestyle=look.dashes) for look in looks]
    columns = legend_columns(names, figure.get_figwidth())
    figure.legend(handles, names, loc="outside lower center", ncols=columns, handlelength=2.8)


def save(figure: "Figure", path: Path) -> None:
    """Writes a picture in the format of its suffix, one of `FORMATS`; replaces an existing file."""
    picture = rendered(figure, path.suffix.lower())
    replace(path, picture)


def rendered(figure: "Figure", suffix: str) -> bytes:
    """Returns a picture as the content of a file with this suffix, always the same bytes for the same picture."""
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    file = io.BytesIO()
    figure.savefig(file, format=suffix.removeprefix("."), dpi=160, metadata=dates.get(suffix))
    return file.getvalue()


def require_format(path: Path) -> None:
    """Raises an `InputError` if no picture format has this suffix."""
    check_name(path)
    if path.suffix.lower() not in FORMATS:
        choices = ", ".join(str(path.with_suffix(suffix)) for suffix in FORMATS)
        raise InputError(f"{path} does not have the suffix of a picture; expected one of {choices}.")


def count_in_thousands(axis: "Axis") -> None:
    """Labels the ticks of an axis of counts in the form of 100k and 1.5M."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(EngFormatter(sep=""))
