"""Compares with numerics recorded from the original: `python -m acer_tf.compare_baselines FOLDER`."""

import dataclasses
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import tyro

from acer_tf.commands.cli import guarded, parse
from acer_tf.errors import InputError
from acer_tf.recordings.comparison import Case, Quantity
from acer_tf.recordings.recorded import CURVES, Recorded, find, read


@dataclasses.dataclass(frozen=True)
class CompareBaselines:
    """Feeds recorded inputs to this package and compares the results with what OpenAI baselines computed from them.

    The exit status is 0 if nothing failed, 1 if something did.
    """

    paths: tyro.conf.Positional[tuple[Path, ...]]
    """Recordings (npz), or folders of them."""
    json: Path | None = None
    """File for the results, as JSON."""
    strict: bool = False
    """Whether a recording that is not supported fails."""
    verbose: bool = False
    """Whether every quantity is printed, not only the worst of each recording."""


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    flags = parse("acer_tf.compare_baselines", CompareBaselines, argv)
    if not flags.paths:
        raise InputError("got no path; expected npz files of recorded numerics, or folders of them.")
    recordings = [(path, None if path.suffix == ".csv" else read(path)) for path in find(flags.paths)]
    cases = []
    for path, recorded in recordings:
        cases.append(_compare(path, recorded))
        print("\n".join(_lines(cases[-1], flags.verbose)), flush=True)

    statuses = [case.status for case in cases]
    ok = "fail" not in statuses and not (flags.strict and "unsupported" in statuses)
    print(", ".join(f"{statuses.count(status)} {status}" for status in ("pass", "fail", "unsupported", "skipped")))
    if flags.json is not None:
        _write(flags.json, ok, cases)
    return 0 if ok else 1


def _compare(path: Path, recorded: Recorded | None) -> Case:
    if recorded is None or recorded.kind == CURVES:
        return Case(path.stem, CURVES, "skipped", note="nothing to compute")
    # Otherwise TensorFlow's C++ part greets with hints about this machine.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from acer_tf.recordings.replay import compare

    return compare(recorded)


def _lines(case: Case, verbose: bool) -> Iterator[str]:
    result = _numbers(case.worst) if case.worst else case.note
    yield f"{case.status:11}  {case.name:24}  {case.kind:18}  {result}"
    if verbose:
        for quantity in case.quantities:
            yield f"    {'pass' if quantity.passed else 'FAIL':7}{_numbers(quantity)}"


def _numbers(quantity: Quantity) -> str:
    return f"{quantity.name:40}  error {quantity.error:8.1e}  tolerance {quantity.tolerance:.0e}"


def _write(path: Path, ok: bool, cases: Sequence[Case]) -> None:
    text = json.dumps({"ok": ok, "cases": [case.as_json() for case in cases]}, indent=2, allow_nan=False)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); choose another file.") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
