"""Reads experiments: the YAML files in `acer_tf/experiments`, with reference curves as CSV files beside them."""

import math
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from acer_tf.errors import InputError, nearest
from acer_tf.experiments.experiment import Criterion, Environment, Experiment, Reference, Variation, Window
from acer_tf.experiments.section import Section
from acer_tf.storage.yaml_text import parse_settings

SUFFIXES = (".yml", ".yaml")
SCORE = (0.9, 1.0)
"""Window of the score unless an experiment has its own: the last tenth of a run."""


def experiment_names() -> list[str]:
    """Returns the names of the experiments that ship with this package."""
    return sorted(path.stem for path in _folder().glob("*.yml"))


def load_experiment(name: str) -> Experiment:
    """Reads an experiment and checks every key and value, but not whether training commands know its flags.

    Args:
        name: one of `experiment_names()`, or the path of a file of your own, ending in .yml.

    Raises:
        InputError: there is no such experiment, or something in it cannot work.
    """
    path = _path(name)
    where = f"experiment {name}"
    try:
        values = parse_settings(where, path.read_bytes())
    except OSError as error:
        raise InputError(f"{where} cannot be read ({error.strerror}).") from error
    experiment = _experiment(path, Section(where, values))
    if both := set(experiment.seeds) & set(experiment.tuned_with):
        raise InputError(f"{where}: seed {min(both)} is in tuned_with and is reported; expected disjoint seeds.")
    return experiment


def _folder() -> Path:
    return Path(str(resources.files("acer_tf.experiments")))


def _path(name: str) -> Path:
    if name.endswith(SUFFIXES):
        return Path(name)
    names = experiment_names()
    if name not in names:
        raise InputError(f"experiment '{name}' does not exist; the nearest are {', '.join(nearest(name, names))}.")
    return _folder() / f"{name}.yml"


def _experiment(path: Path, top: Section) -> Experiment:
    envs = _environments(top)
    variations = tuple(_variation(top, name, values) for name, values in top.mapping("variations").items())
    references = tuple(_reference(top, path.parent, values) for values in top.items("references", []))
    for key, found in (("envs", envs), ("variations", variations)):
        if not found:
            raise InputError(f"{top.where} has no {key}; expected one or more.")
    first, score = top.count("first_seed", 0, least=0), top.window("score", SCORE)
    experiment = Experiment(
        name=path.stem,
        title=top.text("title"),
        claim=top.text("claim"),
        source=top.text("source"),
        note=top.text("note", ""),
        envs=envs,
        variations=variations,
        seeds=tuple(range(first, first + top.count("seeds"))),
        tuned_with=top.counts("tuned_with"),
        score=score,
        over_time=top.switch("over_time"),
        references=references,
        criteria=tuple(
            _criterion(Section(f"{top.where}, criterion {i + 1}", values), score, envs, variations, references)
            for i, values in enumerate(top.items("criteria", []))
        ),
    )
    top.finish()
    return experiment


def _environments(top: Section) -> tuple[Environment, ...]:
    """Reads the environments, whose values come before those that the experiment has for all of them."""
    common: dict[str, Any] = {"preset": top.text("preset", "baselines"), "flags": top.mapping("flags", {})}
    common |= {key: top.number(key) for key in ("steps", "steps_per_second") if key in top}
    found = []
    for name, values in top.mapping("envs").items():
        where = f"{top.where}, environment {name}"
        section = Section(where, common if values is None else {**common, **Section(where, values).values})
        flags = {**common["flags"], **section.mapping("flags")}
        preset, steps = section.text("preset"), section.count("steps")
        found.append(Environment(name, preset, steps, flags, section.number("steps_per_second")))
        section.finish()
    return tuple(found)


def _variation(top: Section, name: str, values: Any) -> Variation:
    section = Section(f"{top.where}, variation {name}", values or {})
    if not name.replace("-", "").replace("_", "").isalnum():
        raise InputError(f"{section.where}: expected a name of letters, digits, - and _, as it names a folder, too.")
    variation = Variation(name, section.mapping("flags", {}), section.number("slowdown", 1.0))
    section.finish()
    return variation


def _reference(top: Section, folder: Path, values: Any) -> Reference:
    section = Section(f"{top.where}, reference", values)
    name = section.text("curves", "")
    if name and not (folder / name).is_file():
        raise InputError(f"{section.where}: {folder / name} does not exist; expected a CSV file of curves.")
    label, source = section.text("label"), section.text("source")
    reference = Reference(label, source, section.numbers("numbers", {}), folder / name if name else None)
    section.finish()
    return reference


def _criterion(
    section: Section,
    score: Window,
    envs: Sequence[Environment],
    variations: Sequence[Variation],
    references: Sequence[Reference],
) -> Criterion:
    kind = section.choice("kind", ("same", "reaches", "better"))
    names, ids = [v.name for v in variations], [e.id for e in envs]
    variation = section.choice("variation", names)
    read: dict[str, Any] = {}
    if kind == "same":
        if "than" in section:
            read["than"] = section.choice("than", names)
        else:
            read["reference"] = section.choice("reference", [r.label for r in references if r.curves is not None])
        read["margin"] = section.number("margin")
        chosen = section.items("envs", ids)
    elif kind == "reaches":
        read["values"] = section.numbers("values")
        read["of"] = section.choice("of", ("training", "evaluations", "last_100"), "training")
        if read["of"] == "last_100" and "window" in section:
            raise InputError(f"{section.where}: window is of no use for the last 100 episodes; leave it out.")
        read["every_seed"] = section.switch("every_seed")
        read["minutes"] = section.number("minutes", math.inf)
        chosen = [*read["values"]]
    else:
        read["than"] = section.choice("than", names)
        chosen = section.items("envs", ids)
    if missing := [str(env) for env in chosen if env not in ids]:
        raise InputError(
            f"{section.where}: {missing[0]} is not an environment of it; the nearest are "
            f"{', '.join(nearest(missing[0], ids))}."
        )
    criterion = Criterion(kind, variation, tuple(chosen), section.window("window", score), **read)
    section.finish()
    return criterion


def flag_words(*flags: Mapping[str, Any]) -> list[str]:
    """Returns flags by name as words of a command line; of a name that occurs again, the last value counts."""
    merged = {name: value for some in flags for name, value in some.items()}
    return [word for name, value in merged.items() for word in (f"--{name}", str(value))]
