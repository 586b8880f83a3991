"""The part of an agent that learns: its environments, and the training loop in them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import gymnasium
from gymnasium.vector import VectorEnv

from acer_tf.acer import TrainingLoop, make_loop
from acer_tf.agent import archive
from acer_tf.agent.hooks import CallbackHooks
from acer_tf.agent.logs import log_folder, open_logger
from acer_tf.agent.policy_holder import PolicyHolder
from acer_tf.agent.translation import check_same_spaces
from acer_tf.callbacks.conversion import as_callback
from acer_tf.config import Config, whole
from acer_tf.envs.make import brought_settings, is_normalized, training_env, unwrap
from acer_tf.envs.players import Player
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.normalize import load_normalization_state, normalization_state
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.logs.logger import Logger
from acer_tf.replay.size import check_memory, check_states
from acer_tf.storage.agent_file import Arrays, File

AnyLearner = TypeVar("AnyLearner", bound="Learner")


class Learner(PolicyHolder):
    """Learns; see `ACER`."""

    def _begin(self, settings: dict[str, Any]) -> None:
        super()._begin(settings)
        self._environment: FrameStack | None = None
        self._loop: TrainingLoop | None = None
        self._player = Player()
        self._must_restart = False
        self._log_folder: Path | None = None
        self.n_envs = 0
        self.num_timesteps = 0
        self.logger = Logger()

    @property
    def env(self) -> VectorEnv[Any, Any, Any] | None:
        """The environments with their own observations, actions and rewards; None without one."""
        return None if self._environment is None else unwrap(self._environment)

    def get_env(self) -> VectorEnv[Any, Any, Any] | None:
        """Returns `env`."""
        return self.env

    def set_env(self, env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | str) -> None:
        """Takes other environments, any number of them; their episodes and replay begin with the next `learn`.

        Raises:
            InputError: they have other spaces than the agent, or cannot be trained on; the agent is as it was.
        """
        environment = self._made(env)
        own = unwrap(environment)
        check_same_spaces(self._translation, own.single_observation_space, own.single_action_space)
        self._use(environment)

    def setup_model(self) -> None:
        """Builds networks and optimiser anew; the constructor does, unless it is told not to."""
        super().setup_model()
        self._loop, self._must_restart = None, False

    def get_vec_normalize_env(self) -> VectorEnv[Any, Any, Any] | None:
        """Returns the environments with the wrappers that normalise observations and rewards; None without these."""
        environment = self._environment
        return environment.env if environment is not None and any(is_normalized(environment).values()) else None

    def learn(
        self: AnyLearner,
        total_timesteps: int,
        callback: Any = None,
        log_interval: int = Config.log_interval,
        tb_log_name: str = "ACER",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> AnyLearner:
        """Trains; what was learned, replay, environments and their episodes go on from the last time.

        New episodes begin where `evaluate_policy` or another agent has played in the environments since then, and after
        an error or Ctrl-C.

        Args:
            total_timesteps: agent steps to add, over all environments; rounded up to whole segments of all. Whole, such
                as 100_000 or 1e5.
            callback: a callback (`acer_tf.callbacks`), a function of the local and global variables that is called
                after each step of all environments and ends training with False, or a list of these.
            log_interval: iterations (one segment from every environment each) between two rows of statistics.
            tb_log_name: name of the run's folder in `tensorboard_log`, which gets a number.
            reset_num_timesteps: whether steps, the course of the learning rate, and the run's folder begin anew. Else
                the fraction of training done, on which the rate depends, counts all steps: those before and
                `total_timesteps`; and the files of the run go on.
            progress_bar: whether to show progress.

        Returns:
            The agent.

        Raises:
            InputError: an argument cannot work, there is no environment, or it gave a number that is not finite.
            EnvironmentFailedError: an environment raised an error.
        """
        total_timesteps = whole("total_timesteps", total_timesteps)
        log_interval = whole("log_interval", log_interval)
        told = as_callback(callback)
        if told is not None and self._settings["overlap"]:
            raise InputError("overlap collects steps while updates run, where callbacks cannot follow; leave one out.")
        loop = self._ready_loop()
        end = total_timesteps + (0 if reset_num_timesteps else loop.steps)
        variables = locals() | {"episode_stats": loop.stats, "buffer": loop.buffer}
        hooks = None if told is None else CallbackHooks(told, self, variables)

        def after_iteration() -> bool:
            self.num_timesteps = loop.steps
            return False

        with contextlib.ExitStack() as afterwards:
            is_new_run = reset_num_timesteps or not loop.steps
            logger = self._open_logger(tb_log_name, is_new_run, progress_bar, end)
            self.logger = loop.logger = afterwards.enter_context(logger)
            if told is not None:
                told.init_callback(self)
                afterwards.callback(told.on_training_end)
            with self._learning(loop, reset_num_timesteps):
                if told is not None:
                    told.on_training_start(variables, globals())
                self._must_restart = True  # unless all goes well: after an error the environments may be anywhere
                loop.learn(after_iteration, end=end, log_interval=log_interval, hooks=hooks)
                self._must_restart = False
        return self

    def _open_logger(
        self, name: str, is_new_run: bool, progress_bar: bool, end: int
    ) -> contextlib.AbstractContextManager[Logger]:
        assert self._environment is not None
        log, folder = self._settings["tensorboard_log"], None
        if log is not None:
            folder = self._log_folder = log_folder(log, name, is_new_run, self._log_folder)
        return open_logger(self._settings["verbose"], folder, self._environment, progress_bar, end)

    @contextlib.contextmanager
    def _learning(self, loop: TrainingLoop, reset_num_timesteps: bool) -> Iterator[None]:
        """Counts anew if that is wanted, and keeps others out of the environments."""
        before = loop.steps
        if reset_num_timesteps:
            loop.count_from(0)
        start = self.num_timesteps = loop.steps
        self._player.is_learning = True
        try:
            yield
        except BaseException:
            if loop.steps == start:  # nothing was learned
                loop.count_from(before)
            raise
        finally:
            self._player.is_learning = False
            self.num_timesteps = loop.steps

    def begin(self, logger: Logger) -> TrainingLoop:
        """Resets the environments and returns the training loop, for those who run it themselves."""
        assert self._environment is not None
        self._player.enter(self._environment)
        self._loop = make_loop(self._environment, self.model, self._rng, self.seed, logger)
        self._loop.count_from(self.num_timesteps)
        return self._loop

    def load_weights(self, load_path: File) -> None:
        """Takes parameters, average policy, optimiser and normalisation of a file, and nothing else of it.

        Raises:
            InputError: it is not the file of an agent, or of another network; nothing has been changed then.
        """
        self._use_statistics(archive.load_weights(load_path, self))

    def set_random_seed(self, seed: int | None) -> None:
        """Begins all random streams anew, and with them the environments' episodes; None does nothing."""
        if seed is None:
            return
        self._reseed(seed)
        if self._loop is not None:
            self._loop.restart_environments(self.seed, is_recorded=False)

    def save(self, save_path: File, cloudpickle: bool = False) -> None:
        """Writes the agent to a zip file of JSON and npz: all that `load` needs to go on, but for replay.

        Args:
            save_path: a path, which gets the ending .zip if it has none, or a file open for writing.
            cloudpickle: must be False: this package writes no code into files.

        Raises:
            InputError: `cloudpickle` is asked for.
            OSError: the file cannot be written; an old one is as it was.
        """
        if cloudpickle:
            raise InputError("cloudpickle=True is not possible: files of this package hold no code.")
        archive.save(save_path, self, self.num_timesteps, self.n_envs)

    def _use_statistics(self, statistics: Arrays) -> None:
        super()._use_statistics(statistics)
        if self._environment is not None:
            self._take_statistics(self._environment, statistics)

    @property
    def _current_statistics(self) -> Arrays:
        return self._statistics if self._environment is None else normalization_state(self._environment)

    def _made(self, env: Any) -> FrameStack:
        """Returns what users give, as the Runner takes it, normalised as the arguments say."""
        names = ("normalize_observations", "normalize_rewards", "reward_scale", "gamma")
        return training_env(env, **{name: self._settings[name] for name in names})

    def _use(self, environment: FrameStack) -> None:
        """Puts the environment in place, with the statistics that the agent has.

        Raises:
            InputError: it normalises or scales what the agent does not; nothing has been changed then.
        """
        for name, value in brought_settings(environment).items():
            if value != self._settings[name]:
                raise InputError(
                    f"the environment brings {name}={value}, the agent has {self._settings[name]}; "
                    "make the environment without it."
                )
        self._take_statistics(environment, self._current_statistics)
        self._environment, self._loop, self._must_restart = environment, None, False
        self.n_envs = environment.num_envs

    @staticmethod
    def _take_statistics(environment: FrameStack, kept: Arrays) -> None:
        fresh = normalization_state(environment)
        load_normalization_state(environment, {name: kept.get(name, array) for name, array in fresh.items()})

    def _ready_loop(self) -> TrainingLoop:
        if self._environment is None:
            raise InputError("there is no environment to learn in; give one with set_env, or load(path, env).")
        if self._loop is None:
            needed = check_memory(self._environment, self.model.config)
            needed = check_states(needed, self.n_envs, self.model.config, self.model.policy.network.state_size)
            if self._settings["verbose"]:
                print(f"replay will take {needed / 2**30:.2f} GiB", flush=True)
            return self.begin(self.logger)
        self._must_restart |= not self._player.enter(self._environment)
        if self._must_restart:
            self._restart(self._loop)
        return self._loop

    def _restart(self, loop: TrainingLoop) -> None:
        try:
            loop.restart_environments(int(self._rng.randint(2**31)), is_recorded=False)
        except EnvironmentFailedError as error:
            raise EnvironmentFailedError(f"{error}; give new environments with set_env.") from error
        self._must_restart = False
