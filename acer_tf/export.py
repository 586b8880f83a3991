"""Exports the policy of an agent for use without this package: `python -m acer_tf.export RUN --onnx agent.onnx`."""

import dataclasses
import sys
from pathlib import Path
from typing import Literal

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.cli.trained import find_agent
from acer_tf.errors import InputError
from acer_tf.storage.durable import require_free
from acer_tf.storage.saved_agents import Choice
from acer_tf.system.console import say
from acer_tf.system.tensorflow_import import quiet_tensorflow

FORMATS: tuple[Literal["saved_model", "onnx", "tflite"], ...] = ("saved_model", "onnx", "tflite")


@dataclasses.dataclass(frozen=True)
class Export:
    """Exports the deterministic policy of an agent for use without this package."""

    run: Positional[Path]
    """Run folder, one of its checkpoints, a file written by ACER.save, or an agent that ships with this package."""
    checkpoint: Choice = "latest"
    """Which agent of the run folder: latest, best, or the checkpoint at this agent step."""
    saved_model: Path | None = None
    """Folder to write, for TensorFlow."""
    onnx: Path | None = None
    """File to write, for onnxruntime and others."""
    tflite: Path | None = None
    """File to write, for TFLite (LiteRT) on small devices."""

    def export(self) -> None:
        """Writes the files.

        Raises:
            InputError: there is no such agent, nothing to write, or a path exists or cannot be written.
        """
        given = {form: path for form in FORMATS if (path := getattr(self, form)) is not None}
        if not given:
            raise InputError("nothing to write; give --saved_model FOLDER, --onnx FILE or --tflite FILE.")
        if len(set(given.values())) < len(given):
            raise InputError("two formats have the same path; give each its own.")
        for form, path in given.items():
            require_free(path, may_be_empty=form == "saved_model")
        saved = find_agent(self.run, self.checkpoint)
        with quiet_tensorflow():
            from acer_tf.agent import ACER

        agent = ACER.load(saved)
        for form, path in given.items():
            agent.export(path, form)
            say(f"exported: {path}")


main = command("acer_tf.export", Export, Export.export)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
