"""Trains on an Atari game: `python -m acer_tf.run_atari --env BreakoutNoFrameskip-v4`."""

import dataclasses
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from acer_tf.cli.command import guarded
from acer_tf.cli.parsing import Parser
from acer_tf.configs.presets import chosen_preset, with_preset
from acer_tf.errors import InputError
from acer_tf.system.command_line import program
from acer_tf.training.job import GROUPS, Job

RECURRENT_POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "lstm": ("cnn_lstm", {"nlstm": 256}),
    "lnlstm": ("cnn_lnlstm", {"nlstm": 256}),
}


@dataclasses.dataclass(frozen=True)
class NetworkFlags:
    """The network."""

    policy: str = "cnn"
    """Policy of Stable Baselines: cnn, lstm (cnn_lstm with 256 units) or lnlstm (cnn_lnlstm); or any network's name."""


PARSER = Parser(
    "acer_tf.run_atari",
    "Trains ACER on an Atari game, with the defaults of baselines' acer.run_atari.",
    [*(kind for name, kind in GROUPS.items() if name not in ("gymnasium", "continuous")), NetworkFlags],
)
OWN_DEFAULTS = {
    **PARSER.defaults,
    "env": "BreakoutNoFrameskip-v4",
    "num_env": 16,
    "seed": 0,
    "total_timesteps": int(10e6),
    "lrschedule": "constant",
}


def read(argv: Sequence[str]) -> Job:
    """Reads the command line.

    Raises:
        InputError: the preset does not exist or does not fit, or the environment is not an Atari game.
        SystemExit: status 0 after printing the help.
    """
    given, _ = PARSER.read(argv, lambda given: with_preset(OWN_DEFAULTS, chosen_preset(given)))
    preset = chosen_preset(given)
    defaults = with_preset(OWN_DEFAULTS, preset)
    settings = {**defaults, **given}
    # What imports gymnasium comes after the flags are known to be right.
    from acer_tf.envs.ids import check_env_id, full_env_id, is_atari

    settings["env"] = env_id = full_env_id(settings["env"])
    policy = settings["policy"]
    if ":" not in env_id:  # only the other command imports modules
        check_env_id(env_id)
    if not is_atari(env_id):
        words = [f"--{name}={settings[name]}" for name in ("preset", "env") if name in given]
        raise InputError(
            f"environment '{env_id}' is not an Atari game; train on it with: "
            f"{program('acer_tf.run')} {shlex.join(words)}"
        )
    network_kwargs = preset.network_kwargs if policy == defaults["policy"] else {}
    return Job.of(settings, *RECURRENT_POLICIES.get(policy, (policy, network_kwargs)))


@guarded
def main(argv: Sequence[str]) -> int:
    """Trains as the command line says; returns the exit status."""
    job = read(argv)
    from acer_tf.training.run import train  # imported only now: not for a misspelt flag

    return train(job)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
