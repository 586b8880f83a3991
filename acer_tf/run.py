"""Trains on any gymnasium environment: `python -m acer_tf.run --env CartPole-v1 --num_layers=1`."""

import dataclasses
import sys
from collections.abc import Sequence
from typing import Annotated, ClassVar

from acer_tf.commands.cli import guarded, one_of, parse_known
from acer_tf.commands.network_flags import flag_names, network_arguments
from acer_tf.commands.train import train
from acer_tf.commands.train_flags import Job, TrainFlags, given_preset
from acer_tf.config import CONTINUOUS, Continuous, ContinuousActions, require_positive
from acer_tf.configs.presets import with_preset
from acer_tf.envs.ids import typed_env_id
from acer_tf.errors import InputError

VALUE_NETWORKS = ("shared", "copy")


@dataclasses.dataclass(frozen=True)
class NetworkFlags:
    """Any flag that is not listed here goes to the network, for instance --num_layers=2 --num_hidden=64 for mlp."""

    title: ClassVar[str] = "network"
    network: str = "mlp"
    """Network: mlp, lstm, lnlstm, or for images cnn, cnn_small, cnn_minatar, impala_cnn, conv_only, cnn_lstm,
    cnn_lnlstm, impala_cnn_lstm."""
    value_network: Annotated[str, one_of(*VALUE_NETWORKS)] = "shared"
    """Whether the critic shares the policy's network, or has a copy of its own."""


@dataclasses.dataclass(frozen=True)
class SignalFlags:
    """Observations and rewards, in environments other than Atari games."""

    title: ClassVar[str] = "observation and reward"
    normalize_observations: bool = False
    """Whether observations are normalised by their running mean and variance."""
    normalize_rewards: bool = False
    """Whether the agent's rewards are divided by the running standard deviation of the discounted return."""
    reward_scale: float = 1.0
    """Factor on the rewards that the agent sees; recorded returns are without it."""


@dataclasses.dataclass(frozen=True)
class ContinuousFlags(ContinuousActions):
    """Continuous actions alone have these."""

    title: ClassVar[str] = "continuous action"


@dataclasses.dataclass(frozen=True)
class Run(ContinuousFlags, SignalFlags, NetworkFlags, TrainFlags):
    """Trains ACER on a gymnasium environment, with the defaults of baselines' learn().

    Any other flag goes to the network, for instance --num_layers=2 --num_hidden=64 --layer_norm=True for mlp.
    """


def read(argv: Sequence[str]) -> Job:
    """Reads the command line.

    Raises:
        InputError: a preset, a flag of the network or a value that cannot work.
        SystemExit: as `parse`.
    """
    preset = given_preset(argv)
    defaults = with_preset(Run(), preset)
    flags, rest = parse_known("acer_tf.run", Run, argv, defaults)
    if flags.env != defaults.env:  # it was typed; that of a preset's file imports nothing
        flags = dataclasses.replace(flags, env=typed_env_id(flags.env))
    if flags.value_network not in VALUE_NETWORKS:
        raise InputError(f"value_network is '{flags.value_network}'; expected {' or '.join(VALUE_NETWORKS)}.")
    require_positive("reward_scale", flags.reward_scale)
    network_kwargs = {"value_network": flags.value_network, **network_arguments(rest, flag_names(Run))}
    if flags.network == defaults.network:
        network_kwargs = {**preset.network_kwargs, **network_kwargs}
    wrappers = {name: getattr(flags, name) for name in ("normalize_observations", "normalize_rewards", "reward_scale")}
    return Job(
        flags,
        flags.network,
        network_kwargs,
        wrappers,
        Continuous(**{name: getattr(flags, name) for name in vars(CONTINUOUS)}),
    )


main = guarded(lambda argv: train(read(argv)))

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
