"""Draws learning curves: `python -m acer_tf.plot RUN [RUN ...] --out curve.png`."""

import dataclasses
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.errors import InputError
from acer_tf.plots.csv_files import write_curves, write_intervals
from acer_tf.plots.curves import ENOUGH_SEEDS, Curve
from acer_tf.plots.figures import View, figure_of_curves
from acer_tf.plots.performance import Performance, figure_of_performance, performance
from acer_tf.plots.references import read_references
from acer_tf.plots.runs import default_widths, mean_curves, read_runs
from acer_tf.plots.series import RETURNS, Axis, sources_among
from acer_tf.plots.style import require_format, save, styled
from acer_tf.storage.durable import writing
from acer_tf.system.console import counted, say


@dataclasses.dataclass(frozen=True)
class Plot:
    """Draws learning curves, a panel for each environment, as a picture with a CSV file beside it.

    Runs that differ only in their seed become one curve: the mean, with a band of one standard deviation if there are
    at least three.
    """

    runs: Positional[tuple[Path, ...]]
    """Run folders, folders of runs (such as a sweep's), or CSV files with the columns steps and return."""
    out: Path = Path("curve.png")
    """The picture: .png, .svg or .pdf; the numbers go into a .csv file of the same name."""
    metric: str = "episodes"
    """Series to draw: `episodes` for raw returns of whole episodes, `eval` for evaluations during training, or a column
    of progress.csv."""
    x: Axis = "steps"
    """Horizontal axis: agent steps, raw frames (Atari), or time spent in training."""
    smooth: float | None = None
    """Agent steps (frames, minutes, hours) averaged into one point; None takes a hundredth of the longest run in each
    environment."""
    label: tuple[str, ...] = ()
    """A name for each run or folder of runs, in order; runs with the same name become one curve. By default, curves
    are named after the settings that differ."""
    reference: tuple[str, ...] = ()
    """Curves to compare with: CSV files with the columns steps and mean_return (see docs/plots.md), or `human` and
    `random` for these levels of Atari games."""
    rliable: bool = False
    """Also estimate the final performance over environments and seeds (Atari: human-normalised) with 95 % bootstrap
    intervals, in files beside the curves that end in -intervals.png and -intervals.csv."""

    def draw(self) -> None:
        """Reads the runs, writes pictures and CSV files, and prints what was drawn.

        Raises:
            InputError: a file cannot be read or written, or the flags do not fit the runs.
        """
        sources = sources_among(self.runs)
        self._check(sources)
        runs = read_runs(sources, self.label, self.metric, self.x)
        widths = default_widths(runs, self.metric) if self.smooth is None else {run.env: self.smooth for run in runs}
        view = View(self.metric, self.x, tuple(width for width in widths.values() if width is not None))
        curves = mean_curves(runs, widths)
        references = read_references(self.reference, list(widths), self.x)
        found = performance(runs) if self.rliable else None
        numbers = self.out.with_suffix(".csv")
        with writing(self.out), styled():
            write_curves(numbers, curves, view)
            save(figure_of_curves(curves, view, references), self.out)
            if found is not None:
                picture = self.out.with_name(f"{self.out.stem}-intervals{self.out.suffix}")
                write_intervals(picture.with_suffix(".csv"), found.intervals)
                save(figure_of_performance(found, self.x), picture)
        for line in _performance_lines(found) if found is not None else ():
            say(line)
        _warn_of_few_seeds(curves)
        say(f"drew {counted(len(curves), 'curve')}: {self.out}, {numbers}")

    def _check(self, sources: Sequence[Path]) -> None:
        if self.label and len(self.label) != len(sources):
            raise InputError(
                f"got {counted(len(self.label), 'label')} for {counted(len(sources), 'run')}; expected one each."
            )
        if self.smooth is not None and not 0 < self.smooth < math.inf:
            raise InputError(f"--smooth is {self.smooth:g}; expected a number above 0.")
        if self.metric not in RETURNS and self.reference:
            raise InputError(f"--reference is for returns; expected --metric {' or '.join(RETURNS)}.")
        if self.metric != RETURNS[0] and self.rliable:
            raise InputError("--rliable uses the last training episodes of each run; leave --metric out.")
        require_format(self.out)
        if self.out.with_suffix(".csv").resolve() in [Path(reference).resolve() for reference in self.reference]:
            raise InputError(f"--out {self.out} would replace the reference of that name; choose another.")


def _performance_lines(found: Performance) -> Iterator[str]:
    for aggregate, by_setting in found.intervals.items():
        for setting, (estimate, low, high) in by_setting.items():
            limits = f"[{low:.3g}, {high:.3g}]" if not math.isnan(low) else f"(no interval below {ENOUGH_SEEDS} seeds)"
            yield f"{setting}: {aggregate} {estimate:.3g} {limits} {found.unit}"


def _warn_of_few_seeds(curves: Sequence[Curve]) -> None:
    if few := [f"{c.env} {c.setting}".strip() + f" ({c.seeds[0]})" for c in curves if c.seeds[0] < ENOUGH_SEEDS]:
        say(f"fewer than {ENOUGH_SEEDS} seeds say little: {', '.join(few)}", is_error=True)


main = command("acer_tf.plot", Plot, Plot.draw)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
