"""Starts the collectors of an agent."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from acer_tf.config import Collecting, Config, Continuous
from acer_tf.distributed.collector import Blueprint
from acer_tf.distributed.fleet import RayFleet
from acer_tf.distributed.layout import Layout
from acer_tf.distributed.source import CollectorSource
from acer_tf.envs.adapt import AnyEnv
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.model import Model


def start_collectors(
    make_env: Callable[[], AnyEnv],
    env: FrameStack,
    model: Model,
    collecting: Collecting,
    seed: int,
    network: Any,
    network_kwargs: Mapping[str, Any],
    continuous: Continuous,
    reward_scale: float,
) -> CollectorSource:
    """Starts collectors, and returns the segments that they collect.

    Args:
        make_env: makes the environments of each collector.
        env: the same, made here; they are not stepped.
        model: the model that learns.
        collecting: how many collectors, where, and how they collect.
        seed: of the run.
        network: of the policy.
        network_kwargs: its arguments.
        continuous: settings that only Box actions have.
        reward_scale: factor on the rewards that the agent sees.

    Raises:
        InputError: there is no connection to Ray, or it has too few processors, or frames cannot be sent.
    """
    layout = Layout.of(env, model.config, continuous, model.policy.network.state_size)
    blueprint = Blueprint(make_env, network, network_kwargs, _for_acting(model.config), continuous, reward_scale)
    fleet = RayFleet(blueprint, collecting.actors, collecting.ray_address)
    return CollectorSource(fleet, layout, model, collecting, seed)


def _for_acting(config: Config) -> Config:
    """Returns the hyper-parameters without those that only the learner uses and that may be objects of its process."""
    return dataclasses.replace(config, optimizer=Config.optimizer, lrschedule=Config.lrschedule)
