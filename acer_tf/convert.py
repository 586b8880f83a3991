"""Converts agents of Stable Baselines 2 and OpenAI baselines: `python -m acer_tf.convert old_agent.pkl agent.zip`."""

import dataclasses
import sys
from pathlib import Path

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.envs.ids import typed_env_id
from acer_tf.errors import InputError
from acer_tf.importers.normalization import has_normalization, read_normalization
from acer_tf.importers.stable_baselines import is_stable_baselines
from acer_tf.storage.agent_file import with_suffix
from acer_tf.storage.durable import reading, require_free, writing
from acer_tf.system.console import say
from acer_tf.system.tensorflow_import import quiet_tensorflow

ENDINGS = (".zip", ".pkl")
"""Endings of files of Stable Baselines."""


@dataclasses.dataclass(frozen=True)
class Convert:
    """Converts an agent saved by Stable Baselines 2 or baselines, without executing anything in its file."""

    old: Positional[Path]
    """File written by Stable Baselines 2 (.zip, or the older .pkl; the ending may be left out) or baselines."""
    new: Positional[Path]
    """File to write, for ACER.load; it must not exist, and gets the suffix .zip if it has none."""
    env: str | None = None
    """Id (or module:id) of the agent's environment, from which the new agent takes the bounds of its spaces; required
    if OLD does not determine the size of images."""
    statistics: Path | None = None
    """Normalisation of an agent of Stable Baselines: the file written by VecNormalize.save (vecnormalize.pkl), or the
    folder with obs_rms.pkl and ret_rms.pkl of older versions."""

    def convert(self) -> None:
        """Reads the old agent and writes the new file.

        Raises:
            InputError: the old file cannot be converted, a flag has a value that cannot work, or the new file exists.
        """
        new = with_suffix(self.new)
        require_free(new)
        old = _with_ending(self.old)
        is_newer = is_stable_baselines(old)
        if self.statistics is not None and not is_newer:
            raise InputError("--statistics is for agents of Stable Baselines; this one is of baselines.")
        if self.statistics is not None:
            read_normalization(self.statistics)  # refused now, before TensorFlow is imported
        env = None if self.env is None else typed_env_id(self.env)
        with quiet_tensorflow():  # which takes seconds
            from acer_tf.agent import ACER

        if is_newer:
            agent = ACER.import_stable_baselines(old, env, statistics=self.statistics)
        else:
            agent = ACER.import_baselines(old, env)
        with writing(new):
            agent.save(new)
        say(f"converted: {new}")
        if is_newer and self.statistics is None and has_normalization(beside := old.with_suffix("")):
            say(f"{beside} holds normalisation that the new agent lacks; add it with --statistics {beside}")


def _with_ending(path: Path) -> Path:
    """Returns the path of a file, with the ending added if it was left out, as Stable Baselines' `load` allows."""
    with reading(path):
        return next((full for ending in ("", *ENDINGS) if (full := Path(f"{path}{ending}")).exists()), path)


main = command("acer_tf.convert", Convert, Convert.convert)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
