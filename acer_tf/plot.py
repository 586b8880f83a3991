"""Draws learning curves: `python -m acer_tf.plot RUN [RUN ...] --out curve.png`."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from acer_tf.commands.cli import guarded, parse
from acer_tf.errors import InputError
from acer_tf.plots.curves import Curve, curve, draw, mean_curve, write_csv
from acer_tf.plots.groups import Run, grouped, read_runs
from acer_tf.plots.intervals import draw_intervals, intervals, score_matrices, unit_of, write_intervals

ENOUGH_SEEDS = 3


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
    """Also estimate, with 95 % bootstrap intervals, what the runs reach at their end, over environments and seeds
    (Atari: human-normalised); written beside the curves, as -intervals.png and -intervals.csv."""

    def draw(self) -> None:
        """Writes the files.

        Raises:
            InputError: something cannot be read or written, or the labels do not fit the runs.
        """
        if not self.runs or len(self.label or self.runs) != len(self.runs):
            raise InputError(
                f"got {len(self.label)} labels for {len(self.runs)} runs; expected one each, and a run at least."
            )
        if self.out.suffix != ".png":
            raise InputError(f"the picture {self.out} is to be a PNG; expected {self.out.with_suffix('.png')}.")
        runs = read_runs(self.runs, self.label)
        curves = self._curves(runs)
        found = intervals(score_matrices(runs)) if self.rliable else []
        try:
            write_csv(self.out.with_suffix(".csv"), curves)
            draw(self.out, curves)
            if self.rliable:
                picture = self.out.with_name(f"{self.out.stem}-intervals.png")
                write_intervals(picture.with_suffix(".csv"), found)
                draw_intervals(picture, found, unit_of(runs))
        except OSError as error:
            raise InputError(f"{self.out} cannot be written ({error.strerror}); choose another file.") from error
        for i in found:
            print(f"{i.label}: {i.aggregate} {i.estimate:.3g} [{i.low:.3g}, {i.high:.3g}] {unit_of(runs)}")
        if few := [f"{c.label} ({c.seeds[0]})" for c in curves if c.seeds[0] < ENOUGH_SEEDS]:
            print(f"fewer than {ENOUGH_SEEDS} seeds say little: {', '.join(few)}", file=sys.stderr)
        print(f"drew {len(curves)} curves: {self.out}, {self.out.with_suffix('.csv')}")

    def _curves(self, runs: Sequence[Run]) -> list[Curve]:
        width = self.smooth if self.smooth is not None else max(run.returns.steps.max() for run in runs) / 100
        groups = grouped(runs, is_labelled=bool(self.label))
        return [mean_curve(name, [curve(name, run.returns, width) for run in group]) for name, group in groups.items()]


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    parse("acer_tf.plot", Plot, argv).draw()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
