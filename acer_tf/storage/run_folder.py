"""The folder of a run: created, resumed, restarted or overwritten; its settings are in config.yml."""

import contextlib
import datetime
import itertools
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from acer_tf.errors import EnvironmentFailedError, InputError, LockedError, SupersededError
from acer_tf.storage.durable import (
    delete_unfinished,
    is_still,
    make_folder,
    read_bounded,
    replace,
    writing,
)
from acer_tf.storage.lock import last_token, locked
from acer_tf.storage.paths import free_path, path_text
from acer_tf.storage.run_files import BEST, CHECKPOINTS, LOCK_FILES, MODEL, PROGRESS, SETTINGS, check_links, delete_run
from acer_tf.storage.yaml_text import LARGEST, parse_settings
from acer_tf.system.command_line import command_line
from acer_tf.system.console import say
from acer_tf.system.provenance import commit, origin

LOST_REPLAY = "lost_replay"
"""Setting of a run that resumed without damaged files of replay: the agent steps where that happened."""
CHANGED = "changed"
"""Setting of a run that was resumed with --force: the earlier values, with the agent steps."""
FREE = (
    *("preset", "logdir", "load_path", "num_workers", "vectorization", "threads", "tune_malloc", "stall_seconds"),
    *("checkpoint_every", "exact_resume", "keep_checkpoints", "keep_every"),
    *("ray_address", "actor_timeout"),
    "lockstep",  # of runs of version 0.1.0; ignored
    *("log_interval", "verbose", "track"),
    *("eval_every", "eval_episodes", "eval_deterministic", "eval_max_episode_steps"),
)
"""Settings that may change, as they do not affect learning; settings from a preset are compared one by one."""
MACHINE = ("commit", "versions", "cores", "tensorflow_threads", "processor", "onednn")
"""Settings that say where a run was made."""
UNNAMED = ("seed", "command", LOST_REPLAY, CHANGED, *MACHINE, *FREE)
"""Settings that names of curves omit, so that the runs of a curve may differ in them."""


CHECK_SECONDS = 1.0
"""Least seconds between two checks of the folder and its lease."""
LONGEST_ID = 200
"""Most characters of an environment's id in the name of a folder."""


def default_run_folder(env_id: str) -> Path:
    """Makes runs/<env>-<date>-<time>, numbered if it exists, so that each process has its own folder.

    Raises:
        InputError: it cannot be made.
    """
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    name = f"{env_id.replace('/', '-')[:LONGEST_ID]}-{now}"
    while True:
        folder = free_path(Path("runs", name))
        with writing(folder, "folder"), contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder


@contextlib.contextmanager
def run_folder(folder: Path | None, env_id: str = "") -> Iterator["RunFolder"]:
    """Makes a folder for a run and locks it for this process; the block begins or resumes a run in it.

    If the block fails before it has written more than settings, a new folder is removed again.

    Args:
        folder: the folder, which need not exist; None makes one named after the environment.
        env_id: id of the environment.

    Raises:
        LockedError: another process is using the folder.
        InputError: the folder is the current one, or cannot be read or written.
    """
    if folder == Path():
        raise InputError(
            "logdir is the current folder, or empty; expected a folder of the run's own, such as runs/one."
        )
    is_new, folder = (True, default_run_folder(env_id)) if folder is None else (make_folder(folder), folder)
    with contextlib.ExitStack() as locks:
        try:
            yield RunFolder(folder, locks)
        except LockedError:  # the folder is another process's
            raise
        except (InputError, EnvironmentFailedError):
            # A mistake in the flags must not leave an empty folder behind, whose name the next command may want.
            if is_new and folder.is_dir() and {file.name for file in folder.iterdir()} <= {SETTINGS, *LOCK_FILES}:
                shutil.rmtree(folder)
            raise


@contextlib.contextmanager
def folder_kept(logdir: Path | None) -> Iterator[None]:
    """Checks that the block, which makes environments, does not change the working directory.

    Raises:
        InputError: it does, and the run's files would be written elsewhere.
    """
    before = os.getcwd()
    yield
    if (now := os.getcwd()) != before and not (logdir is not None and logdir.is_absolute()):
        os.chdir(before)
        raise InputError(
            f"the environment has changed the working directory to {now}, where the run would be written; give "
            f"--logdir as an absolute path, such as {Path(before, logdir or 'runs/one')}."
        )


class RunFolder:
    """A folder that this process has locked.

    Attributes:
        path: path of the folder.
    """

    def __init__(self, path: Path, locks: contextlib.ExitStack) -> None:
        """Locks the folder until the end of `locks`."""
        self.path = path
        self._locks = locks
        self._settings = ""
        self._checked = 0.0
        self._lock()

    def begin(self, settings: Mapping[str, Any], restart_behavior: str) -> None:
        """Begins a run unless the folder holds one that can be resumed.

        A new run gets config.yml: the settings, the command line, the commit if known, versions and cores.

        Args:
            settings: plain values.
            restart_behavior: what to do with a folder that holds a run: `resume` continues it; `restart` keeps it under
                another name and begins anew; `overwrite` deletes it. A run that has published neither a checkpoint nor
                an agent cannot be resumed and is treated as with `restart`.

        Raises:
            InputError: the folder holds a run that cannot be resumed, or holds other runs or a link, or cannot be
                written.
        """
        folder = self.path
        with writing(folder, "folder"):
            _require_own(folder)
            if holds_run(folder) and restart_behavior == "overwrite":
                delete_run(folder)
            elif holds_run(folder) and (restart_behavior == "restart" or _has_nothing_to_resume(folder)):
                _set_aside(folder)
                self._lock()  # the old lock moved with the old folder
            check_links(folder)
            for name in (MODEL, BEST, SETTINGS, PROGRESS):
                delete_unfinished(folder / name)  # of a process that was killed
        made = {
            "command": path_text(shlex.join(command_line())),
            **({} if (known := commit()) is None else {"commit": known}),
        }
        self._settings = yaml.safe_dump({**settings, **made, **origin()}, sort_keys=False)
        if not holds_run(folder):
            with writing(folder, "folder"):
                self._write_settings()
        elif not _has_checkpoints(folder):
            raise InputError(
                f"{folder} holds a run without checkpoints; choose another folder (such as {free_path(folder)}), or "
                "--restart_behavior restart to keep it under another name."
            )

    def check(self) -> None:
        """Checks that this process may still write to the folder; does so once a second, so calls may be frequent.

        If the folder was moved or deleted, the run continues in a new one of the same name.

        Raises:
            SupersededError: another process has the folder now, or it holds another run, so nothing more may be
                written there.
        """
        if time.monotonic() - self._checked < CHECK_SECONDS:
            return
        self._lease.check()
        self._checked = time.monotonic()
        if is_still(self.path, self._identity):
            return
        # A copy also has this process's token; a new folder to which it has written since has no settings yet.
        if (self.path / SETTINGS).exists() and last_token(self.path) != self._lease.token:
            raise SupersededError(f"{self.path} holds another run now; nothing more is written there.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock()
            self._write_settings()
        except LockedError as error:
            raise SupersededError(f"{self.path} was moved or deleted, and {error}") from error
        except (InputError, OSError):
            return  # the next to write there reports the error
        say(f"{self.path} was moved or deleted; the run goes on in a new folder of that name.", is_error=True)

    def _lock(self) -> None:
        self._lease = self._locks.enter_context(locked(self.path))
        self._checked = time.monotonic()
        self._identity = self.path.stat()
        if sys.platform != "win32":
            descriptor = os.open(self.path, os.O_RDONLY)  # open, so that no other folder gets its number
            self._locks.callback(os.close, descriptor)

    def _write_settings(self) -> None:
        replace(self.path / SETTINGS, self._settings.encode())


def holds_run(folder: Path) -> bool:
    """Whether the folder holds a run with metrics, checkpoints or an agent, even a fetched one."""
    return any((folder / name).exists() for name in (PROGRESS, MODEL, BEST)) or _has_checkpoints(folder)


def _require_own(folder: Path) -> None:
    """Checks that a folder that does not hold a run has no runs below it: a new run would hide them from plots, and
    restarting it would move them.
    """
    if holds_run(folder):
        return
    below = itertools.chain(*(folder.glob(depth) for depth in ("*/", "*/*/", "*/*/*/")))  # as deep as results of sweeps
    if other := next(filter(_has_trained, below), None):
        raise InputError(
            f"{folder} holds other runs, such as {other.relative_to(folder)}; expected a folder of the run's own, such "
            f"as {free_path(folder / 'one')}."
        )


def _has_trained(folder: Path) -> bool:
    """Whether a folder holds a run, not only an agent; a folder that cannot be read does not count."""
    try:
        return (folder / PROGRESS).exists() or _has_checkpoints(folder)
    except OSError:
        return False


def _has_checkpoints(folder: Path) -> bool:
    return any((folder / CHECKPOINTS).glob("step-*"))


def _has_nothing_to_resume(folder: Path) -> bool:
    """Whether the run in the folder has published neither a checkpoint nor an agent, for instance on a full disk."""
    return not _has_checkpoints(folder) and not (folder / MODEL).exists()


def _set_aside(folder: Path) -> None:
    """Renames a folder and makes a new one in its place."""
    kept = free_path(folder.with_name(f"{folder.name}-old"))
    folder.rename(kept)
    folder.mkdir()
    say(f"the run that was in {folder} is in {kept} now.")


def read_settings(folder: Path) -> dict[str, Any] | None:
    """Reads the settings of a run; returns None if the folder has none.

    Raises:
        InputError: the file cannot be read, or does not hold names and values.
    """
    path = folder / SETTINGS
    return parse_settings(str(path), read_bounded(path, LARGEST)) if path.is_file() else None


def note_lost_replay(folder: Path, step: int) -> None:
    """Adds an agent step to `LOST_REPLAY` in the settings of a run; does nothing if they cannot be read or written."""
    _note(folder, LOST_REPLAY, step)


def note_changed(folder: Path, step: int, changed: Mapping[str, tuple[Any, Any]]) -> None:
    """Notes settings that change during a run in its config.yml, if that can be read and written.

    Args:
        folder: run folder.
        step: agent step from which the new values apply.
        changed: old and new values by name.
    """
    old, new = ({name: values[i] for name, values in changed.items()} for i in range(2))
    _note(folder, CHANGED, {"until": step, **old}, **new)


def _note(folder: Path, name: str, entry: object, **settings: Any) -> None:
    """Adds an entry, once, to a list in the settings of a run, and replaces other settings."""
    with contextlib.suppress(InputError, OSError):
        old = read_settings(folder) or {}
        known = old.get(name)
        entries = [other for other in known if other != entry] if isinstance(known, list) else []
        new = {**old, **settings, name: [*entries, entry]}
        replace(folder / SETTINGS, yaml.safe_dump(new, sort_keys=False).encode())
