"""The files of a published agent: the agent, the settings of its run, a manifest with their digests, a model card."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from acer_tf import __version__
from acer_tf.cli.parsing import write_json
from acer_tf.errors import InputError
from acer_tf.hub.repository import Repository
from acer_tf.storage.agent_file import read_agent, write_agent
from acer_tf.storage.durable import Fingerprint, check_whole, fingerprint
from acer_tf.storage.run_folder import MODEL, SETTINGS
from acer_tf.storage.saved_agents import SavedAgent

MANIFEST = "manifest.json"
CARD = "README.md"
LARGEST = {MANIFEST: 2**20, SETTINGS: 2**20, MODEL: 2**30}
"""Bytes of each file that is fetched."""

TEXT = """
# ACER on {env}

Trained with `acer_tf` {version}. To watch and to evaluate it:

    acer fetch {repo}
    acer enjoy runs/{name}
    acer evaluate runs/{name} --episodes 100

`{manifest}` has the size and the SHA-256 digest of the other files, which `acer fetch` checks; `{settings}` has the
settings of the training.
"""


def stage(
    folder: Path,
    agent: SavedAgent,
    settings: Mapping[str, Any],
    address: str,
    name: str,
    report: Mapping[str, Any] | None,
) -> None:
    """Writes the files of a published agent into an empty folder.

    Args:
        folder: the folder.
        agent: the agent.
        settings: of its run; `env` is the id of the environment.
        address: of the repository.
        name: last part of the address.
        report: what `acer evaluate --json` wrote, for the model card; None leaves the score out.
    """
    write_agent(folder / MODEL, agent.data, agent.groups)
    (folder / SETTINGS).write_text(yaml.safe_dump(dict(settings), sort_keys=False), encoding="utf-8")
    files = {file: fingerprint(folder / file)._asdict() for file in (MODEL, SETTINGS)}
    write_json(folder / MANIFEST, {"env": settings["env"], "acer_tf": __version__, "files": files})
    text = TEXT.format(
        env=settings["env"], version=__version__, repo=address, name=name, manifest=MANIFEST, settings=SETTINGS
    )
    (folder / CARD).write_text(_front_matter(str(settings["env"]), name, report) + text, encoding="utf-8")


def take_agent(source: Repository, folder: Path) -> None:
    """Copies a published agent into a folder, which is then a run folder, and checks every byte of it.

    Raises:
        InputError: a file is missing, too large, or not the one that was published, or it is not an agent.
    """
    files = _digests(source.take(MANIFEST, LARGEST[MANIFEST]))
    for name, expected in files.items():
        copy = folder / name
        shutil.copyfile(source.take(name, LARGEST[name]), copy)
        check_whole(copy, expected)
    read_agent(folder / MODEL)


def _digests(manifest: Path) -> dict[str, Fingerprint]:
    try:
        files = json.loads(manifest.read_bytes())["files"]
        return {name: Fingerprint(**files[name]) for name in (MODEL, SETTINGS)}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"the {MANIFEST} is damaged, or not one that `acer publish` wrote ({error!r}).") from error


def _front_matter(env_id: str, name: str, report: Mapping[str, Any] | None) -> str:
    from huggingface_hub import EvalResult, ModelCardData

    task = "reinforcement-learning"
    results = None
    if report is not None:
        score = f"{report['mean']:.2f} +/- {report['std']:.2f}"
        results = [
            EvalResult(
                task_type=task, dataset_type=env_id, dataset_name=env_id, metric_type="mean_reward", metric_value=score
            )
        ]
    data = ModelCardData(
        library_name="acer_tf", pipeline_tag=task, tags=[env_id, task, "acer"], model_name=name, eval_results=results
    )
    return f"---\n{data.to_yaml()}\n---\n"
