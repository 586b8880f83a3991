"""Writes a page about runs: `acer report RUN [RUN ...] --out report.html`."""

import dataclasses
import sys
from pathlib import Path

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.errors import InputError
from acer_tf.plots.html import page, read_records
from acer_tf.plots.series import sources_among
from acer_tf.storage.durable import replace, writing
from acer_tf.storage.paths import check_name
from acer_tf.system.console import counted, say


@dataclasses.dataclass(frozen=True)
class RunReport:
    """Writes one HTML file with the learning curves, final scores, settings and commands of runs, finished or not.

    The file is self-contained.
    """

    runs: Positional[tuple[Path, ...]]
    """Run folders, or folders of runs, such as a sweep's."""
    out: Path = Path("report.html")
    """The page to write; an earlier one is replaced."""

    def write(self) -> None:
        """Reads the runs and writes the page.

        Raises:
            InputError: a run cannot be read, or the page cannot be written.
        """
        check_name(self.out)
        if self.out.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"the page {self.out} is HTML; expected {self.out.with_suffix('.html')}.")
        records = read_records(sources_among(self.runs))
        text = page(records)
        with writing(self.out):
            replace(self.out, text.encode())
        say(f"wrote {self.out}: {counted(len(records), 'run')}")


main = command("acer_tf.report", RunReport, RunReport.write)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
