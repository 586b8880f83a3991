"""Draws learning curves: `python -m acer_tf.plot RUN [RUN ...] --out curve.png`."""

import dataclasses
import sys
from pathlib import Path

import tyro

from acer_tf.commands.cli import command, writing
from acer_tf.commands.resume import FREE
from acer_tf.errors import InputError
from acer_tf.plots.csv_files import write_curves, write_intervals
from acer_tf.plots.figures import draw_curves, draw_intervals
from acer_tf.plots.groups import mean_curves, read_runs
from acer_tf.plots.intervals import intervals, score_matrices, unit_of
from acer_tf.storage.run_folder import LOST_REPLAY

ENOUGH_SEEDS = 3
MACHINE = ("versions", "cores", "tensorflow_threads", "processor", "onednn")
UNNAMED = ("seed", "command", LOST_REPLAY, *MACHINE, *FREE)
"""Settings that are not in the names of curves, so that the runs of a curve may differ in them."""


@dataclasses.dataclass(frozen=True)
class Plot:
    """Draws the mean raw return of whole episodes over agent steps, as a picture and, beside it, as a CSV file.

    Runs that differ only in their seed become one curve: the mean, with a band of one standard deviation.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or CSV files with the columns steps and return."""
    out: Path = Path("curve.png")
    """The picture; the numbers go into a file of the same name that ends in .csv."""
    smooth: float | None = None
    """Agent steps averaged into one point; None takes a hundredth of the longest run."""
    label: tuple[str, ...] = ()
    """A name for each run, in their order; runs of the same name become one curve. By default environment, network and
    the settings that differ."""
    rliable: bool = False
    """Also estimate the final performance over environments and seeds (Atari: human-normalised), with 95 % bootstrap
    intervals; written beside the curves, as -intervals.png and -intervals.csv."""

    def draw(self) -> None:
        """Reads the runs, writes pictures and CSV files, and prints what was drawn.

        Raises:
            InputError: a file cannot be read or written, or the labels do not fit the runs.
        """
        self._check()
        runs = read_runs(self.runs, self.label, UNNAMED)
        curves = mean_curves(runs, is_labelled=bool(self.label), width=self.smooth)
        estimated = intervals(score_matrices(runs)) if self.rliable else []
        with writing(self.out):
            write_curves(self.out.with_suffix(".csv"), curves)
            draw_curves(self.out, curves)
            if self.rliable:
                picture = self.out.with_name(f"{self.out.stem}-intervals.png")
                write_intervals(picture.with_suffix(".csv"), estimated)
                draw_intervals(picture, estimated, unit_of(runs))
        for i in estimated:
            print(f"{i.label}: {i.aggregate} {i.estimate:.3g} [{i.low:.3g}, {i.high:.3g}] {unit_of(runs)}")
        if few := [f"{c.label} ({c.seeds[0]})" for c in curves if c.seeds[0] < ENOUGH_SEEDS]:
            print(f"fewer than {ENOUGH_SEEDS} seeds say little: {', '.join(few)}", file=sys.stderr)
        print(f"drew {len(curves)} curves: {self.out}, {self.out.with_suffix('.csv')}")

    def _check(self) -> None:
        if not self.runs or len(self.label or self.runs) != len(self.runs):
            raise InputError(
                f"got {len(self.label)} labels for {len(self.runs)} runs; expected one each, and a run at least."
            )
        if self.out.suffix != ".png":
            raise InputError(f"the picture {self.out} is to be a PNG; expected {self.out.with_suffix('.png')}.")


main = command("acer_tf.plot", Plot, Plot.draw)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
