"""Disturbs runs at random and checks this package's promises: `python -m benchmarks.faults --minutes 60 --seed 0`.

As root on Linux, it also fills up disks.
"""

import dataclasses
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from acer_tf.cli.command import command
from acer_tf.errors import ExitStatus, InputError
from benchmarks import Output
from benchmarks.faults.process import survivors
from benchmarks.faults.scratch import Scratch, scratch
from benchmarks.faults.story import Story, ViolationError
from benchmarks.faults.tasks import TASKS, available

MOST_FAULTS = 10
"""Most faults of one run, which afterwards completes undisturbed."""


@dataclasses.dataclass(frozen=True)
class Faults(Output):
    """Kills and stops runs, fills disks and damages files; resumes each time, and checks the promises."""

    minutes: float = 60
    """Duration in minutes; the last run is completed."""
    seed: int = 0
    """Seed of all choices."""
    tasks: tuple[str, ...] = available()
    """Tasks to disturb."""
    keep: Path = Path("faults")
    """Folder for the run folders and the output of runs that break a promise."""

    def check(self) -> None:
        """Checks the flags.

        Raises:
            InputError: a task does not exist.
        """
        if unknown := set(self.tasks) - TASKS.keys():
            raise InputError(f"tasks {', '.join(sorted(unknown))} do not exist; expected some of {', '.join(TASKS)}.")


def stories(flags: Faults, place: Scratch, work: Path) -> Iterator[tuple[str, Story, str | None]]:
    """Disturbs one run after the other; yields its task, its story, and the broken promise, if any."""
    draw, end = random.Random(flags.seed), time.monotonic() + 60 * flags.minutes
    references: dict[str, Path] = {}
    while time.monotonic() < end:
        task = draw.choice(flags.tasks)
        if task not in references and TASKS[task].is_exact:
            references[task] = _undisturbed(task, place, work, draw)
        outputs = work / "outputs"
        outputs.mkdir()
        story = Story(task, place, outputs, draw, references.get(task))
        try:
            story.run(draw.randint(1, MOST_FAULTS))
            violation = None
        except ViolationError as error:
            violation = str(error)
            _keep(flags.keep, story, outputs, violation)
        yield task, story, violation
        for process in survivors():
            process.kill()
        shutil.rmtree(story.folder.parent, ignore_errors=True)
        shutil.rmtree(outputs)


def _undisturbed(task: str, place: Scratch, work: Path, draw: random.Random) -> Path:
    outputs, reference = work / f"{task}-output", work / task
    outputs.mkdir()
    story = Story(task, place, outputs, draw, None)
    story.run(0)
    shutil.move(story.folder, reference)
    return reference


def _keep(folder: Path, story: Story, outputs: Path, violation: str) -> None:
    number = sum(1 for _ in folder.glob("violation-*")) if folder.exists() else 0
    place = folder / f"violation-{number}"
    shutil.copytree(outputs, place / "outputs")
    if story.folder.exists():
        shutil.copytree(story.folder.parent, place / "runs", symlinks=True)
    (place / "story.txt").write_text("\n".join([*story.log, violation, ""]), encoding="utf-8")


def table(faults: Mapping[tuple[str, str], int]) -> str:
    """Returns a table of the faults, with a row for each kind and a column for each moment."""
    kinds, moments = (sorted({key[i] for key in faults}) for i in (0, 1))
    rows = [
        ["fault", *moments],
        *([kind, *(str(faults.get((kind, moment), 0)) for moment in moments)] for kind in kinds),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)


def run(flags: Faults) -> int:
    """Runs the campaign; returns the exit status, 1 if a promise was broken."""
    flags.check()
    faults: Counter[tuple[str, str]] = Counter()
    runs = violations = 0
    with tempfile.TemporaryDirectory() as folder, scratch() as place:
        if not place.is_small:
            print("no disk is filled up: only root can mount a small one", flush=True)
        for task, story, violation in stories(flags, place, Path(folder)):
            runs, violations, faults = runs + 1, violations + (violation is not None), faults + story.faults
            print(
                f"{task}: {story.faults.total()} faults" + (f"; VIOLATION {violation}" if violation else ""),
                flush=True,
            )
    print(table(faults))
    print(f"{runs} runs, {faults.total()} faults, {violations} violations")
    counts = [[*key, count] for key, count in sorted(faults.items())]
    flags.write({"runs": runs, "violations": violations, "faults": counts, "seed": flags.seed})
    return ExitStatus.FAILED if violations else 0


main = command("benchmarks.faults", Faults, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
