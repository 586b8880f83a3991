"""Reads experiments: the YAML files in `acer_tf/experiments`, with reference curves as CSV files beside them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from acer_tf.envs.atari.human_scores import score_range
from acer_tf.errors import InputError
from acer_tf.experiments.experiment import Criterion, Environment, Experiment, Reference, Seeds, Variation, Window
from acer_tf.schema import Count, CountOrZero, Number, PositiveOrInfinite, Text, check_names, read
from acer_tf.storage.yaml_text import load_settings, settings_names, settings_path
from acer_tf.suggestions import suggestion
from acer_tf.trials.flags import check_flags

FOLDER = Path(__file__).parent
SCORE = (0.9, 1.0)
"""Default window of the score: the last tenth of a run."""
KEYS = {
    "same": (["margin"], ["than", "reference", "envs", "of"]),
    "reaches": (["values"], ["of", "every_seed", "minutes"]),
    "better": (["than"], ["envs", "of", "margin"]),
}
"""Keys that each kind of criterion needs, and further keys that it may have."""
WITHOUT_WINDOW = {"last_100": "the last 100 episodes", "area_of_minutes": "the area over minutes"}
"""Scores of a part that is not a fraction of the steps."""

Parts = Annotated[tuple[Any, ...], Meta(description="a list")]


class _File(NamedTuple):
    """Contents of the file; `preset`, `flags`, `seeds`, `steps` and `steps_per_second` apply to every environment."""

    title: Text
    claim: Text
    source: Text
    envs: Mapping[str, Any]
    variations: Mapping[str, Any]
    seeds: Seeds
    first_seed: CountOrZero = 0
    tuned_with: Annotated[tuple[CountOrZero, ...], Meta(description="whole numbers >= 0, such as [0, 1]")] = ()
    note: Text = ""
    preset: Text = "baselines"
    flags: Mapping[str, Any] = {}
    steps: Count | None = None
    steps_per_second: PositiveOrInfinite | None = None
    score: Window = SCORE
    over_time: bool = False
    references: Parts = ()
    random: Mapping[str, Number] = {}
    criteria: Parts = ()


def experiment_names() -> list[str]:
    """Returns the names of the experiments that ship with this package."""
    return settings_names(FOLDER)


def load_experiment(name: str) -> Experiment:
    """Reads an experiment and checks every key and value, but not whether training commands know its flags.

    Args:
        name: one of `experiment_names()`, or the path of your own file, ending in .yml.

    Raises:
        InputError: there is no such experiment, or a key or value cannot work.
    """
    path, where = settings_path("experiment", name, FOLDER), f"experiment {name}"
    file = read(where, load_settings(where, path), _File)
    experiment = Experiment(
        name=path.stem,
        title=file.title,
        claim=file.claim,
        source=file.source,
        note=file.note,
        envs=_environments(where, file),
        variations=tuple(
            _variation(f"{where}, variation {name}", name, values) for name, values in file.variations.items()
        ),
        first_seed=file.first_seed,
        tuned_with=file.tuned_with,
        score=_window(f"{where}: score", file.score),
        over_time=file.over_time,
        references=tuple(_reference(f"{where}, reference", path.parent, values) for values in file.references),
        random={**{env: scores.random for env in file.envs if (scores := score_range(env)) is not None}, **file.random},
        criteria=(),
    )
    for key in ("envs", "variations"):
        if not getattr(experiment, key):
            raise InputError(f"{where} has no {key}; expected one or more.")
    reported = range(file.first_seed, file.first_seed + max(env.seeds for env in experiment.envs))
    if both := set(reported) & set(experiment.tuned_with):
        raise InputError(f"{where}: seed {min(both)} is in tuned_with and is reported; expected disjoint seeds.")
    criteria = (_criterion(f"{where}, criterion {i}", values, experiment) for i, values in enumerate(file.criteria, 1))
    return experiment._replace(criteria=tuple(criteria))


def _environments(where: str, file: _File) -> tuple[Environment, ...]:
    """Reads the environments, whose own values take precedence over the experiment's values for all of them."""
    names = ("preset", "seeds", "steps", "steps_per_second")
    common = {"flags": {}, **{name: value for name in names if (value := getattr(file, name)) is not None}}
    envs = (read(f"{where}, environment {id}", values, Environment, common, id=id) for id, values in file.envs.items())
    found = tuple(env._replace(flags={**file.flags, **env.flags}) for env in envs)
    for env in found:
        _check_flags(f"{where}, environment {env.id}", env.flags)
    return found


def _variation(where: str, name: str, values: Any) -> Variation:
    if not re.fullmatch(r"[\w-]+", name):
        raise InputError(f"{where}: expected a name of letters, digits, - and _, as it also names a folder.")
    variation = read(where, values, Variation, name=name)
    _check_flags(where, variation.flags)
    return variation


def _check_flags(where: str, flags: Mapping[str, Any]) -> None:
    check_flags(where, flags, has_command_line=False)
    if "total_timesteps" in flags:
        raise InputError(f"{where}: total_timesteps is not a flag of an experiment; give steps.")


def _reference(where: str, folder: Path, values: Any) -> Reference:
    reference = read(where, values, Reference)
    if reference.curves is None:
        return reference
    curves = folder / reference.curves
    if len(reference.curves.parts) > 1 or not curves.is_file():
        raise InputError(f"{where}: {curves} does not exist; expected a CSV file of curves beside the experiment.")
    return reference._replace(curves=curves)


def _criterion(where: str, values: Any, experiment: Experiment) -> Criterion:
    envs = [env.id for env in experiment.envs]
    criterion = read(where, values, Criterion, {"envs": envs, "window": experiment.score})
    required, optional = KEYS[criterion.kind]
    check_names(where, values, ["kind", "variation", "window", *required, *optional])
    if missing := [key for key in required if key not in values]:
        raise InputError(f"{where}: {missing[0]} is missing.")
    if criterion.kind == "same" and bool(criterion.than) == bool(criterion.reference):
        raise InputError(f"{where}: expected either than or reference.")
    if without := [env for env in criterion.envs if "margin" in values and env not in experiment.random]:
        raise InputError(f"{where}: random play in {without[0]} is not known; expected its mean return under random.")
    _check_score(where, values, criterion)
    names = [variation.name for variation in experiment.variations]
    with_curves = [reference.label for reference in experiment.references if reference.curves is not None]
    for key, choices in (("variation", names), ("than", names), ("reference", with_curves)):
        if key in values and (value := getattr(criterion, key)) not in choices:
            raise InputError(f"{where}: {key} '{value}' does not exist; expected one of {', '.join(choices)}.")
    if criterion.kind == "reaches":
        criterion = criterion._replace(envs=tuple(criterion.values))
    if not criterion.envs:
        raise InputError(f"{where} is judged in no environment; expected one or more.")
    for env in criterion.envs:
        if env not in envs:
            raise InputError(f"{where}: {env} is not one of its environments{suggestion(env, envs)}.")
    return criterion._replace(window=_window(f"{where}: window", criterion.window))


def _check_score(where: str, values: Mapping[str, Any], criterion: Criterion) -> None:
    if criterion.of in WITHOUT_WINDOW and "window" in values:
        raise InputError(f"{where}: window has no effect for {WITHOUT_WINDOW[criterion.of]}; leave it out.")
    if criterion.of == "area_of_minutes" and not criterion.than:
        raise InputError(f"{where}: area_of_minutes compares two variations; expected than.")


def _window(name: str, window: Window) -> Window:
    if window[0] >= window[1]:
        raise InputError(f"{name} is {[*window]}; expected two fractions of a run, such as [0.9, 1].")
    return window
