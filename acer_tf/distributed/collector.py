"""A collector: environments and a copy of the policy, without optimiser or average, in its own process."""

import contextlib
import dataclasses
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

import acer_tf
from acer_tf.buffer import stack_obs
from acer_tf.config import Config, Continuous
from acer_tf.errors import EnvironmentFailedError, NotFiniteError
from acer_tf.replay.columns import CompressedFrames
from acer_tf.replay.size import compressed_row
from acer_tf.segment import Episode, Segment
from acer_tf.system.compute import prepare_tensorflow

if TYPE_CHECKING:
    from acer_tf.envs.adapt import AnyEnv
    from acer_tf.envs.wrappers.frame_stack import FrameStack
    from acer_tf.policies.actor import Actor
    from acer_tf.runner import Runner

Weights = Sequence[NDArray[Any]]
"""Parameters of the policy, in order."""


@dataclasses.dataclass(frozen=True)
class Blueprint:
    """The parts of a collector, in a form from which other processes can make them.

    Attributes:
        make_env: makes environments, which get the wrappers of training.
        network: name of the network, or the function that makes it.
        network_kwargs: arguments of the network.
        config: hyper-parameters.
        continuous: settings for Box actions only.
        reward_scale: factor on the rewards that the agent sees.
    """

    make_env: "Callable[[], AnyEnv]"
    network: Any
    network_kwargs: Mapping[str, Any]
    config: Config
    continuous: Continuous
    reward_scale: float = 1.0


class Signature(NamedTuple):
    """Facts that decide the shapes and dtypes of segments, which differ if a node has other versions."""

    version: str
    num_env: int
    observations: gymnasium.Space[Any]
    actions: gymnasium.Space[Any]

    @classmethod
    def of(cls, env: "FrameStack") -> "Signature":
        """Returns the signature of environments, with this process's version of the package."""
        return cls(acer_tf.__version__, env.num_envs, env.single_observation_space, env.single_action_space)


class Collected(NamedTuple):
    """A segment on its way to the learner, as arrays in Ray's object store.

    Attributes:
        segment: the segment, without observations and fields that updates do not read.
        episodes: whole episodes that ended in it, by the collector's own clock.
    """

    segment: Segment
    episodes: list[Episode]

    @classmethod
    def of(cls, segment: Segment, episodes: list[Episode], config: Config, is_compressed: bool) -> "Collected":
        """Returns a segment that holds each frame once, compressed if replay keeps it so."""
        # Stacked observations take S times as many bytes as frames, and compressed frames about 1 % of the frames'.
        frames = CompressedFrames(segment.enc_obs) if is_compressed else segment.enc_obs
        unread: dict[str, Any] = dict.fromkeys(config.unread, segment.rewards[:, :0])
        return cls(segment._replace(enc_obs=frames, obs=np.empty(0), **unread), episodes)

    def whole_segment(self) -> Segment:
        """Returns the segment with its observations, and also with compressed frames if any, for replay."""
        frames = self.segment.enc_obs
        if isinstance(frames, CompressedFrames):
            frames = frames.decompressed()
        # As the buffer restacks a drawn segment, so observations are the same bit for bit.
        return self.segment._replace(obs=stack_obs(frames, self.segment.dones))


class NotBegunError(RuntimeError):
    """Raised by a restarted process that has not begun yet."""


class Collector:
    """Collects segments on request; makes all its parts when it first begins."""

    def __init__(self, blueprint: Blueprint) -> None:
        """Keeps the blueprint."""
        self._blueprint = blueprint
        self._parts: tuple[FrameStack, Runner, Actor] | None = None

    def begin(self, seed: int) -> Signature:
        """Starts new episodes, with this seed for environments and actions.

        Raises:
            InputError: the environments or the policy cannot be made.
            EnvironmentFailedError: an environment raised an error.
        """
        with _portable_errors():
            if self._parts is None:
                self._parts = self._made()
            env, runner, actor = self._parts
            # The seed of this incarnation determines both actions and episodes.
            actor.generator.reset_from_seed(seed)
            runner.restart(seed, is_recorded=False)
            return Signature.of(env)

    def collect(self, weights: Weights) -> Collected:
        """Collects a segment with these weights.

        Raises:
            NotBegunError: this process has not begun.
            InputError: the environments cannot work with these settings.
            EnvironmentFailedError: an environment raised an error, or gave a number that is not finite.
        """
        if self._parts is None:
            raise NotBegunError
        env, runner, actor = self._parts
        with _portable_errors():
            actor.assign(weights)  # straight from the object store's shared memory
            segment = runner.run()
        config = self._blueprint.config
        return Collected.of(segment, runner.episodes, config, compressed_row(env, config) is not None)

    def _made(self) -> "tuple[FrameStack, Runner, Actor]":
        """Makes environments and policy; imports TensorFlow, with one thread and no GPU."""
        blueprint, config = self._blueprint, self._blueprint.config
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # the GPU is the learner's
        prepare_tensorflow(str(blueprint.network), threads=1)  # a collector has one processor
        import tensorflow as tf

        from acer_tf.envs.wrap import training_env
        from acer_tf.policies.actor import Actor
        from acer_tf.policies.make import make_policy
        from acer_tf.runner import Runner

        # The same wrappers as in the learner, without running moments.
        env = training_env(blueprint.make_env(), reward_scale=blueprint.reward_scale, gamma=config.gamma)
        policy = make_policy(
            blueprint.network,
            env.single_observation_space,
            env.single_action_space,
            np.random.RandomState(0),  # initial weights, to be replaced by the learner's
            0,
            blueprint.continuous,
            config.precision,
            **blueprint.network_kwargs,
        )
        actor = Actor(policy, tf.random.Generator.from_seed(0, alg="philox"))
        values = actor.values if config.bootstrap_truncated else None
        return env, Runner(env, actor, config.nsteps, 0, values, obeys_masks=config.action_masks), actor


@contextlib.contextmanager
def _portable_errors() -> Iterator[None]:
    """Puts an environment's traceback into the error's message and drops its arrays: pickle would keep neither."""
    try:
        yield
    except (EnvironmentFailedError, NotFiniteError) as error:
        cause = "" if error.__cause__ is None else "\n" + "".join(traceback.format_exception(error.__cause__))
        raise EnvironmentFailedError(f"{error}{cause}") from None
