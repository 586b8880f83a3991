"""Trains on an Atari game: `python -m acer_tf.run_atari --env BreakoutNoFrameskip-v4`."""

import dataclasses
import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from acer_tf.cli.command import guarded
from acer_tf.cli.parsing import Parser
from acer_tf.configs.presets import BASELINES, Preset, load_preset, with_preset
from acer_tf.errors import InputError
from acer_tf.maths.schedules import ScheduleName
from acer_tf.system.command_line import program
from acer_tf.training.job import Job, TrainFlags, given_preset, run_job

RECURRENT_POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "lstm": ("cnn_lstm", {"nlstm": 256}),
    "lnlstm": ("cnn_lnlstm", {"nlstm": 256}),
}


@dataclasses.dataclass(frozen=True)
class PolicyFlags:
    """The network."""

    policy: str = "cnn"
    """Policy of Stable Baselines: cnn, lstm (cnn_lstm with 256 units) or lnlstm (cnn_lnlstm); or any network's name."""


@dataclasses.dataclass(frozen=True)
class RunAtari(PolicyFlags, TrainFlags):
    """Trains ACER on an Atari game, with the defaults of baselines' acer.run_atari."""

    env: str = "BreakoutNoFrameskip-v4"
    num_env: int = 16
    seed: int | None = 0
    total_timesteps: int = int(10e6)
    lrschedule: ScheduleName = "constant"


PARSER = Parser("acer_tf.run_atari", inspect.getdoc(RunAtari) or "", [RunAtari])


def _preset(given: Mapping[str, Any]) -> Preset:
    return given_preset(given) or load_preset(BASELINES)


def read(argv: Sequence[str]) -> Job:
    """Reads the command line.

    Raises:
        InputError: a preset that does not exist or does not fit, or an environment that is not an Atari game.
        SystemExit: as `parse`.
    """
    given, _ = PARSER.read(argv, lambda given: vars(with_preset(RunAtari(), _preset(given))))
    preset = _preset(given)
    defaults = with_preset(RunAtari(), preset)
    flags = dataclasses.replace(defaults, **given)
    from acer_tf.envs.ids import check_env_id, is_atari  # imports gymnasium: after the flags are known to be right

    check_env_id(flags.env)
    if not is_atari(flags.env):
        raise InputError(
            f"environment '{flags.env}' is not an Atari game; "
            f"train on it with: {program('acer_tf.run')} --env {flags.env}"
        )
    network_kwargs = preset.network_kwargs if flags.policy == defaults.policy else {}
    return Job(flags, *RECURRENT_POLICIES.get(flags.policy, (flags.policy, network_kwargs)))


main = guarded(lambda argv: run_job(read(argv)))

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
