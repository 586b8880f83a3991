"""Converts agents of dead libraries: `python -m acer_tf.convert old_agent.pkl agent.zip`."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from acer_tf.commands.cli import guarded, parse
from acer_tf.envs.ids import typed_env_id
from acer_tf.errors import InputError
from acer_tf.importers.kinds import is_of_stable_baselines
from acer_tf.storage.agent_file import with_suffix


@dataclasses.dataclass(frozen=True)
class Convert:
    """Makes an agent of this package of one that Stable Baselines 2 or baselines saved; nothing in its file is run."""

    old: tyro.conf.Positional[Path]
    """File of Stable Baselines 2 (.zip, or the older .pkl) or of baselines."""
    new: tyro.conf.Positional[Path]
    """File to write, for ACER.load; gets the ending .zip if it has none, and must not exist."""
    env: str | None = None
    """Id (or module:id) of the agent's environment, whose bounds are taken over; needed where OLD does not tell the
    size of images."""
    statistics: Path | None = None
    """Folder with obs_rms.pkl and ret_rms.pkl, by which an agent of Stable Baselines normalises."""

    def convert(self) -> None:
        """Writes the new file.

        Raises:
            InputError: the old file or a flag cannot work, or there is a new file already.
        """
        new = with_suffix(self.new)
        if new.exists():
            raise InputError(f"{new} exists already; choose another name for the new agent.")
        is_newer = is_of_stable_baselines(self.old)
        if self.statistics is not None and not is_newer:
            raise InputError("--statistics are of Stable Baselines, but the agent is of baselines.")
        env = None if self.env is None else typed_env_id(self.env)
        from acer_tf.agent import ACER  # TensorFlow takes seconds

        if is_newer:
            agent = ACER.import_stable_baselines(self.old, env, statistics=self.statistics)
        else:
            agent = ACER.import_baselines(self.old, env)
        try:
            agent.save(new)
        except OSError as error:
            raise InputError(f"{new} cannot be written ({error.strerror}); choose another file.") from error
        print(f"converted: {new}")


@guarded
def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    parse("acer_tf.convert", Convert, argv).convert()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
