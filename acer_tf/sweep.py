"""Trains on several environments and seeds: `python -m acer_tf.sweep --envs Pong Breakout --seeds 3 --workers 2`."""

import contextlib
import csv
import dataclasses
import io
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from acer_tf import run, run_atari
from acer_tf.commands.cli import FAILED as FAILED_STATUS
from acer_tf.commands.cli import guarded, parse_known
from acer_tf.commands.signals import stop_on_signals
from acer_tf.commands.train import checked
from acer_tf.commands.trials import DONE, FAILED, STOPPED, Trial, run_trials
from acer_tf.configs.presets import load_preset
from acer_tf.envs.ids import check_env_id, is_atari, typed_env_id
from acer_tf.errors import InputError
from acer_tf.plots.curves import read_returns
from acer_tf.plots.intervals import LAST_EPISODES
from acer_tf.storage.durable import replacing
from acer_tf.storage.lock import locked
from acer_tf.system.console import say
from acer_tf.system.threads import cores

TABLE = "sweep.csv"
COLUMNS = ("name", "seed", "status", "steps", "episodes", "mean_return", "folder", "command")
OWN = ("env", "preset", "seed", "logdir")
"""Flags of a training command that the sweep gives itself."""


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Trains every environment (or preset) with every seed, each in a process and a run folder of its own.

    Any other flag goes to every trial, for instance --num_timesteps 1e6. The table, sweep.csv, grows as trials end. The
    same command again leaves out what is done, resumes what was stopped and tries what failed once more.
    """

    envs: tuple[str, ...] = ()
    """Environment ids, or bare names of Atari games."""
    presets: tuple[str, ...] = ()
    """Presets, each with its own environment."""
    seeds: int = 3
    """Seeds 0, 1, ... of each."""
    workers: int = 1
    """Trials that run side by side, each with its share of the cores."""
    out: Path = Path("runs/sweep")
    """Folder of the table and of all run folders."""

    def trials(self, rest: Sequence[str]) -> list[Trial]:
        """Returns the trials, those of the first seed first.

        Raises:
            InputError: a value that cannot work, for the sweep or for a trial; nothing has been started. Arguments of
                the network are seen by the trial alone: they need TensorFlow.
        """
        if bool(self.envs) == bool(self.presets):
            raise InputError("what to train on? Expected either --envs ID [ID ...] or --presets NAME [NAME ...].")
        for name in ("seeds", "workers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is 0; expected a whole number >= 1.")
        given = {word.partition("=")[0].removeprefix("--").replace("-", "_") for word in rest if word.startswith("--")}
        if taken := given & set(OWN):
            raise InputError(f"--{min(taken)} is the sweep's own business; expected --envs, --presets, --seeds, --out.")
        names = dict.fromkeys(self.presets or map(_env_id, self.envs))
        return [self._trial(name, seed, given, rest) for seed in range(self.seeds) for name in names]

    def _trial(self, name: str, seed: int, given: set[str], rest: Sequence[str]) -> Trial:
        flag, env_id = "--env", typed_env_id(name)
        if self.presets:
            flag, env_id = "--preset", load_preset(name).command.get("env", run.Run.env)
            check_env_id(env_id)
        module = run_atari if is_atari(env_id) else run
        folder = self.out / name.replace("/", "-").replace(":", "-") / f"seed-{seed}"
        words = [flag, name, "--seed", str(seed), "--logdir", str(folder), *self._shares(module, given), *rest]
        flags, network, *_ = module.read(words)
        checked(flags, network)
        return Trial(name, seed, folder, (module.__name__, *words))

    def _shares(self, module: object, given: set[str]) -> list[str]:
        if self.workers == 1:
            return []
        share = str(max(1, cores() // self.workers))
        names = ["threads", "num_workers"] if module is run_atari else ["threads"]
        return [word for name in names if name not in given for word in (f"--{name}", share)]


class Table:
    """What is known of the trials, on disk after every change; rows of trials that are not asked for again stay."""

    def __init__(self, path: Path) -> None:
        """Reads the table if there is one.

        Raises:
            InputError: it cannot be read.
        """
        self._path = path
        self._rows: dict[str, dict[str, str]] = {}
        if path.exists():
            try:
                with path.open(newline="", encoding="utf-8") as file:
                    self._rows = {row["folder"]: row for row in csv.DictReader(file)}
            except (OSError, KeyError, UnicodeDecodeError) as error:
                raise InputError(f"{path} cannot be read ({error}); choose another folder with --out.") from error

    def is_done(self, trial: Trial) -> bool:
        """Says whether this very command has ended well before."""
        row = self._rows.get(str(trial.folder), {})
        return row.get("status") == DONE and row.get("command") == shlex.join(trial.command)

    def take(self, trial: Trial, status: str) -> Mapping[str, str]:
        """Takes a trial's new status and what its run folder tells, and writes the table; returns the trial's row.

        A table that cannot be written, on a full disk for instance, is written at the next call.
        """
        row = {"name": trial.name, "seed": str(trial.seed), "status": status} | _outcome(trial.folder)
        row |= {"folder": str(trial.folder), "command": shlex.join(trial.command)}
        self._rows[row["folder"]] = row
        try:
            self._write()
        except OSError as error:
            say(f"{self._path} cannot be written ({error.strerror}); it will be tried again", is_error=True)
        return row

    def _write(self) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self._rows.values())
        with replacing(self._path) as file:
            file.write(text.getvalue().encode())

    def rows(self, trials: Iterable[Trial]) -> list[Mapping[str, str]]:
        """Returns the rows of these trials, as far as they have begun."""
        return [self._rows[str(trial.folder)] for trial in trials if str(trial.folder) in self._rows]


def summary(rows: Sequence[Mapping[str, str]]) -> str:
    """Returns the table as text, then mean and standard deviation over the seeds of each name that are done."""
    shown = [COLUMNS[:6], *([row[column] for column in COLUMNS[:6]] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in shown
    ]
    for name in dict.fromkeys(row["name"] for row in rows):
        returns = [float(row["mean_return"]) for row in rows if row["name"] == name and row["status"] == DONE]
        if returns:
            lines.append(f"{name}: {np.mean(returns):.1f} +- {np.std(returns):.1f} over {len(returns)} seeds")
    return "\n".join(lines)


def _env_id(name: str) -> str:
    with contextlib.suppress(InputError):
        check_env_id(f"{name}NoFrameskip-v4")
        return f"{name}NoFrameskip-v4"
    check_env_id(typed_env_id(name))
    return name


def _outcome(folder: Path) -> dict[str, str]:
    """Returns agent steps at the last episode's end, whole episodes, and the mean raw return of the last ones."""
    try:
        steps, returns = read_returns(folder)
    except InputError:
        return {"steps": "0", "episodes": "0", "mean_return": "nan"}
    mean = returns[-LAST_EPISODES:].mean()
    return {"steps": f"{steps[-1]:.0f}", "episodes": str(len(returns)), "mean_return": f"{mean:.6g}"}


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status: 0 if all trials are done, 1 if one failed, 130 or 143 if stopped."""
    flags, rest = parse_known("acer_tf.sweep", Sweep, argv)
    trials = flags.trials(rest)
    try:
        flags.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{flags.out} cannot be made ({error.strerror}); choose another folder with --out.") from error
    with locked(flags.out), stop_on_signals() as stop:
        table = Table(flags.out / TABLE)
        open_trials = [trial for trial in trials if not table.is_done(trial)]
        print(f"{len(trials)} trials, {len(trials) - len(open_trials)} done before; table: {flags.out / TABLE}")

        def report(trial: Trial, status: str) -> None:
            row = table.take(trial, status)
            told = {
                DONE: f": {int(row['steps']):,} steps, mean return {row['mean_return']} of the last {LAST_EPISODES}",
                FAILED: f": {_last_line(trial.log)} ({trial.log})",
            }
            print(f"{status} {trial.name} seed {trial.seed}{told.get(status, '')}", flush=True)

        run_trials(open_trials, flags.workers, stop, report)
        rows = table.rows(trials)
    print(summary(rows))
    if stop():
        print(f"to go on: {shlex.join(sys.orig_argv)}")
    return stop.status or (FAILED_STATUS if any(row["status"] in (FAILED, STOPPED) for row in rows) else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
