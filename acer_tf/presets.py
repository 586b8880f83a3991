"""Lists the presets, or shows one: `acer presets`, `acer presets Acrobot-v1`."""

import dataclasses
import re
import shlex
import sys

from acer_tf.cli.command import command
from acer_tf.cli.output import print_table
from acer_tf.cli.parsing import Positional
from acer_tf.configs.presets import load_preset, preset_names, preset_text
from acer_tf.envs.ids import is_atari
from acer_tf.system.command_line import program
from acer_tf.system.console import say


@dataclasses.dataclass(frozen=True)
class ListPresets:
    """Lists the presets that ship with this package, with their environments and sources, or shows one of them."""

    name: Positional[str | None] = None
    """The preset to show, or your own file, ending in .yml."""

    def show(self) -> None:
        """Prints the table, or one preset's file and the command that trains with it.

        Raises:
            InputError: there is no such preset, or a value in it cannot work.
        """
        if self.name is None:
            rows = [(name, *_environment_and_network(name), description(name)) for name in preset_names()]
            print_table(("preset", "environment", "network", "what it is"), rows)
            return
        env, _ = _environment_and_network(self.name)
        command = program("acer_tf.run_atari" if is_atari(env) else "acer_tf.run")
        say(f"{command} --preset {shlex.quote(self.name)}\n\n{preset_text(self.name).strip()}")


def description(name: str) -> str:
    """Returns the first sentence of the comment at the top of a preset's file."""
    lines = preset_text(name).splitlines()
    length = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    comment = " ".join(line.removeprefix("#").strip() for line in lines[:length])
    return re.split(r"; |(?<!et al)\. |\.$", comment)[0]


def _environment_and_network(name: str) -> tuple[str, str]:
    settings = load_preset(name).command
    return str(settings.get("env", "any")), str(settings.get("network", "any"))


main = command("acer_tf.presets", ListPresets, ListPresets.show)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
