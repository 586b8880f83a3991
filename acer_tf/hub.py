"""Published agents on the Hugging Face Hub or in local folders: an agent, the settings of its run and a model card."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any

import yaml

from acer_tf import __version__
from acer_tf.errors import InputError, require
from acer_tf.storage import durable
from acer_tf.storage.agent_file import read_agent, write_agent
from acer_tf.storage.paths import user_path
from acer_tf.storage.run_files import MODEL, SETTINGS
from acer_tf.storage.run_folder import read_settings
from acer_tf.storage.saved_agents import SavedAgent

FILES = {MODEL: 2**30, SETTINGS: 2**20}
"""Files to fetch, and the largest size of each in bytes."""
CARD = "README.md"
ENV_KWARGS = "env_kwargs"
PRIVATE = ("command", "logdir", "load_path", "ray_address", "track", ENV_KWARGS)
"""Settings of a run that may reveal something about the machine it ran on."""
TASK = "reinforcement-learning"
TEXT = """
# ACER on {env}

Trained with `acer_tf` {version}; `{settings}` has the settings. To watch and to evaluate it:

    acer fetch {address}
    acer enjoy runs/{name}
    acer evaluate runs/{name} --episodes 100
"""


def name_of(address: str) -> str:
    """Returns the name of the agent at an address: the `NAME` of `OWNER/NAME`, or the last part of a folder's path.

    Raises:
        InputError: it is neither.
    """
    if _is_folder(address):
        return user_path(address).resolve().name
    if address.count("/") != 1 or not all(address.split("/")):
        raise InputError(f"{address} is neither a folder nor a repository OWNER/NAME; a folder may begin with ./")
    return address.rpartition("/")[2]


def publish(
    agent: SavedAgent,
    settings: Mapping[str, Any],
    address: str,
    score: Mapping[str, float] | None,
    with_env_kwargs: bool = False,
) -> str:
    """Publishes an agent.

    Args:
        agent: the agent; the folder of its logs is left out.
        settings: settings of its run, of which `PRIVATE` and absolute paths are left out; `env` is the id of the
            environment.
        address: `OWNER/NAME` on the Hub, or a new local folder, which begins with `.`, `/` or `~`.
        score: `mean` and `std` of an evaluation, for the model card; None leaves the score out.
        with_env_kwargs: whether to publish the arguments of the environment as well.

    Returns:
        The folder, or the URL of the commit.

    Raises:
        InputError: the address is invalid, the folder exists, a file is too large to be fetched, or the folder or the
            repository cannot be written.
    """
    name = name_of(address)
    with contextlib.ExitStack() as stack:
        if is_folder := _is_folder(address):
            durable.require_free(user_path(address))
            folder = stack.enter_context(durable.new_folder(user_path(address)))
        else:
            require("huggingface_hub", "this needs", "hub")
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        public = {name: value for name, value in settings.items() if name not in PRIVATE and not _is_absolute(value)}
        if with_env_kwargs:
            public[ENV_KWARGS] = settings.get(ENV_KWARGS)
        text = TEXT.format(env=settings["env"], version=__version__, settings=SETTINGS, address=address, name=name)
        with durable.writing(user_path(address) if is_folder else folder):
            write_agent(folder / MODEL, _without_paths(agent.data), agent.groups)
            _write(folder / SETTINGS, yaml.safe_dump(public, sort_keys=False).encode())
            _write(folder / CARD, (_front_matter(settings["env"], name, score) + text).encode())
        for file, largest in FILES.items():
            _check_size(address, file, (folder / file).stat().st_size, largest)
        return address if is_folder else _upload(folder, address)


def fetch(address: str, revision: str | None, folder: Path) -> None:
    """Downloads a published agent into a new run folder.

    Args:
        address: see `publish`.
        revision: commit, branch or tag on the Hub; None takes the newest commit.
        folder: must not exist.

    Raises:
        InputError: a file is missing, too large or not what `publish` wrote; the agent cannot be fetched; or the
            folder exists or cannot be written.
    """
    if _is_folder(address) and revision is not None:
        raise InputError(f"{address} is a folder, which has no revisions; leave --revision out.")
    durable.require_free(folder)
    with durable.new_folder(folder) as new:
        source = user_path(address) if _is_folder(address) else _download(address, revision)
        for file, largest in FILES.items():
            with durable.reading(source / file):
                if _is_folder(address) and (source / file).is_symlink():
                    raise InputError(f"{source / file} is a link; expected a file.")
                size = (source / file).stat().st_size if (source / file).is_file() else None
                _check_size(address, file, size, largest)
                content = durable.read_bounded(source / file, largest)
            _write(new / file, content)
        read_agent(new / MODEL)
        read_settings(new)


def _write(path: Path, data: bytes) -> None:
    with durable.creating(path) as file:
        file.write(data)


def _without_paths(data: dict[str, Any]) -> dict[str, Any]:
    settings = data.get("settings")
    return {**data, "settings": {**settings, "tensorboard_log": None}} if isinstance(settings, dict) else data


def _is_absolute(value: object) -> bool:
    """Returns whether a setting is an absolute path, on whatever system."""
    return isinstance(value, str) and (value.startswith(("/", "~")) or PureWindowsPath(value).is_absolute())


def _is_folder(address: str) -> bool:
    return address.startswith((".", "/", "~")) or Path(address).is_absolute()  # as on Windows


def _upload(folder: Path, repo_id: str) -> str:
    """Uploads the files of a folder in one commit; returns its URL."""
    from huggingface_hub import HfApi

    with _hub_errors(f"{repo_id} cannot be published"):
        HfApi().create_repo(repo_id, exist_ok=True)
        commit = HfApi().upload_folder(repo_id=repo_id, folder_path=folder, commit_message="Agent of acer_tf")
    return str(commit.commit_url)


def _download(repo_id: str, revision: str | None) -> Path:
    """Returns the folder in the Hub's cache with the files of one commit; offline, from an earlier download."""
    name_of(repo_id)
    require("huggingface_hub", "this needs", "hub")
    from huggingface_hub import HfApi, constants, snapshot_download

    with _hub_errors(f"{repo_id} cannot be fetched"):
        if not constants.HF_HUB_OFFLINE:
            info = HfApi().model_info(repo_id, revision=revision, files_metadata=True)
            sizes = {file.rfilename: file.size for file in info.siblings or ()}
            for file, largest in FILES.items():
                _check_size(repo_id, file, sizes.get(file), largest)
            revision = info.sha  # the branch may move meanwhile
        return Path(snapshot_download(repo_id, revision=revision, allow_patterns=list(FILES)))


def _check_size(address: str, file: str, size: int | None, largest: int) -> None:
    if size is None:
        raise InputError(f"{address} holds no {file}; expected what `acer publish` wrote.")
    if size > largest:
        raise InputError(f"{file} of {address} has {size:,} bytes; expected at most {largest:,}.")


@contextlib.contextmanager
def _hub_errors(what: str) -> Iterator[None]:
    """Turns errors of the Hub and its HTTP library into an `InputError`."""
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        yield
    except InputError:
        raise
    except (*HfHubHTTPError.__bases__, OfflineModeIsEnabled, ValueError, OSError) as error:
        reason = str(error).strip().partition(os.linesep)[0].rstrip(".")
        raise InputError(f"{what} ({reason}).") from error


def _front_matter(env_id: str, name: str, score: Mapping[str, float] | None) -> str:
    """Returns the metadata of a model card, in the Hub's format."""
    card: dict[str, Any] = {"library_name": "acer_tf", "pipeline_tag": TASK, "tags": [env_id, TASK, "acer"]}
    if score is not None:
        result = {
            "task": {"type": TASK},
            "dataset": {"name": env_id, "type": env_id},
            "metrics": [{"type": "mean_reward", "value": f"{score['mean']:.2f} +/- {score['std']:.2f}"}],
        }
        card["model-index"] = [{"name": name, "results": [result]}]
    return f"---\n{yaml.safe_dump(card, sort_keys=False)}---\n"
