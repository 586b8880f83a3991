"""Whether a run may go on with the settings that it is given now."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from acer_tf.config import Config
from acer_tf.errors import InputError
from acer_tf.storage.checkpoint import manifests, read_manifest
from acer_tf.storage.checkpoints import Checkpoints

FREE = ("preset", "logdir", "load_path", "num_workers", "threads", "log_interval", "stall_seconds")
"""Settings that do not change what is learned from here on; what a preset stands for is among the others."""
CHECKPOINT_SETTINGS = ("checkpoint_every", "exact_resume", "keep_checkpoints", "keep_every")
NEVER = ("nsteps", "buffer_size", "compress_replay", "trust_region", "optimizer")
"""Hyper-parameters that the saved state, or the columns of progress.csv, do not fit if they change."""


def resumed_settings(checkpoints: Checkpoints, settings: Mapping[str, Any], is_forced: bool) -> dict[str, Any]:
    """Compares the settings with those of the run that is there, if one is, and returns what it has drawn: its seed.

    Raises:
        InputError: other settings, which cannot change, or only if that is forced.
    """
    started, settings = _settings_of_newest(checkpoints), json.loads(json.dumps(settings))
    if started is None:
        return {}
    if settings["seed"] is None:
        settings = {**settings, "seed": started["seed"]}
    differing = {k: v for k, v in differences(started, settings).items() if k not in (*FREE, *CHECKPOINT_SETTINGS)}
    changeable = vars(Config()).keys() - {*NEVER}
    if fixed := {name: values for name, values in differing.items() if name not in changeable}:
        raise InputError(f"the run in {checkpoints.folder.parent} has {describe(fixed)}; that cannot change.")
    if differing and not is_forced:
        raise InputError(
            f"the run in {checkpoints.folder.parent} has {describe(differing)}; give the same, or --force to change."
        )
    if differing:
        print(f"changed: {describe(differing)}", file=sys.stderr)
    return {"seed": settings["seed"]}


def _settings_of_newest(checkpoints: Checkpoints) -> dict[str, Any] | None:
    for path in manifests(checkpoints.folder):
        try:
            return read_manifest(path).settings
        except InputError:
            continue  # `Checkpointer.begin` says what is wrong with it
    return None


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Returns old and new value of every field that differs."""
    names = sorted(old.keys() | new.keys())
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def describe(differing: Mapping[str, tuple[Any, Any]]) -> str:
    """Says what differs, in words."""
    return ", ".join(f"{name} {old} (now {new})" for name, (old, new) in differing.items())
