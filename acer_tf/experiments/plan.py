"""The runs of an experiment: a trial for each seed, variation and environment."""

import functools
import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from acer_tf import run, run_atari
from acer_tf.configs.presets import BASELINES
from acer_tf.envs.ids import check_env_id, is_atari, typed_env_id
from acer_tf.errors import InputError
from acer_tf.experiments.experiment import Environment, Experiment, Variation
from acer_tf.storage.run_folder import UNNAMED
from acer_tf.suggestions import suggestion
from acer_tf.trials.execution import Execution
from acer_tf.trials.flags import words
from acer_tf.trials.scheduler import Trial, seed_folder


class Planned(NamedTuple):
    """A run of an experiment.

    Attributes:
        trial: its process.
        variation: name of its settings.
        env: its environment, with the length of the run.
        seed: seed of the run.
        settings: all settings that make a difference, by name, as `decisive` returns them.
    """

    trial: Trial
    variation: str
    env: Environment
    seed: int
    settings: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str, int]:
        """Variation, environment and seed."""
        return self.variation, self.env.id, self.seed


def selected(experiment: Experiment, variations: Sequence[str], envs: Sequence[str]) -> Experiment:
    """Returns the part of an experiment with these variations and environments, or with all if none are named.

    Raises:
        InputError: the experiment has no such variation or environment.
    """
    _require("variation", variations, [v.name for v in experiment.variations], experiment.name)
    _require("environment", envs, [e.id for e in experiment.envs], experiment.name)
    kept = [e for e in experiment.envs if not envs or e.id in envs]
    chosen = [v for v in experiment.variations if not variations or v.name in variations]
    return experiment._replace(envs=tuple(kept), variations=tuple(chosen))


def plan(
    experiment: Experiment, number: int | None, out: Path, execution: Execution, typed: Collection[str] = ()
) -> list[Planned]:
    """Returns the runs, ordered by seed, so that all parts of an experiment grow alike.

    Each variation and environment has `number` of them; None takes the experiment's numbers. Environment ids that a
    user has `typed` may import a module; those that only a file has must not.

    Raises:
        InputError: an environment or a preset does not exist, or training does not know a flag or rejects its value.
    """
    planned = []
    for variation, env in itertools.product(experiment.variations, experiment.envs):
        module, line, settings = _prepared(experiment.name, variation, env, execution, env.id in typed)
        for seed in experiment.seeds(env, number):
            folder = out / variation.name / seed_folder(env.id, seed)
            command = (module, *line, "--seed", str(seed), "--logdir", str(folder))
            trial = Trial(f"{variation.name} {env.id}", seed, folder, command)
            planned.append(Planned(trial, variation.name, env, seed, settings))
    return sorted(planned, key=lambda p: p.seed)


def decisive(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that affect learning and differ from the defaults of baselines' learn().

    Settings that older versions of this package did not have behaved like today's defaults, so they need no entry.
    """
    plain = json.loads(json.dumps(dict(settings)))
    kept = {name: value for name, value in plain.items() if name not in UNNAMED}
    return {name: value for name, value in sorted(kept.items()) if defaults().get(name) != value}


@functools.cache
def defaults() -> Mapping[str, Any]:
    """Returns the default settings that affect learning, except the environment's."""
    plain = json.loads(json.dumps(run.read(["--preset", BASELINES]).settings()))
    return {name: value for name, value in plain.items() if name not in (*UNNAMED, "env")}


def _prepared(
    name: str, variation: Variation, env: Environment, execution: Execution, is_typed: bool
) -> tuple[str, list[str], dict[str, Any]]:
    """Returns the module, words and settings of a run, without its seed and folder."""
    try:
        if ":" in env.id and not is_typed:
            raise InputError(f"the file names a module to import; --envs {env.id} allows it.")
        env_id = typed_env_id(env.id)
        check_env_id(env_id)
        module = run_atari if is_atari(env_id) else run
        given = set(env.flags) | set(variation.flags)
        own = {"preset": env.preset, "env": env.id, "total_timesteps": env.steps}
        line = [*words(own, env.flags, variation.flags), *execution.shares(env_id, given)]
        return module.__name__, line, decisive(module.read(line).settings())
    except InputError as error:
        raise InputError(f"experiment {name}, variation {variation.name}, {env.id}: {error}") from error


def _require(kind: str, names: Collection[str], known: Sequence[str], experiment: str) -> None:
    for name in names:
        if name not in known:
            raise InputError(f"{experiment} has no {kind} '{name}'{suggestion(name, known)}.")
