"""Trains on any gymnasium environment: `python -m acer_tf.run --env CartPole-v1 --num_layers=1`."""

import dataclasses
import sys
from collections.abc import Sequence

from acer_tf.commands.cli import guarded, parse_known
from acer_tf.commands.network_flags import flag_names, network_arguments
from acer_tf.commands.train import train
from acer_tf.commands.train_flags import Job, TrainFlags, given_preset
from acer_tf.config import Continuous, ContinuousActions, require_positive
from acer_tf.configs.presets import with_preset
from acer_tf.envs.ids import typed_env_id
from acer_tf.errors import InputError

CONTINUOUS_ACTIONS = ContinuousActions()


@dataclasses.dataclass(frozen=True)
class Run(TrainFlags):
    """Trains ACER on a gymnasium environment, with the defaults of baselines' learn().

    Any other flag goes to the network, for instance --num_layers=2 --num_hidden=64 --layer_norm=True for mlp.
    """

    env: str = "CartPole-v1"
    """Environment id, with discrete or continuous actions; module:id if importing a module registers it."""
    network: str = "mlp"
    """Network: mlp, lstm, lnlstm, or for images cnn, cnn_small, cnn_minatar, impala_cnn, conv_only, cnn_lstm,
    cnn_lnlstm, impala_cnn_lstm."""
    value_network: str = "shared"
    """Whether the critic shares the policy's network (shared) or has a copy of its own (copy)."""
    normalize_observations: bool = False
    """Whether observations are normalised by their running mean and variance."""
    normalize_rewards: bool = False
    """Whether the agent's rewards are divided by the running standard deviation of the discounted return."""
    reward_scale: float = 1.0
    """Factor on the rewards that the agent sees; recorded returns are without it."""
    continuous: ContinuousActions = CONTINUOUS_ACTIONS


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
    if flags.value_network not in ("shared", "copy"):
        raise InputError(f"value_network is '{flags.value_network}'; expected shared or copy.")
    require_positive("reward_scale", flags.reward_scale)
    network_kwargs = {"value_network": flags.value_network, **network_arguments(rest, flag_names(Run))}
    if flags.network == defaults.network:
        network_kwargs = {**preset.network_kwargs, **network_kwargs}
    wrappers = {name: getattr(flags, name) for name in ("normalize_observations", "normalize_rewards", "reward_scale")}
    return Job(flags, flags.network, network_kwargs, wrappers, Continuous(**vars(flags.continuous)))


main = guarded(lambda argv: train(read(argv)))

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
