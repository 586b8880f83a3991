"""Trains on any gymnasium environment: `python -m acer_tf.run --env CartPole-v1 --num_layers=1`."""

import dataclasses
import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from acer_tf.cli.command import guarded
from acer_tf.cli.network_flags import network_arguments
from acer_tf.cli.parsing import Parser, flag_names
from acer_tf.config import CONTINUOUS, Continuous, ContinuousActions
from acer_tf.configs.presets import (
    BASELINES,
    Preset,
    load_preset,
    preset_for_continuous_actions,
    presets_of,
    with_preset,
)
from acer_tf.schema import Positive, validated
from acer_tf.training.job import Job, TrainFlags, given_preset, run_job


@dataclasses.dataclass(frozen=True)
class NetworkFlags:
    """Any flag that is not listed here goes to the network, for instance --num_layers=2 --num_hidden=64 for mlp."""

    network: str = "mlp"
    """mlp, cnn, cnn_a3c, cnn_small, cnn_minatar, impala_cnn, conv_only, lstm, lnlstm, cnn_lstm, cnn_lnlstm,
    impala_cnn_lstm, or a policy of Stable Baselines, such as MlpLstmPolicy."""
    value_network: Literal["shared", "copy"] = "shared"
    """Whether the critic shares the policy's network, or has a copy of its own."""


@dataclasses.dataclass(frozen=True)
class GymnasiumFlags:
    """Environments other than Atari games."""

    env_kwargs: Mapping[str, Any] | None = None
    """Arguments of the environment, such as gravity:5.0 enable_wind:true, or a mapping '{gravity: 5.0}'."""
    vectorization: Literal["sync", "async"] = "sync"
    """Step environments in this process (sync), or each in its own (async): for steps of a millisecond or more."""
    normalize_observations: bool = False
    """Whether observations are normalised by their running mean and variance."""
    normalize_rewards: bool = False
    """Whether the agent's rewards are divided by the running standard deviation of the discounted return."""
    reward_scale: float = 1.0
    """Factor on the rewards that the agent sees; recorded returns are without it."""


@dataclasses.dataclass(frozen=True)
class ContinuousFlags(ContinuousActions):
    """Continuous actions alone have these."""


@dataclasses.dataclass(frozen=True)
class Run(ContinuousFlags, GymnasiumFlags, NetworkFlags, TrainFlags):
    """Trains ACER on a gymnasium environment, with the defaults of baselines' learn().

    Any other flag goes to the network, for instance --num_layers=2 --num_hidden=64 --layer_norm=True for mlp.
    """


PARSER = Parser("acer_tf.run", inspect.getdoc(Run) or "", [Run], takes_others=True)


def read(argv: Sequence[str]) -> Job:
    """Reads the command line.

    Without a preset the settings are baselines', and for continuous actions those of `preset_for_continuous_actions`.

    Raises:
        InputError: a preset, a flag of the network or a value that cannot work.
        SystemExit: as `parse`.
    """
    given, rest = PARSER.read(
        argv, lambda given: vars(with_preset(Run(), given_preset(given) or load_preset(BASELINES)))
    )
    if preset := given_preset(given):
        return _job(given, rest, preset)
    job = _advised(_job(given, rest, load_preset(BASELINES)))
    return job._replace(if_continuous=lambda: _advised(_job(given, rest, preset_for_continuous_actions())))


def _advised(job: Job) -> Job:
    lines = []
    if job.flags.preset != BASELINES:
        lines.append(f"continuous actions: settings of preset {job.flags.preset} (--preset {BASELINES} for baselines')")
    if (names := presets_of(job.flags.env)) and names[0] != job.flags.preset:
        lines.append(f"there are settings for {job.flags.env}: --preset {names[0]}")
    return job._replace(advice=lines)


def _job(given: Mapping[str, Any], rest: Sequence[str], preset: Preset) -> Job:
    defaults = with_preset(Run(), preset)
    flags = dataclasses.replace(defaults, **given)
    validated("reward_scale", flags.reward_scale, Positive)
    arguments = network_arguments(rest, flag_names(Run), flags.network)
    network_kwargs = {"value_network": flags.value_network, **arguments}
    if flags.network == defaults.network:
        network_kwargs = {**preset.network_kwargs, **network_kwargs}
    wrappers = {field.name: getattr(flags, field.name) for field in dataclasses.fields(GymnasiumFlags)}
    continuous = Continuous(**{name: getattr(flags, name) for name in vars(CONTINUOUS)})
    from acer_tf.envs.ids import check_env_id, typed_env_id  # imports gymnasium: after the flags are known to be right

    if ":" in flags.env and flags.env != defaults.env:  # it was typed; that of a preset's file imports nothing
        flags = dataclasses.replace(flags, env=typed_env_id(flags.env))
    check_env_id(flags.env)
    return Job(flags, flags.network, network_kwargs, wrappers, continuous)


main = guarded(lambda argv: run_job(read(argv)))

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
