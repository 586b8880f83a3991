"""Compares a command's settings with those of the run that it resumes: some may change, others must not."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from acer_tf.config import Config
from acer_tf.envs.module_ids import bare_env_id
from acer_tf.errors import InputError
from acer_tf.networks.names import default_arguments
from acer_tf.storage.checkpoint import Checkpoint, OtherFormatError, checkpoint_folders, read_manifest
from acer_tf.storage.run_files import CHECKPOINTS
from acer_tf.storage.run_folder import FREE
from acer_tf.training.job import DEFAULTS

FREE_COLLECTING = ("actors", "publish_every", "actor_depth", "max_staleness")
"""Settings that may change although they affect learning, as a run continues with the machines that there are."""
FIXED = (
    *("nsteps", "buffer_size", "compress_replay", "replay_state", "bootstrap_truncated", "action_masks"),
    *("trust_region", "optimizer"),
)
"""Hyper-parameters that must never change, as the saved state or the columns of replay or progress.csv depend on
them."""
ANEW = "choose another logdir, or --restart_behavior restart to keep that run under another name"


class Compared(NamedTuple):
    """A run that may be resumed.

    Attributes:
        step: agent step of the newest checkpoint.
        seed: seed of the run.
        changed: old and new values of the settings that change, by name.
    """

    step: int
    seed: int
    changed: Mapping[str, tuple[Any, Any]]


def compared(run: Path, settings: Mapping[str, Any], is_forced: bool, elsewhere: str = ANEW) -> Compared | None:
    """Compares settings with those of the newest checkpoint.

    Args:
        run: run folder.
        settings: plain values; a seed of None accepts the run's.
        is_forced: whether hyper-parameters other than `FIXED` may change.
        elsewhere: advice for settings that cannot change, in messages.

    Returns:
        The comparison, or None without a checkpoint, when every setting is accepted.

    Raises:
        OtherFormatError: another version of this package wrote a checkpoint.
        InputError: settings have changed that must never change, or only if forced.
    """
    newest = _newest_checkpoint(run / CHECKPOINTS)
    if newest is None:
        return None
    started = newest.settings
    # Settings that the run's version did not have behaved like today's defaults.
    started = {name: value for name, value in DEFAULTS.items() if name in settings} | started
    own = default_arguments(started["network"]) if started["network"] == settings["network"] else {}
    started, settings = (_comparable({**own, **values}) for values in (started, settings))
    if settings["seed"] is None:
        settings = {**settings, "seed": started["seed"]}
    changed = {
        name: values for name, values in differences(started, settings).items() if name not in (*FREE, *FREE_COLLECTING)
    }
    changeable = vars(Config()).keys() - FIXED  # network, environment and their number never change
    # Not even by force, as the saved state would not fit.
    if fixed := {name: values for name, values in changed.items() if name not in changeable}:
        raise InputError(f"the run in {run} has {describe(fixed)}, which cannot change; {elsewhere}.")
    if changed and not is_forced:
        raise InputError(f"the run in {run} has {describe(changed)}; give the same, or --force to change.")
    return Compared(newest.step, settings["seed"], changed)


def resuming(words: Sequence[str]) -> list[str]:
    """Returns a command changed so that it resumes: if repeated, `overwrite` would delete the run."""
    is_told = "--restart_behavior" in " ".join(words).replace("restart-behavior", "restart_behavior")
    return [*words, *(["--restart_behavior", "resume"] if is_told else [])]  # the last one counts


def _comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings as in JSON, with lists for tuples, and without the environment's module."""
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain | {"env": bare_env_id(plain["env"])}


def _newest_checkpoint(checkpoints: Path) -> Checkpoint | None:
    for path in checkpoint_folders(checkpoints):
        try:
            return read_manifest(path)
        except OtherFormatError:
            raise
        except InputError:
            continue  # `Checkpointer.begin` reports the damage
    return None


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Returns the old and new value of every entry that differs, by name."""
    names = sorted(old.keys() | new.keys())
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def describe(changed: Mapping[str, tuple[Any, Any]]) -> str:
    """Returns differences as text, such as `gamma 0.99 (now 0.9)`."""
    return ", ".join(f"{name} {old} (now {new})" for name, (old, new) in changed.items())
