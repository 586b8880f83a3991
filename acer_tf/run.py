"""Trains on any gymnasium environment: `python -m acer_tf.run --env CartPole-v1 --num_layers=1`."""

import contextlib
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from acer_tf.cli.command import guarded
from acer_tf.cli.network_flags import network_arguments
from acer_tf.cli.parsing import Parser
from acer_tf.configs.presets import (
    BASELINES,
    Preset,
    chosen_preset,
    preset_for_continuous_actions,
    presets_of,
    with_preset,
)
from acer_tf.envs.closing import close_quietly
from acer_tf.envs.module_ids import module_refused
from acer_tf.errors import InputError
from acer_tf.storage.run_folder import folder_kept
from acer_tf.training.job import GROUPS, Job, MachineSettings
from acer_tf.training.watchdog import watchdog

if TYPE_CHECKING:
    import gymnasium

    Env = gymnasium.Env[Any, Any]


@dataclasses.dataclass(frozen=True)
class NetworkFlags:
    """Flags that are not listed here are passed to the network, for instance --num_layers=2 --num_hidden=64 for mlp."""

    network: str = "mlp"
    """mlp, cnn, cnn_a3c, cnn_small, cnn_minatar, impala_cnn, conv_only, lstm, lnlstm, cnn_lstm, cnn_lnlstm,
    impala_cnn_lstm, or a policy of Stable Baselines, such as MlpLstmPolicy."""
    value_network: Literal["shared", "copy"] = "shared"
    """Whether the critic shares the policy's network or has a copy of its own."""


PARSER = Parser(
    "acer_tf.run",
    "Trains ACER on a gymnasium environment, with the defaults of baselines' learn(); continuous actions, which "
    "baselines does not have, get the settings of the preset HalfCheetah-v5.",
    [*GROUPS.values(), NetworkFlags],
    takes_others=True,
)
OWN_DEFAULTS = {**PARSER.defaults, "total_timesteps": int(1e6)}


def prepare(argv: Sequence[str]) -> tuple[Job, "Env | None"]:
    """Reads the command line.

    Without a preset, the kind of actions decides: settings are baselines', or for continuous actions those of
    `preset_for_continuous_actions`.

    Returns:
        The training run, and the environment that was made to look at its actions, for use in training, or None.

    Raises:
        InputError: a preset, a flag of the network or a value cannot work.
        EnvironmentFailedError: the environment raised an error while it was made.
        SystemExit: status 0 after printing the help.
    """
    given, rest = PARSER.read(argv, lambda given: with_preset(OWN_DEFAULTS, chosen_preset(given)))
    preset = chosen_preset(given)
    settings = {**with_preset(OWN_DEFAULTS, preset), **given}
    arguments = network_arguments(rest, PARSER.names, settings["network"])
    # What imports gymnasium comes after the flags are known to be right.
    from gymnasium.spaces import Box

    from acer_tf.envs.ids import check_env_id, is_atari, typed_env_id
    from acer_tf.envs.make import make_env

    env_id = settings["env"]
    if "env" in given:  # typed by the user; an id in a preset's file never imports anything
        env_id = typed_env_id(env_id)
        module, colon, _ = given["env"].rpartition(":")
        given["env"] = f"{module}{colon}{env_id}"
    elif ":" in env_id:
        raise InputError(module_refused(f"preset {preset.name}", env_id))
    check_env_id(env_id)
    if "preset" in given:
        return _job(given, arguments, preset), None
    machine = MachineSettings(stall_seconds=settings["stall_seconds"])
    # Even making an environment may hang.
    with watchdog(machine.stall_seconds), folder_kept(settings["logdir"]):
        first = None if is_atari(env_id) else make_env(env_id, settings["env_kwargs"])
    with contextlib.ExitStack() as unused:
        if first is not None:
            unused.callback(close_quietly, first)
            if isinstance(first.action_space, Box):
                preset = preset_for_continuous_actions()
        job = _job(given, arguments, preset, _advice(env_id, preset))
        unused.pop_all()
    return job, first


def read(argv: Sequence[str]) -> Job:
    """Reads the command line as `prepare` does, and leaves no environment open."""
    job, first = prepare(argv)
    if first is not None:
        close_quietly(first)
    return job


def _job(given: Mapping[str, Any], arguments: Mapping[str, Any], preset: Preset, advice: Sequence[str] = ()) -> Job:
    """Returns the run with these values of flags and arguments of the network, and the preset's for all others."""
    defaults = with_preset(OWN_DEFAULTS, preset)
    settings = {**defaults, **given}
    network_kwargs = {"value_network": settings["value_network"], **arguments}
    if settings["network"] == defaults["network"]:
        network_kwargs = {**preset.network_kwargs, **network_kwargs}
    return Job.of(settings, settings["network"], network_kwargs, advice)


def _advice(env_id: str, preset: Preset) -> list[str]:
    lines = []
    if preset.name != BASELINES:
        lines.append(f"continuous actions: settings of preset {preset.name} (--preset {BASELINES} for baselines')")
    if (names := presets_of(env_id)) and names[0] != preset.name:
        lines.append(f"there are settings for {env_id}: --preset {names[0]}")
    return lines


@guarded
def main(argv: Sequence[str]) -> int:
    """Trains as the command line says; returns the exit status."""
    job, first = prepare(argv)
    from acer_tf.training.run import train  # imported only now: not for a misspelt flag

    return train(job, first)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
