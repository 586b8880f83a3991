"""Every reader of files, with valid files to begin from."""

import functools
import json
import pickle
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna

from acer_tf import ACER
from acer_tf.configs import presets
from acer_tf.experiments import results
from acer_tf.experiments.reading import load_experiment
from acer_tf.importers.baselines import read_baselines
from acer_tf.importers.normalization import read_moments, read_normalization
from acer_tf.importers.stable_baselines import is_stable_baselines, read_stable_baselines
from acer_tf.logs.files import file_logger
from acer_tf.model import Model
from acer_tf.plots.html import read_records, scores
from acer_tf.plots.references import read_references
from acer_tf.plots.runs import default_widths, mean_curves, read_runs
from acer_tf.publish import _read_report
from acer_tf.recordings.recorded import read as read_recording
from acer_tf.search.search import _check_same
from acer_tf.search.space import read_space
from acer_tf.search.study import open_study
from acer_tf.storage.checkpoint import checkpoint_folders
from acer_tf.storage.durable import fingerprint
from acer_tf.storage.lock import locked
from acer_tf.storage.run_files import ARRAYS, CHECKPOINTS, MANIFEST, REPLAY, VALUES
from acer_tf.storage.saved_agents import read_saved_agent
from acer_tf.storage.usage import read_processor_seconds
from acer_tf.trials.scheduler import Trial
from acer_tf.trials.table import SweepTable
from tests.agents import make_model
from tests.experiments.samples import TINY
from tests.importers.old_files import (
    data_of,
    layers_of,
    named,
    old_modules,
    recording,
    running_mean_std,
    vec_normalize,
    write_joblib,
    write_pickle,
    write_zip,
)
from tests.saved import forge_manifest
from tests.training.test_checkpointer import checkpointer, make, run

FIXTURES = Path(__file__).parents[1] / "fixtures"
RUN = FIXTURES / "run-folders" / "mlp"
RESULTS = Path(__file__).parents[2] / "docs" / "results" / "cartpole-original"
LOGS = ("progress.csv", "progress.jsonl", "monitor.csv", "episodes.csv", "evaluations.csv")
SPACE = """\
lr: {low: 1e-4, high: 1e-2, log: true}
num_env: {low: 4, high: 32, int: true}
network: {choices: [mlp, lstm]}
nlstm: {choices: [64, 128], when: {network: lstm}}
"""

Files = Mapping[str, bytes]


class Reader(NamedTuple):
    """A reader of files.

    Attributes:
        read: reads what is in a folder.
        files: makes the valid files, by their paths in the folder.
        fuzzed: the beginnings of the paths of the files that are changed.
        seal: makes checksums true again after a change.
        is_alone: whether each file is read by itself, without the others.
    """

    read: Callable[[Path], object]
    files: Callable[[], Files]
    fuzzed: tuple[str, ...] = ("",)
    seal: Callable[[Path], object] = lambda folder: None
    is_alone: bool = False


def _of_folder(*folders: Path, only: tuple[str, ...] = ("",)) -> Files:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name.startswith(only)
    }


def _made(make_files: Callable[[Path], object]) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder))
        return _of_folder(Path(folder))


def _agents() -> Files:
    return _of_folder(FIXTURES / "format-2", only=("mlp.", "gaussian.", "lstm.", "multidiscrete.", "normalized."))


def _agent_of_format_1() -> Files:
    return _of_folder(FIXTURES / "format-1", only=("mlp.",))


def _checkpoints() -> Files:
    return {path: content for path, content in _of_folder(RUN).items() if path.startswith(CHECKPOINTS)}


def _go_on_logging(folder: Path) -> None:
    """As a resumed run does with the logs that it finds."""
    logger = file_logger(folder, "CartPole-v1")
    try:
        logger.load_state_dict({name: 10**6 for name in LOGS})
        header = (RUN / "progress.csv").read_text().splitlines()[0].split(",")
        logger.write(dict.fromkeys(header, 1.0))
        logger.write(dict.fromkeys([*header, "more"], 1.0))
    finally:
        logger.close()


def _locks() -> Files:
    def make_locks(folder: Path) -> None:
        with locked(folder):
            pass

    return {".lock": b"", ".lease": b"", **_made(make_locks)}


def _lock(folder: Path) -> None:
    with locked(folder, lease_seconds=0.2):
        pass


@functools.cache
def _model() -> Model:
    return make_model()


@functools.cache
def _trained() -> Files:
    """A run with checkpoints of this version."""
    return _made(lambda folder: run(acer := make(folder), checkpointer(acer, folder)) and _keep_newest(folder))


def _keep_newest(folder: Path) -> None:
    for path in checkpoint_folders(folder / CHECKPOINTS)[1:]:
        shutil.rmtree(path)


def _seal(folder: Path) -> None:
    """Forges the manifest of each checkpoint, if it can be read at all, so that its files seem to be as written."""
    for path in checkpoint_folders(folder / CHECKPOINTS):
        try:
            replay = [_resealed(folder, entry) for entry in json.loads((path / MANIFEST).read_bytes())["replay"]]
            files = {name: fingerprint(path / name) for name in (ARRAYS, VALUES)}
            forge_manifest(path, files=files, replay=replay)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OSError):
            continue


def _resealed(folder: Path, entry: list[Any]) -> list[Any]:
    name, start, stop, *_ = entry
    path = folder / CHECKPOINTS / REPLAY / name
    size, digest = fingerprint(path)
    new = path.with_name(f"{start:012d}-{stop:012d}-{digest[:16]}.npz")
    path.rename(new)
    return [new.name, start, stop, size, digest]


def _resume(folder: Path) -> None:
    checkpointer(make(folder), folder).begin()


def _report(folder: Path) -> None:
    records = read_records([folder])
    scores(records)
    for metric in ("episodes", "eval", "loss"):
        runs = read_runs([folder], [], metric=metric)
        mean_curves(runs, default_widths(runs, metric))
    read_runs([folder], [], axis="minutes")
    read_processor_seconds(folder, 100)


def _with_usage() -> Files:
    logs = _of_folder(RUN, only=(*LOGS, "config.yml"))
    usage = b"begin,end,seconds,processor_seconds\n0,60,1.5,2.5\n60,100,0.5,1.0\n"
    return {**{name: content for name, content in logs.items() if "/" not in name}, "usage.csv": usage}


def _experiment() -> Files:
    more = {"references": [{"label": "Theirs", "curves": "theirs.csv", "source": "them"}]}
    return {"tiny.yml": json.dumps({**TINY, **more}).encode(), "theirs.csv": b"label,environment,steps,mean_return\n"}


def _journal() -> Files:
    def make_study(folder: Path) -> None:
        study, _ = open_study(folder, "tpe", "median")
        _check_same(study, {"space": ["x"], "seeds": [0]}, folder)
        for value in (1.0, 2.0):
            trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
            trial.report(value, 1)
            study.tell(trial, value)
        study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})

    return _made(make_study)


def _open_journal(folder: Path) -> None:
    study, _ = open_study(folder, "tpe", "median")
    _check_same(study, {"space": ["x"], "seeds": [0]}, folder)
    study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})


def _table() -> Files:
    def make_table(folder: Path) -> None:
        table = SweepTable(folder / "sweep.csv")
        for seed in range(3):
            table.update(Trial("CartPole-v1", seed, folder / f"{seed}", ("acer_tf.run",)), "done")  # type: ignore[arg-type]

    return _made(make_table)


def _old_agents() -> Files:
    def make_agents(folder: Path) -> None:
        recorded = recording("mlp_value_copy")
        data, layers = data_of(recorded, "MlpPolicy"), layers_of(recorded)
        write_zip(folder / "agent.zip", data, named(layers))
        write_pickle(folder / "named.pkl", data, named(layers))
        write_pickle(folder / "listed.pkl", data, [a for group in layers.values() for a in group.values()])

    return _made(make_agents)


def _of_joblib() -> Files:
    def make_agents(folder: Path) -> None:
        write_joblib(folder / "plain.joblib", recording("mlp_value_copy"))
        write_joblib(folder / "packed.joblib", recording("mlp_value_copy"), compress=3)

    return _made(make_agents)


def _moments() -> Files:
    with old_modules():
        return {
            "obs_rms.pkl": pickle.dumps(running_mean_std(np.zeros(4), np.ones(4))),
            "ret_rms.pkl": pickle.dumps(running_mean_std(np.float64(0), np.float64(1)), 2),
        }


def _vec_normalize() -> Files:
    with old_modules():
        return {"vecnormalize.pkl": pickle.dumps(vec_normalize(np.zeros(4), np.ones(4)))}


def _each(read: Callable[[Path], object]) -> Callable[[Path], None]:
    def read_each(folder: Path) -> None:
        for path in sorted(folder.iterdir()):
            read(path)

    return read_each


READERS: Mapping[str, Reader] = {
    "agents": Reader(_each(ACER.load), _agents, is_alone=True),
    "agents of format 1": Reader(_each(ACER.load), _agent_of_format_1),
    "arrays of a model": Reader(
        lambda folder: _model().load(folder / "model.npz"),
        lambda: _made(lambda folder: _model().save(folder / "model.npz")),
    ),
    "checkpoints, read": Reader(read_saved_agent, lambda: _of_folder(RUN), ("checkpoints",)),
    "checkpoints, forged": Reader(ACER.load, _checkpoints, ("checkpoints/step",), _seal),
    "checkpoints, resumed": Reader(_resume, _trained, ("checkpoints",), _seal),
    "logs of a report": Reader(_report, _with_usage),
    "logs of a resumed run": Reader(_go_on_logging, _with_usage, LOGS),
    "locks": Reader(_lock, _locks),
    "presets": Reader(
        lambda folder: presets.load_preset(folder / "preset.yml"),
        lambda: {
            "preset.yml": (
                Path(load_experiment.__code__.co_filename).parents[1] / "configs" / "CartPole-v1.yml"
            ).read_bytes()
        },
    ),
    "experiments": Reader(lambda folder: load_experiment(str(folder / "tiny.yml")), _experiment, ("tiny.yml",)),
    "search spaces": Reader(
        lambda folder: read_space(folder / "space.yml", ["seed"]),
        lambda: {"space.yml": SPACE.encode()},
    ),
    "results": Reader(results.read, lambda: _of_folder(RESULTS, only=("seeds.csv", "curves.csv"))),
    "references": Reader(
        lambda folder: read_references([str(folder / "curves.csv")], ["CartPole-v1"], "steps"),
        lambda: {
            "curves.csv": b"label,environment,steps,mean_return,deviation\n"
            b"a,CartPole-v1,10,1.5,0.5\na,CartPole-v1,20,2.5,1\n"
        },
    ),
    "monitor files as references": Reader(
        lambda folder: read_references([str(folder / "monitor.csv")], ["CartPole-v1"], "steps"),
        lambda: _of_folder(RUN, only=("monitor.csv",)),
    ),
    "tables of sweeps": Reader(lambda folder: SweepTable(folder / "sweep.csv"), _table),
    "journals of searches": Reader(_open_journal, _journal),
    "reports of evaluate": Reader(
        _each(_read_report),
        lambda: {"report.json": b'{"env": "A-v0", "fingerprint": "0a", "mean": 1.5, "std": 0.5}'},
    ),
    "recordings": Reader(
        _each(read_recording), lambda: _of_folder(FIXTURES.parent / "golden", only=("mlp_value_copy.npz",))
    ),
    "Stable Baselines": Reader(_each(read_stable_baselines), _old_agents, is_alone=True),
    "kinds of old agents": Reader(_each(is_stable_baselines), lambda: {**_old_agents(), **_of_joblib()}, is_alone=True),
    "baselines": Reader(_each(read_baselines), _of_joblib, is_alone=True),
    "imports of Stable Baselines": Reader(_each(ACER.import_stable_baselines), _old_agents, is_alone=True),
    "imports of baselines": Reader(_each(ACER.import_baselines), _of_joblib, is_alone=True),
    "moments": Reader(_each(read_moments), _moments, is_alone=True),
    "VecNormalize": Reader(read_normalization, _vec_normalize),
}
