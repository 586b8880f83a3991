"""Lists the installed environments that can be trained on: `acer envs`, `acer envs pendulum`."""

import dataclasses
import fnmatch
import sys
from collections import defaultdict

import gymnasium

from acer_tf.cli.command import command
from acer_tf.cli.output import print_table
from acer_tf.cli.parsing import Positional
from acer_tf.configs.presets import load_preset, preset_names
from acer_tf.envs.ids import SUITE, accepted_ids, is_atari, register_suite
from acer_tf.errors import InputError, is_installed
from acer_tf.suggestions import suggestion

KINDS = {
    "gymnasium.envs.classic_control": ("classic control", None),
    "gymnasium.envs.toy_text": ("toy text", None),
    "gymnasium.envs.box2d": ("Box2D", "Box2D"),
    "gymnasium.envs.mujoco": ("MuJoCo", "mujoco"),
    "gymnasium.envs.phys2d": ("phys2d", "jax"),
    "gymnasium.envs.tabular": ("tabular", "jax"),
    "acer_tf.envs.registered:MinAtar": ("MinAtar", "minatar"),
    "acer_tf.envs.registered:masked_cartpole": ("memory", None),
}
"""The kind of environment, and the module that it needs, by the beginning of the entry point."""


@dataclasses.dataclass(frozen=True)
class ListEnvs:
    """Lists the installed environments that can be trained on, and the presets for them.

    Any other environment known to gymnasium can also be trained on if its spaces suit; see docs/environments.md.
    """

    pattern: Positional[str] = "*"
    """Part of an id, or a pattern such as "*Pendulum*"; dm_control lists DeepMind's control suite."""

    def show(self) -> None:
        """Prints the table.

        Raises:
            InputError: no id matches; the message names the nearest ids.
        """
        if self.pattern.lower().startswith(SUITE.rstrip("/")):
            register_suite(self.pattern)
        kinds = {env_id: kind for env_id in accepted_ids() if (kind := kind_of(env_id)) is not None}
        pattern = self.pattern if any(c in self.pattern for c in "*?[") else f"*{self.pattern}*"
        found = [env_id for env_id in kinds if fnmatch.fnmatch(env_id.lower(), pattern.lower())]
        if not found:
            raise InputError(
                f"no environment matches '{self.pattern}'{suggestion(self.pattern, kinds, '`acer envs` lists all')}."
            )
        found.sort(key=lambda env_id: (kinds[env_id], env_id))
        presets = defaultdict(list)
        for name in preset_names():
            presets[load_preset(name).command.get("env")].append(name)
        print_table(("environment", "kind", "presets"), [(i, kinds[i], ", ".join(presets[i])) for i in found])


def kind_of(env_id: str) -> str | None:
    """Returns the kind of environment of an accepted id; None if a package that it needs is not installed."""
    if is_atari(env_id):
        return "Atari"
    if env_id.startswith(SUITE):
        return "control suite"
    entry_point = gymnasium.registry[env_id].entry_point
    place = entry_point.__module__ if callable(entry_point) else str(entry_point)
    for prefix, (kind, module) in KINDS.items():
        if place.startswith(prefix):
            return kind if module is None or is_installed(module) else None
    return None


main = command("acer_tf.envs", ListEnvs, ListEnvs.show)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
