"""A collector: environments and a copy of the policy, without optimiser or average, in a process of its own."""

import contextlib
import dataclasses
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acer_tf.config import Config, Continuous
from acer_tf.errors import EnvironmentFailedError, InputError, NotFiniteError
from acer_tf.system.threads import prepare_tensorflow

if TYPE_CHECKING:
    from acer_tf.envs.adapt import AnyEnv
    from acer_tf.policies.actor import Actor
    from acer_tf.runner import Runner

Weights = Sequence[NDArray[Any]]
"""The policy's parameters, in order."""


@dataclasses.dataclass(frozen=True)
class Blueprint:
    """What a collector is made of.

    Attributes:
        make_env: makes environments, which get the wrappers of training.
        network: name of the network, or the function that makes it.
        network_kwargs: its arguments.
        config: hyper-parameters.
        continuous: settings that only Box actions have.
        reward_scale: factor on the rewards that the agent sees.
    """

    make_env: "Callable[[], AnyEnv]"
    network: Any
    network_kwargs: Mapping[str, Any]
    config: Config
    continuous: Continuous
    reward_scale: float = 1.0


class Start(NamedTuple):
    """How a collector begins.

    Attributes:
        incarnation: how often it has begun anew.
        seed: of the environments.
        actions: [N, steps] or [N, steps, D], to be repeated from there; None for new episodes.
        state: [N, P], the policy's state after them.
    """

    incarnation: int
    seed: int
    actions: NDArray[Any] | None = None
    state: NDArray[np.float32] | None = None


class Order(NamedTuple):
    """A segment to be collected.

    Attributes:
        incarnation: of the collector that is to collect it.
        sequence: number of the segment among those of the collector.
        version: updates that the weights have behind them.
        seed: of the stream that actions are sampled from.
    """

    incarnation: int
    sequence: int
    version: int
    seed: int


class Refusal(NamedTuple):
    """An error in a collector that another attempt would not mend.

    Attributes:
        is_input: whether it is one of the user's input; else the environments failed.
        message: one sentence, and an environment's own traceback after it.
    """

    is_input: bool
    message: str


class NotBegunError(RuntimeError):
    """The process is not the one that has begun: it was restarted meanwhile."""


class Collector:
    """Collects segments to order; everything it needs is made when it first begins."""

    def __init__(self, index: int, blueprint: Blueprint) -> None:
        """Keeps its number among the collectors and what it is made of."""
        self._index = index
        self._blueprint = blueprint
        self._incarnation = -1
        self._version = -1
        self._parts: tuple[Runner, Actor] | None = None

    def pid(self) -> int:
        """Returns the id of its process."""
        return os.getpid()

    def begin(self, start: Start) -> Refusal | None:
        """Starts new episodes, or repeats the actions of episodes that another process had begun.

        Returns:
            Why the environments or the policy cannot be made, if they cannot.
        """
        with _refusals() as refused:
            if self._parts is None:
                self._parts = self._made()
            runner, _ = self._parts
            if start.state is None:
                runner.restart(start.seed, is_recorded=False)
            else:
                actions = {} if start.actions is None else {"actions": start.actions}
                runner.load_state_dict({"seconds": 0.0, "restart_seed": start.seed, "state": start.state, **actions})
            self._incarnation = start.incarnation
        return next(iter(refused), None)

    def collect(self, order: Order, weights: Weights) -> bytes | Refusal:
        """Collects a segment with these weights; returns it packed, or why it cannot.

        Raises:
            NotBegunError: this process has not begun as this incarnation.
        """
        from acer_tf.distributed.wire import Header, pack

        if self._parts is None or order.incarnation != self._incarnation:
            raise NotBegunError
        runner, actor = self._parts
        with _refusals() as refused:
            if order.version != self._version:
                actor.assign(weights)
                self._version = order.version
            actor.generator.reset_from_seed(order.seed)
            segment = runner.run()
            header = Header(self._index, order.incarnation, order.sequence, order.version)
            return pack(header, segment, runner.policy_state, runner.episodes, self._layout)
        return refused[0]

    def _made(self) -> "tuple[Runner, Actor]":
        """Makes environments and policy; TensorFlow, which is imported here, gets one thread and no GPU."""
        blueprint, config = self._blueprint, self._blueprint.config
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        prepare_tensorflow(str(blueprint.network), threads=1)
        import tensorflow as tf

        from acer_tf.distributed.layout import Layout
        from acer_tf.envs.wrap import training_env
        from acer_tf.policies.actor import Actor
        from acer_tf.policies.make import make_policy
        from acer_tf.runner import Runner

        env = training_env(blueprint.make_env(), reward_scale=blueprint.reward_scale, gamma=config.gamma)
        policy = make_policy(
            blueprint.network,
            env.single_observation_space,
            env.single_action_space,
            np.random.RandomState(0),
            0,
            blueprint.continuous,
            config.precision,
            **blueprint.network_kwargs,
        )
        self._layout = Layout.of(env, config, blueprint.continuous, policy.network.state_size)
        actor = Actor(policy, tf.random.Generator.from_seed(0, alg="philox"))
        values = actor.values if config.bootstrap_truncated else None
        return Runner(env, actor, config.nsteps, 0, values, obeys_masks=config.action_masks), actor


@contextlib.contextmanager
def _refusals() -> Iterator[list[Refusal]]:
    """Yields a list, to which an error of the user's input or of an environment is added in the place of raising it."""
    refused: list[Refusal] = []
    try:
        yield refused
    except (InputError, EnvironmentFailedError) as error:
        cause = "" if error.__cause__ is None else "\n" + "".join(traceback.format_exception(error.__cause__))
        is_input = isinstance(error, InputError) and not isinstance(error, NotFiniteError)
        refused.append(Refusal(is_input, f"{error}{cause}"))
