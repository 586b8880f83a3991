"""The command `acer`, or `python -m acer_tf`: all commands of this package under one name."""

import importlib
import sys
from collections.abc import Sequence

from acer_tf import __version__
from acer_tf.errors import ExitStatus
from acer_tf.suggestions import suggestion
from acer_tf.system.console import keep_output_open, say
from acer_tf.system.interrupts import end_on_interrupt

COMMANDS = {
    "run": ("acer_tf.run", "Train on any gymnasium environment."),
    "run-atari": ("acer_tf.run_atari", "Train on an Atari game."),
    "evaluate": ("acer_tf.evaluate", "Play whole episodes with an agent; print their mean return."),
    "enjoy": ("acer_tf.enjoy", "Watch a trained agent, in a window or a video."),
    "plot": ("acer_tf.plot", "Draw learning curves of one or more runs."),
    "report": ("acer_tf.report", "Write one HTML page about one or more runs."),
    "sweep": ("acer_tf.sweep", "Train on several environments and seeds."),
    "reproduce": ("acer_tf.reproduce", "Reproduce published results; show what has been reproduced."),
    "convert": ("acer_tf.convert", "Convert an agent of Stable Baselines 2 or baselines."),
    "export": ("acer_tf.export", "Export a policy for TensorFlow, ONNX or TFLite."),
    "publish": ("acer_tf.publish", "Publish an agent on the Hugging Face Hub, or in a folder."),
    "fetch": ("acer_tf.fetch", "Fetch a published agent."),
    "compare-baselines": ("acer_tf.compare_baselines", "Compare this package's numbers with baselines'."),
    "presets": ("acer_tf.presets", "List presets, or show one."),
    "suggest": ("acer_tf.suggest", "Suggest a preset for an environment."),
    "doctor": ("acer_tf.doctor", "Report what matters about this machine and what is missing."),
    "envs": ("acer_tf.envs.__main__", "List environments to train on, and their presets."),
}
"""Module and description of each command; the module's `main` takes the words that follow and returns the status."""


def main() -> int:
    """Runs the command that the command line names; returns its exit status."""
    keep_output_open()
    end_on_interrupt()
    sys.path.append("")  # the current folder, where `module:id` finds a user's environment; `python -m` adds it itself
    name, *words = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help", "help"):
        say(overview())
        return 0
    if name in ("-V", "--version", "version"):
        say(f"acer_tf {__version__}")
        return 0
    return run(name.replace("_", "-"), words)


def run(name: str, words: Sequence[str]) -> int:
    """Imports and runs one command.

    Args:
        name: its name in `COMMANDS`; any other is bad input.
        words: the words after it.
    """
    if name not in COMMANDS:
        otherwise = suggestion(name, COMMANDS, "acer --help lists them")
        say(f"error: '{name}' is not a command{otherwise}.", is_error=True)
        return ExitStatus.BAD_INPUT
    module, _ = COMMANDS[name]
    status: int = importlib.import_module(module).main(words)
    return status


def overview() -> str:
    """Returns the help: a line for each command."""
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:{width}}{description}" for name, (_, description) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: acer COMMAND ...",
            "",
            "ACER for TensorFlow 2 and Keras 3.",
            "",
            *lines,
            "",
            "acer COMMAND --help shows its flags, acer --version the version.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
