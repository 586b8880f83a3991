"""Draws learning curves: `python -m acer_tf.plot RUN [RUN ...] --out curve.png`."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from acer_tf.cli import guarded, parse
from acer_tf.errors import InputError
from acer_tf.training.curves import curve, draw, read_returns, write_csv


@dataclasses.dataclass(frozen=True)
class Plot:
    """Draws the mean raw return of whole episodes over agent steps, as a picture and, beside it, as a CSV file."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or CSV files with the columns steps and return."""
    out: Path = Path("curve.png")
    """The picture; the numbers go into a file of the same name that ends in .csv."""
    smooth: float | None = None
    """Agent steps averaged into one point; None takes a hundredth of the longest run."""
    label: tuple[str, ...] = ()
    """A name for each run, in their order; by default the names of folders and files."""

    def draw(self) -> None:
        """Writes both files.

        Raises:
            InputError: something cannot be read or written, or the labels do not fit the runs.
        """
        labels = self.label or [path.resolve().name for path in self.runs]
        if not self.runs or len(labels) != len(self.runs):
            raise InputError(
                f"got {len(labels)} labels for {len(self.runs)} runs; expected one each, and a run at least."
            )
        if self.out.suffix != ".png":
            raise InputError(f"the picture {self.out} is to be a PNG; expected {self.out.with_suffix('.png')}.")
        returns = [read_returns(run) for run in self.runs]
        width = self.smooth if self.smooth is not None else max(r.steps.max() for r in returns) / 100
        curves = [curve(name, r, width) for name, r in zip(labels, returns, strict=True)]
        try:
            write_csv(self.out.with_suffix(".csv"), curves)
            draw(self.out, curves)
        except OSError as error:
            raise InputError(f"{self.out} cannot be written ({error.strerror}); choose another file.") from error
        print(f"drew {len(curves)} curves: {self.out}, {self.out.with_suffix('.csv')}")


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    parse("acer_tf.plot", Plot, argv).draw()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
