"""`learn`, with baselines' arguments, and the functions that build its model and training loop."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import tensorflow as tf

from acer_tf.acer import RemoteSegments, TrainingLoop
from acer_tf.buffer import Buffer
from acer_tf.config import CONTINUOUS, Config, Continuous
from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.check import check_vec_env
from acer_tf.envs.wrap import stacked
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.logs.logger import Logger
from acer_tf.logs.terminal import TableSink
from acer_tf.model import Model
from acer_tf.networks.registry import Network
from acer_tf.policies.actor import Actor
from acer_tf.policies.make import make_policy
from acer_tf.replay.size import check_replay, compressed_row
from acer_tf.runner import Runner
from acer_tf.system.compute import bfloat16_slowdown
from acer_tf.system.console import say
from acer_tf.system.streams import checked_seed


# fmt: off
def learn(
    network: str | Network, env: gym.vector.VectorEnv, seed: int | None = None, nsteps: int = Config.nsteps,
    total_timesteps: int = Config.total_timesteps, q_coef: float = Config.q_coef, ent_coef: float = Config.ent_coef,
    max_grad_norm: float | None = Config.max_grad_norm,
    lr: float = Config.lr, lrschedule: str | Callable[[float], float] = Config.lrschedule,
    rprop_epsilon: float = Config.rprop_epsilon, rprop_alpha: float = Config.rprop_alpha, gamma: float = Config.gamma,
    log_interval: int = Config.log_interval, buffer_size: int = Config.buffer_size,
    replay_ratio: float = Config.replay_ratio, replay_start: int = Config.replay_start, c: float = Config.c,
    trust_region: bool = Config.trust_region, alpha: float = Config.alpha, delta: float = Config.delta,
    load_path: str | Path | None = None, *,
    # Beyond baselines:
    compress_replay: bool = Config.compress_replay, replay_state: str = Config.replay_state,
    burn_in: int = Config.burn_in, correction: bool = Config.correction, q_lambda: float | None = Config.q_lambda,
    on_policy_updates: bool = Config.on_policy_updates, optimizer: object = Config.optimizer,
    bootstrap_truncated: bool = Config.bootstrap_truncated, action_masks: bool = Config.action_masks,
    precision: str = Config.precision, overlap: bool = Config.overlap,
    continuous: Continuous = CONTINUOUS, logger: Logger | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    **network_kwargs: Any,
) -> Model:
    # fmt: on
    """Trains ACER, with the arguments and defaults of baselines' `acer.learn`.

    The arguments from `nsteps` to `delta` and from `compress_replay` to `overlap` are hyper-parameters, which `Config`
    documents under the same names.

    Small networks need few TensorFlow threads: the commands use two. Here the caller chooses, before TensorFlow starts:
    `tf.config.threading`, or TF_NUM_INTRAOP_THREADS and TF_NUM_INTEROP_THREADS.

    Args:
        network: name of a registered network; or a Keras function from observations [B, *shape] to features; or a
            `Recurrent` or a `Split`.
        env: a gymnasium vector environment with any observations except text, graphs and sequences, and with Discrete,
            MultiDiscrete, MultiBinary or finite Box actions. It must reset itself in the step that ends an episode
            (`autoreset_mode=AutoresetMode.SAME_STEP`).
        seed: seed of environments, weights, replay and sampling, at most 2³² − 1; None draws one.
        load_path: file of weights to start from, as written by `Model.save`.
        continuous: settings for Box actions only.
        logger: receives metrics and episodes; None prints baselines' table.
        should_stop: called after each iteration; True ends training early.
        **network_kwargs: arguments of the named network, and `value_network`.

    Returns:
        The trained model.

    Raises:
        InputError: an argument, the environment or a number from the environment is invalid.
    """
    arguments = locals()
    # One check of all hyper-parameters, before anything is built.
    config = Config(**{field.name: arguments[field.name] for field in dataclasses.fields(Config)})
    logger = Logger([TableSink()]) if logger is None else logger
    check_vec_env(env)
    env = env if isinstance(env, FrameStack) else as_vector_env(env)
    # The last S frames are stacked here, unless the environments do so themselves.
    loop = make_model_and_loop(
        network, stacked(env), checked_seed(seed), config, logger, load_path, continuous, False, **network_kwargs
    )
    loop.learn(should_stop)
    return loop.model


def make_model_and_loop(
    network: str | Network,
    env: FrameStack,
    seed: int,
    config: Config,
    logger: Logger,
    load_path: str | Path | None = None,
    continuous: Continuous = CONTINUOUS,
    is_quiet: bool = True,
    /,
    **network_kwargs: Any,
) -> TrainingLoop:
    """Builds the model and the training loop from the arguments of `learn`, and resets the environments.

    Raises:
        InputError: as `learn`.
    """
    rng = np.random.RandomState(seed)  # a single numpy stream, as in baselines: weights, then replay counts and slots
    spaces = env.single_observation_space, env.single_action_space
    policy = make_policy(network, *spaces, rng, seed, continuous, config.precision, **network_kwargs)
    # The policy draws its weights first, in the order of baselines' numpy stream.
    model = Model(policy, config, seed)
    if load_path is not None:
        model.load(load_path)
    return make_loop(env, model, rng, seed, logger, is_quiet=is_quiet)


def make_loop(
    env: FrameStack,
    model: Model,
    rng: np.random.RandomState,
    seed: int,
    logger: Logger,
    *,
    is_quiet: bool = True,
    remote: RemoteSegments | None = None,
) -> TrainingLoop:
    """Builds the training loop for a model in environments, and resets these.

    Args:
        env: the environments.
        model: the model to train.
        rng: draws how often to replay, and which segments.
        seed: seed of the environments.
        logger: receives metrics and episodes.
        is_quiet: does not announce the size of replay, or a precision that this processor lacks.
        remote: segments that other processes collect; the environments are then left alone.

    Raises:
        InputError: replay cannot fit into memory; no environment has been started.
        EnvironmentFailedError: an environment raised an error.
    """
    config = model.config
    # A bound first, so that what cannot fit is refused before hours of collecting.
    check_replay(env, config, model.policy.network.state_size)
    if not is_quiet and config.precision == "bfloat16" and (times := bfloat16_slowdown()) > 1:
        say(f"precision: no bfloat16 instructions here; convolutions take about {times} times as long as in float32")
    per_update = 1 if remote is None else remote.segments_per_update
    row = compressed_row(env, config)
    is_recurrent = model.policy.network.state_size > 0
    buffer = Buffer(config.nsteps, config.buffer_size, row, config.unread, per_update, is_recurrent)
    # Segments from other processes: no environment is stepped here.
    if remote is not None:
        all_envs = remote.collectors * env.num_envs
        return TrainingLoop(
            env.num_envs, remote.source, model, buffer, rng, logger, is_quiet=is_quiet, all_envs=all_envs
        )
    # With `overlap` a thread acts with copies while the updates change the parameters.
    behavior = _with_copies(model) if config.overlap else None
    actor = behavior or model.actor
    # V of an episode's last state is computed while collecting: replay does not keep that observation.
    values = actor.values if config.bootstrap_truncated else None
    runner = Runner(env, actor, config.nsteps, seed, values, obeys_masks=config.action_masks)
    return TrainingLoop(env.num_envs, runner, model, buffer, rng, logger, behavior, is_quiet)


def _with_copies(model: Model) -> Actor:
    """Returns the behaviour policy for `overlap`, whose parameters training in another thread leaves alone."""
    copies = [tf.Variable(param) for param in model.params]
    return Actor(model.policy, tf.random.Generator.from_seed(0, alg="philox"), copies)
