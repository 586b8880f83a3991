"""Trains on several environments and seeds: `python -m acer_tf.sweep --envs Pong Breakout --seeds 3 --workers 2`."""

import dataclasses
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path

from acer_tf import run, run_atari
from acer_tf.cli.command import guarded
from acer_tf.cli.flag_names import flag_name, instead_of, intended_flag, stray
from acer_tf.cli.parsing import Parser
from acer_tf.configs.presets import load_preset
from acer_tf.envs.ids import check_env_id, full_env_id, is_atari, typed_env_id
from acer_tf.errors import InputError
from acer_tf.networks.names import ARGUMENTS
from acer_tf.search.search import Base, SearchFlags, search
from acer_tf.storage.run_files import CHECKPOINTS
from acer_tf.system.streams import checked_seed
from acer_tf.training.job import Job
from acer_tf.training.resume import compared
from acer_tf.trials.scheduler import Trial, seed_folder

MOST_SEEDS = 1000
OWN = ("env", "preset", "seed", "logdir", "restart_behavior")
"""Flags of a training command that the sweep sets itself; restarted trials always resume."""
FLAGS = (*run.PARSER.names, *run_atari.PARSER.names)
"""Flags of the training commands."""


@dataclasses.dataclass(frozen=True)
class Sweep(SearchFlags):
    """Trains on every environment (or preset) with every seed, each trial in its own process and run folder.

    Any other flag is passed to every trial, for instance --total_timesteps 1e6. The table, sweep.csv, grows as trials
    end. Given again, the command skips trials that are done, resumes those that were stopped and retries those that
    failed. With --search, it searches for settings on one environment (or preset) instead.
    """

    envs: tuple[str, ...] = ()
    """Environment ids, or bare names of Atari games."""
    presets: tuple[str, ...] = ()
    """Presets, each with its own environment."""
    seeds: tuple[int, ...] = (3,)
    """Number of seeds (0, 1, ...) of each environment or preset; several numbers are the seeds themselves."""
    out: Path = Path("runs/sweep")
    """Folder for the table and all run folders."""

    def planned(self, rest: Sequence[str]) -> list[Trial]:
        """Returns the trials, ordered by seed; `rest` are the flags for each.

        Raises:
            InputError: a flag of the sweep or of a trial has a value that cannot work.
        """
        names, seeds, given = self._checked(rest)
        trials = [self._trial(name, name, seed, given, rest) for seed in seeds for name in names]
        for trial in trials[: len(names)]:  # the first seed's; the others differ in nothing that could be wrong
            _job(trial)
        return trials

    def run(self, rest: Sequence[str]) -> int:
        """Runs the trials that are not done yet, or a search; returns the exit status.

        Args:
            rest: flags for each trial.

        Raises:
            LockedError: another sweep uses the folder.
            InputError: as for `planned`; or the folder cannot be made, or a trial's folder holds a run with other
                settings.
        """
        if self.search is None:
            return self.run_all(self.planned(rest), self.out, check=_check_settings)
        return search(self.search, self, self._base(rest), self.out)

    def _checked(self, rest: Sequence[str]) -> tuple[list[str], list[int], set[str]]:
        """Returns the names of environments or presets, the seeds, and the names of the flags in `rest`."""
        if rest and not rest[0].startswith("--"):
            raise InputError(stray(rest[0], PARSER.names))
        if bool(self.envs) == bool(self.presets):
            raise InputError("nothing to train on; expected either --envs ID [ID ...] or --presets NAME [NAME ...].")
        if len(self.seeds) == 1 and self.seeds[0] > MOST_SEEDS:
            raise InputError(
                f"seeds is {self.seeds[0]}, a number of seeds; expected at most {MOST_SEEDS}. For the seed of that "
                "number alone, give it twice."
            )
        seeds = range(*self.seeds) if len(self.seeds) == 1 else dict.fromkeys(self.seeds)
        if not seeds:
            raise InputError("seeds is 0; expected a whole number >= 1.")
        for seed in seeds:
            checked_seed(seed)
        self.check()
        given = {flag_name(word) for word in rest if word.startswith("--")}
        _check_spelling(given)
        if taken := given & set(OWN):
            raise InputError(f"--{min(taken)} is set by the sweep itself; expected --envs, --presets, --seeds, --out.")
        return list(dict.fromkeys(self.presets or map(_env_id, self.envs))), list(seeds), given

    def _base(self, rest: Sequence[str]) -> Base:
        names, seeds, given = self._checked(rest)
        if len(names) > 1:
            raise InputError(
                f"a search needs one environment or preset, as returns of several cannot be compared; got {len(names)}."
            )

        def make(label: str, seed: int, words: Sequence[str]) -> tuple[Trial, int]:
            trial = self._trial(names[0], label, seed, given, [*rest, *words])
            return trial, _job(trial).config.total_timesteps

        return Base(
            name=names[0],
            kind="preset" if self.presets else "environment",
            words=[names[0], *rest],
            seeds=seeds,
            given=given,
            make=make,
        )

    def _trial(self, name: str, label: str, seed: int, given: set[str], rest: Sequence[str]) -> Trial:
        if self.presets:
            flag, env_id = "--preset", load_preset(name).command.get("env", run.OWN_DEFAULTS["env"])
            check_env_id(env_id)
        else:
            flag, env_id = "--env", typed_env_id(name)
        module = run_atari if is_atari(env_id) else run
        folder = self.out / seed_folder(label, seed)
        words = [flag, name, "--seed", str(seed), "--logdir", str(folder), *self.shares(env_id, given), *rest]
        return Trial(label, seed, folder, (module.__name__, *words))


def _job(trial: Trial) -> Job:
    """Reads the command line of a trial."""
    name, *words = trial.command
    read = run_atari.read if name == run_atari.__name__ else run.read
    return read(words)


def _check_settings(trial: Trial) -> None:
    """Checks that the run that a trial would continue, if any, has its settings."""
    if (trial.folder / CHECKPOINTS).is_dir():
        job = _job(trial)
        compared(trial.folder, job.settings(), job.run.force, "choose another folder with --out")


def _env_id(name: str) -> str:
    name = full_env_id(name)
    check_env_id(typed_env_id(name))
    return name


PARSER = Parser("acer_tf.sweep", inspect.getdoc(Sweep) or "", [Sweep], takes_others=True)


def _check_spelling(given: set[str]) -> None:
    """Checks that no flag for the trials is a misspelt flag of the sweep."""
    own = PARSER.names
    for name in sorted(given.difference(FLAGS, ARGUMENTS)):
        if intended_flag(name, [*own, *FLAGS]) in own:
            raise InputError(f"--{name} is not a flag; {instead_of(name, own)}.")


def _main(argv: Sequence[str]) -> int:
    given, rest = PARSER.read(argv)
    return Sweep(**given).run(rest)


main = guarded(_main)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
