"""Measures a machine: `python -m benchmarks.device`; `benchmarks/device.sh` installs its dependencies and runs it.

Each measurement is a `benchmarks.throughput` in its own process, the most informative first. Measurements that have not
begun when the time is over are left out, and failures are noted, so that it can run unattended.
"""

import dataclasses
import importlib.util
import json
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import psutil

from acer_tf.cli.command import command
from acer_tf.config import Precision
from acer_tf.schema import Positive, Validated
from acer_tf.storage.durable import write_json
from acer_tf.system.compute import cores, processor_name
from benchmarks import Counts, CountsOrZero

COLUMNS = {
    "num_env": "environments",
    "precision": "precision",
    "overlap": "overlap",
    "train_call_ms": "train call, ms",
    "bound_share": "share of the bound",
    "env_steps_per_s": "steps/s",
    "emulation": "emulation",
    "acting": "acting",
    "training": "training",
    "memory_mib": "memory, MiB",
    "device_memory_mib": "GPU memory, MiB",
}
FORMATS = {"train_call_ms": ".1f", "bound_share": ".2f", "emulation": ".0%", "acting": ".0%", "training": ".0%"}
BEFORE_COLLECTORS = 8
"""Measurements before that of collectors."""
LEFT_OUT = "left out, as the time was over"
LONGEST = 300.0
"""Seconds after which a measurement is given up."""


@dataclasses.dataclass(frozen=True)
class Device(Validated):
    """Measures train call, loop, overlap and memory in both precisions, for several numbers of environments."""

    out: Path = Path("device")
    """Folder for device.json and device.md; earlier ones are overwritten."""
    minutes: Positive = 10
    """Time after which no measurement begins."""
    env: str = "BreakoutNoFrameskip-v4"
    """Environment id."""
    network: str = "cnn"
    """Name of the network."""
    num_envs: Counts = (16, 256, 64, 128, 32)
    """Numbers of environments, in the order of measurement."""
    seconds: Positive = 8
    """Duration of each loop, in seconds."""
    collectors: CountsOrZero = (0, 1, 2, 4)
    """Numbers of collectors on Ray to compare, if Ray is installed; 0 is the loop of one process."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """The subject of one measurement."""

    num_env: int
    precision: str
    overlap: bool


def settings(num_envs: Sequence[int]) -> list[Setting]:
    """Returns all measurements in order: for each number of environments, both precisions, then both with overlap."""
    return [
        Setting(num_env, precision, overlap)
        for num_env in num_envs
        for overlap in (False, True)
        for precision in get_args(Precision)
    ]


def machine() -> dict[str, Any]:
    """Describes the machine: processor, cores, memory, GPUs and versions."""
    # In another process, as TensorFlow on a GPU would hold memory that the measurements need.
    code = (
        "import tensorflow as tf; from acer_tf.system.compute import device; print(tf.__version__, device(), sep='|')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    version, _, device = (done.stdout.splitlines() or ["unknown"])[-1].partition("|")
    return {
        "processor": processor_name(),
        "cores": cores(),
        "memory_gib": psutil.virtual_memory().total / 2**30,
        "device": device,
        "tensorflow": version,
        "python": platform.python_version(),
    }


def measure(setting: Setting, flags: Device) -> dict[str, Any]:
    """Measures one setting; a failure is a result, under `failed`."""
    command = ["--num_env", str(setting.num_env), "--precision", setting.precision, "--seconds", str(flags.seconds)]
    command += ["--env", flags.env, "--network", flags.network, *(["--overlap"] if setting.overlap else [])]
    return dataclasses.asdict(setting) | _numbers(["benchmarks.throughput", *command], flags.out)


def measure_collectors(flags: Device) -> dict[str, Any]:
    """Measures collectors on Ray; results are under `medians`, a failure under `failed`."""
    if importlib.util.find_spec("ray") is None:
        return {"failed": "Ray is not installed"}
    command = ["--mode", "atari", "--env", flags.env, "--seconds", str(flags.seconds), "--repeats", "1", "--actors"]
    return _numbers(["benchmarks.collectors", *command, *map(str, flags.collectors)], flags.out)


def _numbers(module: list[str], folder: Path) -> dict[str, Any]:
    """Returns the JSON of a benchmark run in its own process, or the failure."""
    path = folder / "numbers.json"
    command = [sys.executable, "-m", *module, "--json", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {LONGEST:.0f} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]}
    numbers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    return numbers


def table(results: Sequence[dict[str, Any]]) -> str:
    """Returns the results as a table in Markdown, with failures below it."""
    lines = [_row(COLUMNS.values()), _row(["---"] * len(COLUMNS))]
    for result in results:
        if "failed" not in result:
            values = result | result["share"] | result["share_beside"]
            lines.append(_row(_cell(name, values.get(name)) for name in COLUMNS))
    failed = [result for result in results if "failed" in result]
    notes = [f"- {_named(result)}: {result['failed']}" for result in failed]
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def collectors_table(collectors: dict[str, Any]) -> str:
    """Returns steps per second by number of collectors as a table in Markdown, or why there is none."""
    if "medians" not in collectors:
        return f"- collectors: {collectors['failed']}\n"
    rows = [_row([number, f"{numbers['steps_per_s']:.0f}"]) for number, numbers in collectors["medians"].items()]
    return "\n".join([_row(["collectors", "steps/s"]), _row(["---"] * 2), *rows]) + "\n"


def write(described: dict[str, Any], results: Sequence[dict[str, Any]], collectors: dict[str, Any], out: Path) -> None:
    """Writes device.json and device.md."""
    write_json(out / "device.json", {"machine": described, "results": list(results), "collectors": collectors})
    heading = "\n".join(f"- {name}: {_cell(name, value)}" for name, value in described.items())
    report = f"{heading}\n\n{table(results)}\n{collectors_table(collectors)}"
    (out / "device.md").write_text(report, encoding="utf-8")


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(name: str, value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "yes" if value else ""
    return format(value, FORMATS.get(name, ".0f")) if isinstance(value, float) else str(value)


def _named(setting: dict[str, Any]) -> str:
    overlap = ", overlap" if setting["overlap"] else ""
    return f"{setting['num_env']} environments, {setting['precision']}{overlap}"


def run(flags: Device) -> int:
    """Runs as many measurements as the time allows; returns the exit status, 1 if none succeeded."""
    end, results = time.monotonic() + 60 * flags.minutes, list[dict[str, Any]]()
    flags.out.mkdir(parents=True, exist_ok=True)
    described, collectors = machine(), {"failed": LEFT_OUT}
    for setting in settings(flags.num_envs):
        if time.monotonic() > end:
            results.append(dataclasses.asdict(setting) | {"failed": LEFT_OUT})
        else:
            print(f"{_named(dataclasses.asdict(setting))} ...", flush=True)
            results.append(measure(setting, flags))
        write(described, results, collectors, flags.out)  # each time, so that an interrupted run also has a table
        if len(results) == BEFORE_COLLECTORS and time.monotonic() < end and flags.collectors:
            print("collectors ...", flush=True)
            collectors = measure_collectors(flags)
    write(described, results, collectors, flags.out)
    print((flags.out / "device.md").read_text(encoding="utf-8"))
    return 0 if any("failed" not in result for result in results) else 1


main = command("benchmarks.device", Device, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
