"""Speed on CartPole compared with the original's: `python -m benchmarks.original FOLDER`.

FOLDER holds baselines 0.1.5, its last release:

    pip download --no-deps --no-binary :all: baselines==0.1.5
    tar xzf baselines-0.1.5.tar.gz

Its ACER and this one run in turns, each in a process of its own; compare ratios of one round only.
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

import tyro

from acer_tf.commands.cli import guarded, parse
from acer_tf.errors import InputError
from acer_tf.system.threads import ONEDNN_VARIABLE

OURS = ["benchmarks.throughput", "--env", "CartPole-v1", "--network", "mlp", "--num_env", "4"]


@dataclasses.dataclass(frozen=True)
class Original:
    """Measures train call and loop on CartPole with 4 environments, of baselines' ACER and of this one."""

    folder: tyro.conf.Positional[Path]
    """Where baselines 0.1.5 was unpacked."""
    rounds: int = 5
    """How often each is measured; one after the other."""
    seconds: float = 5
    """How long each loop runs."""


def measure_ours(seconds: float) -> dict[str, float]:
    """Measures this implementation."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.json"
        _run([*OURS, "--seconds", str(seconds), "--json", str(path)])
        numbers: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        return numbers


def measure_original(folder: Path, seconds: float) -> dict[str, float]:
    """Measures baselines."""
    numbers: dict[str, float] = json.loads(_run(["benchmarks.original_cartpole", str(folder), str(seconds)]))
    return numbers


def _run(module: list[str]) -> str:
    environment = os.environ | {ONEDNN_VARIABLE: "0"}  # the faster kernels for a network of this size, for both
    done = subprocess.run(
        [sys.executable, "-m", *module], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the measurement; returns the exit status."""
    flags = parse("benchmarks.original", Original, argv)
    if not (flags.folder / "baselines" / "acer" / "acer_simple.py").is_file():
        raise InputError(
            f"{flags.folder} does not hold baselines 0.1.5: there is no baselines/acer/acer_simple.py in it."
        )
    faster = []
    print("            train call, ms      steps per second    as fast as the original")
    print("             ours  original       ours  original       train call      loop")
    for _ in range(flags.rounds):
        ours, original = measure_ours(flags.seconds), measure_original(flags.folder, flags.seconds)
        faster.append(
            (original["train_call_ms"] / ours["train_call_ms"], ours["env_steps_per_s"] / original["env_steps_per_s"])
        )
        print(
            f"        {ours['train_call_ms']:9.3f} {original['train_call_ms']:9.3f}"
            f"  {ours['env_steps_per_s']:9.0f} {original['env_steps_per_s']:9.0f}"
            f"        {faster[-1][0]:9.2f} {faster[-1][1]:9.2f}",
            flush=True,
        )
    print("median" + " " * 50 + " ".join(f"{statistics.median(ratios):9.2f}" for ratios in zip(*faster, strict=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
