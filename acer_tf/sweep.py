"""Trains on several environments and seeds: `python -m acer_tf.sweep --envs Pong Breakout --seeds 3 --workers 2`."""

import contextlib
import dataclasses
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from acer_tf import run, run_atari
from acer_tf.commands.cli import guarded, parse_known
from acer_tf.commands.mistakes import check_spelling, flag_names
from acer_tf.commands.resume import resuming
from acer_tf.commands.signals import stop_on_signals
from acer_tf.commands.statuses import Status
from acer_tf.commands.sweep_table import SweepTable, summary
from acer_tf.commands.train_flags import check
from acer_tf.commands.trials import DONE, FAILED, LOCKED, Trial, run_trials
from acer_tf.configs.presets import load_preset
from acer_tf.envs.ids import check_env_id, is_atari, typed_env_id
from acer_tf.errors import InputError
from acer_tf.plots.intervals import LAST_EPISODES
from acer_tf.storage.lock import locked
from acer_tf.system.command_line import command_line
from acer_tf.system.threads import cores

TABLE = "sweep.csv"
OWN = ("env", "preset", "seed", "logdir")
"""Flags of a training command that the sweep sets itself."""


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Trains on every environment (or preset) with every seed, each trial in its own process and run folder.

    Any other flag goes to every trial, for instance --num_timesteps 1e6. The table, sweep.csv, grows as trials end. The
    same command again skips trials that are done, resumes those that were stopped and retries those that failed.
    """

    envs: tuple[str, ...] = ()
    """Environment ids, or bare names of Atari games."""
    presets: tuple[str, ...] = ()
    """Presets, each with its own environment."""
    seeds: tuple[int, ...] = (3,)
    """Number of seeds (0, 1, ...) of each environment or preset; several numbers are the seeds themselves."""
    workers: int = 1
    """Trials that run side by side, each with an equal share of the cores."""
    out: Path = Path("runs/sweep")
    """Folder for the table and all run folders."""

    def trials(self, rest: Sequence[str]) -> list[Trial]:
        """Returns the trials, ordered by seed.

        Args:
            rest: flags of every trial.

        Raises:
            InputError: a flag of the sweep or of a trial has a value that cannot work.
        """
        if bool(self.envs) == bool(self.presets):
            raise InputError("what to train on? Expected either --envs ID [ID ...] or --presets NAME [NAME ...].")
        seeds = range(*self.seeds) if len(self.seeds) == 1 else dict.fromkeys(self.seeds)
        for name, least in (("seeds", len(seeds)), ("workers", self.workers)):
            if least < 1:
                raise InputError(f"{name} is 0; expected a whole number >= 1.")
        given = {word.partition("=")[0].removeprefix("--").replace("-", "_") for word in rest if word.startswith("--")}
        check_spelling(given, flag_names(Sweep), [*flag_names(run.Run), *flag_names(run_atari.RunAtari)])
        if taken := given & set(OWN):
            raise InputError(f"--{min(taken)} is set by the sweep itself; expected --envs, --presets, --seeds, --out.")
        names = dict.fromkeys(self.presets or map(_env_id, self.envs))
        return [self._trial(name, seed, given, rest) for seed in seeds for name in names]

    def run(self, rest: Sequence[str]) -> int:
        """Runs the trials that are not done yet.

        Args:
            rest: flags of every trial.

        Returns:
            The exit status: 0 if all trials are done, 1 if one failed; 129, 130 or 143 after a signal.

        Raises:
            LockedError: another sweep works in the folder.
            InputError: as `trials`, or the folder cannot be made.
        """
        trials = self.trials(rest)
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.out} cannot be made ({error.strerror}); choose another folder with --out."
            ) from error
        with locked(self.out), stop_on_signals() as stop:
            table = SweepTable(self.out / TABLE)
            remaining = [trial for trial in trials if not table.is_done(trial)]
            print(f"{len(trials)} trials, {len(trials) - len(remaining)} done before; table: {self.out / TABLE}")
            run_trials(remaining, self.workers, stop, lambda trial, status: _report(table, trial, status))
            rows = table.rows(trials)
        print(summary(rows))
        if stop():
            print(f"to go on: {shlex.join(resuming(command_line()))}")
        return stop.status if stop() or {row["status"] for row in rows} <= {DONE} else Status.FAILED

    def _trial(self, name: str, seed: int, given: set[str], rest: Sequence[str]) -> Trial:
        flag, env_id = "--env", typed_env_id(name)
        if self.presets:
            flag, env_id = "--preset", load_preset(name).command.get("env", run.Run.env)
            check_env_id(env_id)
        module = run_atari if is_atari(env_id) else run
        folder = self.out / name.replace("/", "-").replace(":", "-") / f"seed-{seed}"
        words = [flag, name, "--seed", str(seed), "--logdir", str(folder), *self._shares(module, given), *rest]
        check(module.read(words))
        return Trial(name, seed, folder, (module.__name__, *words))

    def _shares(self, module: object, given: set[str]) -> list[str]:
        if self.workers == 1:
            return []
        share = str(max(1, cores() // self.workers))
        names = ["threads", "num_workers"] if module is run_atari else ["threads"]
        return [word for name in names if name not in given for word in (f"--{name}", share)]


def _env_id(name: str) -> str:
    with contextlib.suppress(InputError):
        check_env_id(f"{name}NoFrameskip-v4")
        return f"{name}NoFrameskip-v4"
    check_env_id(typed_env_id(name))
    return name


def _report(table: SweepTable, trial: Trial, status: str) -> None:
    row = table.update(trial, status)
    details = ""
    if status == DONE:
        details = f": {int(row['steps']):,} steps, mean return {row['mean_return']} of the last {LAST_EPISODES}"
    elif status == FAILED:
        details = f": {_last_line(trial.log)} ({trial.log})"
    elif status == LOCKED:
        details = f": {_last_line(trial.log)} It starts when that process has ended."
    print(f"{status} {trial.name} seed {trial.seed}{details}")


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


main = guarded(lambda argv: Sweep.run(*parse_known("acer_tf.sweep", Sweep, argv)))

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
