"""Compares speed with the original's, on three tasks: `python -m benchmarks.original FOLDER`.

FOLDER holds baselines 0.1.5, its last release:

    pip download --no-deps --no-binary :all: baselines==0.1.5
    tar xzf baselines-0.1.5.tar.gz

Its ACER and this one run in turn, each in its own process; compare only ratios within one round.
"""

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.errors import InputError
from acer_tf.schema import Count, Positive, Validated
from acer_tf.storage.durable import write_json
from acer_tf.system.compute import ONEDNN_VARIABLE

BFLOAT16, OVERLAP = ["--precision", "bfloat16"], ["--overlap"]


@dataclasses.dataclass(frozen=True)
class Task:
    """A task for both.

    Attributes:
        env: environment id.
        network: name of this package's network; the original has the same.
        num_env: environments.
        onednn: value of TensorFlow's oneDNN variable that is faster for this kind of network, used for both.
        variants: flags of `benchmarks.throughput` by name in the comparison.
    """

    env: str
    network: str
    num_env: int
    onednn: str
    variants: dict[str, list[str]]


TASKS = {
    "cartpole": Task("CartPole-v1", "mlp", 4, "0", {"float32": [], "overlap": OVERLAP}),
    "minatar": Task("MinAtar/Breakout-v1", "cnn_minatar", 8, "1", {"float32": [], "overlap": OVERLAP}),
    "breakout": Task(
        "BreakoutNoFrameskip-v4",
        "cnn",
        16,
        "1",
        {"float32": [], "bfloat16": BFLOAT16, "overlap": OVERLAP, "both": [*BFLOAT16, *OVERLAP]},
    ),
}


@dataclasses.dataclass(frozen=True)
class Original(Validated):
    """Measures train call and loop of baselines' ACER and of this one, in turn."""

    folder: Positional[Path]
    """Folder of the unpacked baselines 0.1.5."""
    task: Literal["cartpole", "minatar", "breakout"] = "cartpole"
    """CartPole with 4 environments, MinAtar's Breakout with 8, or Breakout with 16, which also runs in bfloat16."""
    rounds: Count = 5
    """Number of rounds in which each is measured."""
    seconds: Positive = 5
    """Duration of each loop, in seconds."""
    threads: Count | None = None
    """The original's threads; None leaves the choice to it: one per environment for MinAtar and Breakout."""
    json: Path | None = None
    """File for all numbers."""


def measure_ours(task: Task, variant: str, seconds: float) -> dict[str, Any]:
    """Measures this implementation."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.json"
        command = ["--env", task.env, "--network", task.network, "--num_env", str(task.num_env)]
        command += [*task.variants[variant], "--seconds", str(seconds), "--json", str(path)]
        _run(["benchmarks.throughput", *command], task)
        numbers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return numbers


def measure_original(task: Task, folder: Path, seconds: float, threads: int | None) -> dict[str, Any]:
    """Measures baselines."""
    command = ["benchmarks.original_loop", str(folder), task.env, str(task.num_env), str(seconds), str(threads or 0)]
    numbers: dict[str, Any] = json.loads(_run(command, task))
    return numbers


def ratios(results: Sequence[dict[str, Any]], variant: str) -> dict[str, list[float]]:
    """Returns, round by round, how many times as fast as the original a variant's train call and loop were."""
    own, original = ([row[name] for row in results] for name in (variant, "original"))
    pairs = list(zip(own, original, strict=True))
    return {
        "train call": [theirs["train_call_ms"] / ours["train_call_ms"] for ours, theirs in pairs],
        "loop": [ours["env_steps_per_s"] / theirs["env_steps_per_s"] for ours, theirs in pairs],
    }


def summary(results: Sequence[dict[str, Any]]) -> str:
    """Returns medians and ranges of all rounds as two tables in Markdown, speed and shares of the loop."""
    lines = [
        "| | train call, ms | steps per second | speed-up of the train call | of the loop |",
        "|---|---|---|---|---|",
    ]
    for name in results[0]:
        rows = [row[name] for row in results]
        cells = [_spread([row["train_call_ms"] for row in rows], ".2f")]
        cells.append(_spread([row["env_steps_per_s"] for row in rows], ".0f"))
        cells += (
            [_spread(values, ".2f") for values in ratios(results, name).values()] if name != "original" else ["", ""]
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    parts = ("emulation", "wrappers", "acting", "training", "replay")
    lines += ["", f"| share of the loop | {' | '.join(parts)} |", "|---|" + "---|" * len(parts)]
    for name in results[0]:
        shares = [row[name]["share"] | row[name].get("share_beside", {}) for row in results]
        medians = [statistics.median(share.get(part, 0.0) for share in shares) for part in parts]
        lines.append(f"| {name} | {' | '.join(f'{median:.1%}' for median in medians)} |")
    return "\n".join(lines)


def _spread(values: Sequence[float], form: str) -> str:
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def _run(module: list[str], task: Task) -> str:
    environment = os.environ | {ONEDNN_VARIABLE: task.onednn}
    done = subprocess.run(
        [sys.executable, "-m", *module], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


def check_original(folder: Path) -> None:
    """Checks that a folder holds the source of baselines.

    Raises:
        InputError: it does not.
    """
    if not (folder / "baselines" / "acer" / "acer_simple.py").is_file():
        raise InputError(f"{folder} does not hold baselines 0.1.5: there is no baselines/acer/acer_simple.py in it.")


def run(flags: Original) -> None:
    """Runs the measurement."""
    check_original(flags.folder)
    task, results = TASKS[flags.task], list[dict[str, Any]]()
    for number in range(1, flags.rounds + 1):
        row = {"original": measure_original(task, flags.folder, flags.seconds, flags.threads)}
        row |= {variant: measure_ours(task, variant, flags.seconds) for variant in task.variants}
        results.append(row)
        speeds = ", ".join(f"{name} {numbers['env_steps_per_s']:.0f}" for name, numbers in row.items())
        print(f"round {number}, steps per second: {speeds}", flush=True)
        if flags.json is not None:  # after each round, so that an interruption loses only one
            write_json(flags.json, results)
    print(summary(results))


main = command("benchmarks.original", Original, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
