"""Compares this package with numerics recorded from OpenAI baselines: `python -m acer_tf.compare_baselines FOLDER`."""

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.errors import ExitStatus, InputError
from acer_tf.recordings.comparison import Case, Quantity
from acer_tf.recordings.recorded import CURVES, Recorded, find, read
from acer_tf.storage.durable import write_json
from acer_tf.system.compute import ONEDNN_VARIABLE
from acer_tf.system.console import say
from acer_tf.system.tensorflow_import import quiet_tensorflow


@dataclasses.dataclass(frozen=True)
class CompareBaselines:
    """Feeds recorded inputs to this package and compares the results with those of OpenAI baselines.

    The exit status is 0 if all comparisons pass, 1 if one fails.
    """

    paths: Positional[tuple[Path, ...]]
    """Recordings (npz), or folders of them."""
    json: Path | None = None
    """JSON file to write the results to."""
    strict: bool = False
    """Fail on a recording that is not supported."""
    verbose: bool = False
    """Print every quantity, not only the worst of each recording."""

    def compare(self) -> int:
        """Compares every recording, prints a line for each, and returns the exit status.

        Raises:
            InputError: a recording cannot be read, or the results cannot be written.
        """
        recordings = [(path, None if path.suffix == ".csv" else read(path)) for path in find(self.paths)]
        if all(recorded is None for _, recorded in recordings):
            raise InputError(f"{recordings[0][0]} is a table of curves; expected an npz file of recorded numerics.")
        say(_prepare_tensorflow())
        cases = []
        for path, recorded in recordings:
            cases.append(_compare(path, recorded))
            say("\n".join(_lines(cases[-1], self.verbose)))

        statuses = [case.status for case in cases]
        ok = "fail" not in statuses and not (self.strict and "unsupported" in statuses)
        say(", ".join(f"{statuses.count(status)} {status}" for status in ("pass", "fail", "unsupported", "skipped")))
        if self.json is not None:
            write_json(self.json, {"ok": ok, "cases": [case.as_json() for case in cases]})
        return 0 if ok else ExitStatus.FAILED


def _prepare_tensorflow() -> str:
    """Selects TensorFlow's plain kernels, unless the user has selected others; returns a line that names the kernels.

    oneDNN's kernels round differently: with AVX-512, one gradient of a recurrent CNN differs by 2.7e-5 of its largest
    value, more than `FIRST_UPDATE` allows.
    """
    if "tensorflow" not in sys.modules:
        os.environ.setdefault(ONEDNN_VARIABLE, "0")
    if os.environ.get(ONEDNN_VARIABLE) == "0":
        return f"computing with TensorFlow's plain kernels ({ONEDNN_VARIABLE}=0)"
    return f"computing with oneDNN's kernels, which round differently; {ONEDNN_VARIABLE}=0 selects the plain ones"


def _compare(path: Path, recorded: Recorded | None) -> Case:
    if recorded is None or recorded.kind == CURVES:
        return Case(path.stem, CURVES, "skipped", note="nothing to compute")
    with quiet_tensorflow():
        from acer_tf.recordings.compare import compare

    return compare(recorded)


def _lines(case: Case, verbose: bool) -> Iterator[str]:
    result = _numbers(case.worst) if case.worst else case.note
    yield f"{case.status:11}  {case.name:24}  {case.kind:18}  {result}"
    if verbose:
        for quantity in case.quantities:
            yield f"    {'pass' if quantity.passed else 'FAIL':7}{_numbers(quantity)}"


def _numbers(quantity: Quantity) -> str:
    return f"{quantity.name:40}  error {quantity.error:8.1e}  tolerance {quantity.tolerance:.0e}"


main = command("acer_tf.compare_baselines", CompareBaselines, CompareBaselines.compare)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
