"""The environments of an agent, and the training loop in them."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.vector import VectorEnv

from acer_tf.acer import RemoteSegments, TrainingLoop
from acer_tf.agent.run_logger import log_folder, open_logger, seconds_in
from acer_tf.agent.settings import Settings
from acer_tf.agent.spaces import Spaces
from acer_tf.agent.state import AgentState
from acer_tf.callbacks.base import Agent, CallbackList
from acer_tf.envs.adapt import AnyEnv, own_env
from acer_tf.envs.conventions import Player
from acer_tf.envs.ids import check_env_id
from acer_tf.envs.make import make_registered, make_vec_env
from acer_tf.envs.same_spaces import check_same_spaces
from acer_tf.envs.vec_env import VecEnv, normalizer
from acer_tf.envs.wrap import brought_settings, is_normalized, training_env, unwrap
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.learning import make_loop
from acer_tf.logs.logger import Logger
from acer_tf.networks.registry import check_pixels
from acer_tf.schema import Count, validated
from acer_tf.system.streams import derived_seed

if TYPE_CHECKING:
    from acer_tf.distributed.source import CollectorSource

MakeEnv = Callable[[], AnyEnv]
"""Makes the environments of one collector."""
AgentEnv = AnyEnv | str | MakeEnv
"""A vector environment (of gymnasium or Stable Baselines), a single environment, or an id; with collectors, an id or a
function that makes one of the others."""


def _maker(env: AgentEnv) -> MakeEnv:
    if isinstance(env, str):
        check_env_id(env)
        return functools.partial(make_registered, make_vec_env, gymnasium.spec(env))
    if not callable(env):
        raise InputError(
            "each actor makes its own environments; expected an id or a function that makes them, such as "
            'env=lambda: make_vec_env("CartPole-v1", 8).'
        )
    return env


def make_environment(
    env: AgentEnv, settings: Settings, make_env: MakeEnv | None = None
) -> tuple[FrameStack, MakeEnv | None]:
    """Returns environments with the wrappers of training, and a function that makes those of each collector, if any."""
    if settings.collecting.actors and make_env is None:
        make_env = _maker(env)
        env = make_env()
    environment = training_env(
        make_vec_env(env) if isinstance(env, str) else env,  # type: ignore[arg-type]  # refused if it is a function
        normalize_observations=settings.normalize_observations,
        normalize_rewards=settings.normalize_rewards,
        reward_scale=settings.reward_scale,
        gamma=settings.config.gamma,
    )
    if settings.collecting.actors and normalizer(environment.unwrapped) is not None:
        raise InputError("VecNormalize keeps running moments, which would differ from collector to collector.")
    return environment, make_env


class Training:
    """Trains an agent in its environments; replay and episodes continue from one `learn` to the next.

    Attributes:
        state: the agent's state.
        logger: receives metrics and episodes of the current or last `learn`.
    """

    def __init__(
        self, state: AgentState, environment: FrameStack | None = None, make_env: MakeEnv | None = None
    ) -> None:
        """Uses the environments, if any; see `use`."""
        self.state = state
        self.logger = Logger()
        self._environment: FrameStack | None = None
        self._make_env: MakeEnv | None = None
        self._collectors: CollectorSource | None = None
        self._loop: TrainingLoop | None = None
        self._player = Player()
        self._must_restart = False
        self._log_folder: Path | None = None
        self._seconds_before: float | None = None  # training before the loop's clock began; None: not known yet
        if environment is not None:
            self.use(environment, make_env)

    @property
    def env(self) -> VectorEnv[Any, Any, Any] | VecEnv | None:
        """The environments without the wrappers of training; None without any."""
        return None if self._environment is None else own_env(unwrap(self._environment))

    @property
    def normalizing_env(self) -> Any:
        """The environments with the wrappers that normalise, or Stable Baselines' `VecNormalize`, or None."""
        environment = self._environment
        if environment is None:
            return None
        return environment.env if any(is_normalized(environment).values()) else normalizer(environment.unwrapped)

    def set_env(self, env: AgentEnv) -> None:
        """Replaces the environments, or else changes nothing; see `ACER.set_env`."""
        ours = self.state.spaces
        environment, make_env = make_environment(env, self.state.settings)
        theirs = Spaces.of(environment, ours.is_normalized)
        check_same_spaces(ours, theirs)
        check_pixels(self.state.settings.policy, theirs.network_observations)
        self.use(environment, make_env)

    def use(self, environment: FrameStack, make_env: MakeEnv | None = None) -> None:
        """Replaces the environments by those of `make_environment`, if they have the agent's normalisation."""
        for name, value in brought_settings(environment).items():
            ours = getattr(self.state.settings, name)
            if value != ours:
                raise InputError(
                    f"the environment has {name}={value}, the agent {ours}; make the environment without it."
                )
        self.state.normalization.attach(environment)
        self._environment, self._make_env = environment, make_env
        self.state.n_envs = environment.num_envs
        self.forget()

    def forget(self) -> None:
        """Drops the training loop, its replay and its collectors; the next `learn` makes a new one."""
        self._loop, self._must_restart, self._seconds_before = None, False, None
        if self._collectors is not None:
            self._collectors.close()
            self._collectors = None

    def begin(self, logger: Logger, is_quiet: bool = True, goes_on: Callable[[], bool] = lambda: True) -> TrainingLoop:
        """Resets the environments and returns a new training loop that continues the agent's step counter."""
        assert self._environment is not None
        state = self.state
        self._player.enter(self._environment)
        self.forget()
        self._loop = make_loop(
            self._environment,
            state.model,
            state.rng,
            self._environments_seed(),
            logger,
            is_quiet=is_quiet,
            remote=self._remote_segments(self._environment, goes_on),
        )
        self._loop.count_from(state.num_timesteps)
        return self._loop

    def _environments_seed(self) -> int:
        """Returns the agent's seed or, if it has trained before, another one, so that episodes do not repeat."""
        seed, steps = self.state.seed, self.state.num_timesteps
        return derived_seed(seed, steps) if steps else seed

    def _remote_segments(self, environment: FrameStack, goes_on: Callable[[], bool]) -> RemoteSegments | None:
        """Starts collectors, if any are wanted."""
        settings = self.state.settings
        collecting = settings.collecting
        if not collecting.actors:
            return None
        if self._make_env is None:
            raise InputError("each actor makes its own environments; give set_env an id or a function.")
        from acer_tf.distributed.collector import Blueprint
        from acer_tf.distributed.source import start_collectors

        state = self.state
        blueprint = Blueprint(
            self._make_env,
            settings.policy,
            settings.policy_kwargs or {},
            state.model.config,
            settings.continuous,
            settings.reward_scale,
        )
        self._collectors = start_collectors(
            blueprint, environment, state.model, collecting, self._environments_seed(), goes_on
        )
        return RemoteSegments(self._collectors, collecting.actors, collecting.segments_per_update)

    def restart_streams(self) -> None:
        """Restarts all random streams from the agent's seed, and begins new episodes."""
        self.state.restart_streams()
        if self._loop is not None:
            self._loop.restart_environments(self.state.seed, is_recorded=False)

    def learn(
        self,
        agent: Agent,
        total_timesteps: int,
        callback: Any,
        log_interval: int,
        tb_log_name: str,
        reset_num_timesteps: bool,
        progress_bar: bool,
    ) -> None:
        """Trains; see `ACER.learn`. Callbacks know `agent` as the model."""
        variables = {"self": agent} | {name: value for name, value in locals().items() if name not in ("self", "agent")}
        total_timesteps = validated("total_timesteps", total_timesteps, Count)
        log_interval = validated("log_interval", log_interval, Count)
        reset_num_timesteps = validated("reset_num_timesteps", reset_num_timesteps, bool)
        callbacks = None if callback is None else CallbackList.of(callback)
        if callbacks is not None and self.state.settings.config.overlap:
            raise InputError("overlap collects steps while updates run, where callbacks cannot follow; leave one out.")
        if callbacks is not None and self.state.settings.collecting.actors:
            raise InputError("actors collect steps in other processes, where callbacks cannot follow; leave one out.")
        loop = self._ready_loop()
        end = total_timesteps + (0 if reset_num_timesteps else loop.steps)
        variables |= {"loop": loop, "end": end, "episode_stats": loop.episode_stats, "buffer": loop.buffer}
        is_new_run = reset_num_timesteps or not loop.steps
        with contextlib.ExitStack() as afterwards:
            logger = self._open_logger(tb_log_name, is_new_run, progress_bar, end)
            self.logger = loop.logger = afterwards.enter_context(logger)
            if callbacks is not None:
                callbacks.init_callback(agent)
                afterwards.callback(callbacks.on_training_end)
            with self._learning(loop, reset_num_timesteps):
                if callbacks is not None:
                    callbacks.on_training_start(variables, globals())
                self._must_restart = True  # unless all goes well: after an error, the environments may be in any state
                loop.learn(self._count, end=end, log_interval=log_interval, callback=callbacks)
                self._must_restart = False

    def _count(self) -> bool:
        assert self._loop is not None
        self.state.num_timesteps = self._loop.steps
        return False

    def _open_logger(
        self, name: str, is_new_run: bool, progress_bar: bool, end: int
    ) -> contextlib.AbstractContextManager[Logger]:
        assert self._environment is not None
        settings, folder = self.state.settings, None
        if settings.tensorboard_log is not None:
            folder = self._log_folder = log_folder(settings.tensorboard_log, name, is_new_run, self._log_folder)
        if self._seconds_before is None:
            self._seconds_before = 0.0 if folder is None else seconds_in(folder)
        return open_logger(settings, folder, self._environment, progress_bar, end, self._seconds_before)

    @contextlib.contextmanager
    def _learning(self, loop: TrainingLoop, reset_num_timesteps: bool) -> Iterator[None]:
        """Restarts the counter if requested, and keeps others out of the environments while the block runs."""
        before = loop.steps
        if reset_num_timesteps:
            loop.count_from(0)
        start = self.state.num_timesteps = loop.steps
        self._player.is_learning = True
        try:
            yield
        except BaseException:
            if loop.steps == start:  # nothing was learned
                loop.count_from(before)
            raise
        finally:
            self._player.is_learning = False
            self.state.num_timesteps = loop.steps

    def _ready_loop(self) -> TrainingLoop:
        """Returns the training loop, with new episodes if others have stepped the environments."""
        if self._environment is None:
            raise InputError("there is no environment to learn in; give one with set_env, or load(path, env).")
        if self._loop is None:
            return self.begin(self.logger, is_quiet=not self.state.settings.verbose)
        if self._loop.steps != self.state.num_timesteps:  # assigned by the user
            self._loop.count_from(self.state.num_timesteps)
        self._must_restart |= not self._player.enter(self._environment)
        if self._must_restart:
            self._restart(self._loop)
        return self._loop

    def _restart(self, loop: TrainingLoop) -> None:
        try:
            loop.restart_environments(int(self.state.rng.randint(2**31)), is_recorded=False)
        except EnvironmentFailedError as error:
            raise EnvironmentFailedError(f"{error}; give new environments with set_env.") from error
        self._must_restart = False


def make_training(env: AgentEnv, settings: Settings, make_env: MakeEnv | None = None) -> Training:
    """Returns a new agent, not yet built, in its environments; their own settings are added to the agent's."""
    environment, make_env = make_environment(env, settings, make_env)
    brought: dict[str, Any] = {**brought_settings(environment)}
    if settings.reward_scale != 1:
        del brought["reward_scale"]
    settings = dataclasses.replace(settings, **brought)
    state = AgentState(settings, Spaces.of(environment, settings.normalize_observations))
    return Training(state, environment, make_env)
