"""The class `ACER`, with the interface of Stable Baselines 2."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, Unpack

import gymnasium
import tensorflow as tf
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from acer_tf.acer import TrainingLoop
from acer_tf.agent import archive, cloning, exporting, predictions
from acer_tf.agent.from_preset import preset_arguments
from acer_tf.agent.importing import import_agent
from acer_tf.agent.settings import (
    ARGUMENTS,
    DEFAULTS,
    FREE_ARGUMENTS,
    BeyondStableBaselines,
    Settings,
    check_arguments,
)
from acer_tf.agent.training import AgentEnv, MakeEnv, Training, make_training
from acer_tf.config import CONTINUOUS, Config, Continuous
from acer_tf.envs.vec_env import VecEnv
from acer_tf.errors import InputError
from acer_tf.evaluation.explanation import Explanation
from acer_tf.importers.baselines import read_baselines
from acer_tf.importers.stable_baselines import read_stable_baselines
from acer_tf.logs.logger import Logger
from acer_tf.model import Model
from acer_tf.networks.registry import Network
from acer_tf.schema import CountOrZero, validated
from acer_tf.storage.agent_file import File
from acer_tf.storage.saved_agents import SavedAgent
from acer_tf.system.console import say
from acer_tf.system.streams import checked_seed

AnyACER = TypeVar("AnyACER", bound="ACER")


def _refuse_load(*args: Any, **kwargs: Any) -> None:
    raise InputError(
        "load makes a new agent and leaves this one unchanged; write model = ACER.load(path), or "
        "model.load_weights(path) to change this one."
    )


class ACER:
    """Actor-critic with experience replay, with the names and defaults of Stable Baselines 2.

    An agent consists of its state (settings, spaces, model, random streams, normalization) and its training
    (environments and training loop); this class offers both under the names of Stable Baselines. Every argument of the
    constructor can be read as an attribute; `verbose` and `tensorboard_log` can also be assigned.

    Attributes:
        model: policy, average policy and optimiser.
        env: the environments with their own observations, actions and rewards; None without any.
        n_envs: number of environments.
        observation_space: space of one environment's observations.
        action_space: space of one environment's actions.
        num_timesteps: agent steps so far, over all environments.
        logger: receives the metrics and episodes of `learn`.
        seed (int): seed of the random streams.
    """

    # fmt: off
    def __init__(
        self,
        policy: str | Network,
        env: AgentEnv,
        gamma: float = Config.gamma,
        n_steps: int = Config.nsteps,
        num_procs: int | None = None,
        q_coef: float = Config.q_coef, ent_coef: float = Config.ent_coef,
        max_grad_norm: float | None = Config.max_grad_norm,
        learning_rate: float = Config.lr,
        lr_schedule: str | Callable[[float], float] = Config.lrschedule,
        rprop_alpha: float = Config.rprop_alpha, rprop_epsilon: float = Config.rprop_epsilon,
        buffer_size: int = 5000, replay_ratio: float = Config.replay_ratio, replay_start: int = 1000,
        correction_term: float = Config.c,
        trust_region: bool = Config.trust_region, alpha: float = Config.alpha, delta: float = Config.delta,
        verbose: int = 0,
        tensorboard_log: str | Path | None = None,
        _init_setup_model: bool = True,
        policy_kwargs: Mapping[str, Any] | None = None,
        full_tensorboard_log: bool = False,
        seed: int | None = None,
        n_cpu_tf_sess: int | None = None,
        **beyond: Unpack[BeyondStableBaselines],
    ) -> None:
        """Builds the networks and the optimiser; the first call of `learn` resets the environments.

        Args:
            policy: MlpPolicy, MlpLstmPolicy, MlpLnLstmPolicy, CnnPolicy, CnnLstmPolicy or CnnLnLstmPolicy; the name of
                any other network; or a function from observations to features, in Keras (or a `Recurrent`, a `Split`).
            env: a vector environment with SAME_STEP autoreset or of Stable Baselines, a single environment, or an id;
                with `actors`, an id or a function that makes the environments of each collector.
            gamma: discount factor.
            n_steps: agent steps per environment in one segment.
            num_procs: Stable Baselines' old name for `n_cpu_tf_sess`.
            q_coef: weight of the critic's loss.
            ent_coef: weight of the entropy bonus.
            max_grad_norm: largest global norm of the gradient; None does not clip.
            learning_rate: learning rate at the start.
            lr_schedule: factor on it: a name, or a function of the fraction of training done.
            rprop_alpha: RMSProp's decay.
            rprop_epsilon: RMSProp's epsilon.
            buffer_size: agent steps kept for replay, per environment.
            replay_ratio: replay updates per on-policy update, on average; 0 switches replay off.
            replay_start: agent steps per environment before replay begins.
            correction_term: truncation of importance weights.
            trust_region: whether to use the trust region.
            alpha: decay of the average policy.
            delta: bound of the trust region.
            verbose: 0 prints nothing, 1 the main metrics, 2 all of them, as baselines does.
            tensorboard_log: folder for run folders, with curves for TensorBoard and the commands' CSV and JSON files.
            _init_setup_model: whether to call `setup_model` now.
            policy_kwargs: arguments of the named network, such as `dict(net_arch=[64, dict(pi=[32], vf=[32])])`.
            full_tensorboard_log: has no effect: no histograms are written.
            seed: seed for environments, weights, replay and sampling; None draws one.
            n_cpu_tf_sess: TensorFlow's threads; None lets TensorFlow choose (Stable Baselines: 1). Small networks need
                no more than 2. For a given seed, it changes results only in the last bits.
            **beyond: arguments that Stable Baselines did not have: fields of the dataclasses in `acer_tf.config`,
                listed in `acer_tf.agent.settings.BeyondStableBaselines`.

        Raises:
            InputError: an argument or the environment cannot work.
        """
        given = locals()
        check_arguments(beyond)
        arguments = {**DEFAULTS, **{name: given[name] for name in ARGUMENTS if name in given}, **beyond}
        if num_procs is not None:
            arguments["n_cpu_tf_sess"] = num_procs
        self._hold(make_training(env, Settings.of(arguments)))
        if _init_setup_model:
            self.setup_model()
    # fmt: on

    @classmethod
    def from_config(
        cls: type[AnyACER],
        policy: str | Network,
        env: AgentEnv,
        config: Config,
        continuous: Continuous = CONTINUOUS,
        make_env: MakeEnv | None = None,
        **settings: Any,
    ) -> AnyACER:
        """Makes an agent with hyper-parameters under baselines' names.

        Args:
            policy: as for the constructor.
            env: environments to learn in, as for the constructor.
            config: hyper-parameters.
            continuous: settings for Box actions only.
            make_env: makes the environments of each collector, if `env` holds environments despite collectors.
            **settings: further fields of `acer_tf.agent.settings.Settings`, such as `seed` and `policy_kwargs`.
        """
        training = make_training(env, Settings(policy, config, continuous, **settings), make_env)
        training.state.build()
        return cls._of(training)

    @classmethod
    def load(
        cls: type[AnyACER],
        load_path: File | SavedAgent,
        env: AgentEnv | None = None,
        custom_objects: Mapping[str, Any] | None = None,
        print_system_info: bool = False,
        **overrides: Any,
    ) -> AnyACER:
        """Reads an agent: arguments, networks, optimiser, random streams, steps, normalization.

        Files do not hold what belongs to a machine: `tensorboard_log`, `actors` and the arguments that go with it.

        Args:
            load_path: a file that `save` wrote, as a path, whose ending .zip may be left out, or open for reading; or
                the folder of a command's run, even while it trains, or one of its checkpoints.
            env: environments to learn in; None suffices to predict.
            custom_objects: further overrides, as in Stable Baselines.
            print_system_info: whether to print the versions with which the agent was saved, and those installed.
            **overrides: arguments of the constructor that replace the file's. A policy, a schedule or an optimizer that
                is your own function or class is not saved and must be given. A seed restarts the random streams; an
                optimizer of another class begins with new slots.

        Raises:
            InputError: the file does not hold an agent, or an override or the environment does not fit.
        """
        saved = archive.read(load_path)
        if print_system_info:
            say(archive.versions(saved))
        agent = cls._of(Training(archive.load(saved, {**(custom_objects or {}), **overrides})))
        if env is not None:
            agent.set_env(env)
        return agent

    @classmethod
    def import_stable_baselines(
        cls: type[AnyACER],
        path: str | Path,
        env: AgentEnv | None = None,
        *,
        statistics: str | Path | None = None,
        **overrides: Any,
    ) -> AnyACER:
        """Reads an agent that Stable Baselines 2 saved, as zip or in the older form, without running code from it.

        The file has neither the average policy nor the optimiser's slots, so the average policy begins as a copy of the
        policy.

        Args:
            path: the file.
            env: environments to learn in, whose bounds replace the file's; None suffices to predict.
            statistics: the file that `VecNormalize.save` wrote (`vecnormalize.pkl`), or the folder with `obs_rms.pkl`
                and `ret_rms.pkl` of older versions; the agent then normalises by it. None does not normalise.
            **overrides: arguments of the constructor that replace the file's.

        Raises:
            InputError: the file is not such an agent, has a user-defined policy, or an argument does not fit it.
        """
        return cls._of(import_agent(read_stable_baselines(path), path, env, statistics, overrides))

    @classmethod
    def import_baselines(
        cls: type[AnyACER], path: str | Path, env: AgentEnv | None = None, **overrides: Any
    ) -> AnyACER:
        """Reads weights, average policy and slots of an agent that baselines saved, without running code from the file.

        The file has no hyper-parameters; the defaults of baselines' learn() are used. What leaves no trace in the
        weights, such as the activation, is assumed to be baselines' default.

        Args:
            path: the file.
            env: environments to learn in; None suffices to predict, unless images are not 84 x 84 pixels.
            **overrides: arguments of the constructor.

        Raises:
            InputError: the file is not such an agent, or an argument does not fit it.
        """
        return cls._of(import_agent(read_baselines(path), path, env, None, overrides))

    @classmethod
    def from_preset(cls: type[AnyACER], name: str | Path, env: AgentEnv | None = None, **overrides: Any) -> AnyACER:
        """Makes an agent with the settings of a preset.

        What the preset leaves out has the default of `acer_tf.learn`, which differs from the constructor's for
        `buffer_size`, `replay_start` and `bootstrap_truncated`.

        Args:
            name: name of a preset in `acer_tf/configs`, or the path of your own file, ending in .yml.
            env: environments, which are used unchanged; an id, to be made with the preset's settings; or None for the
                preset's id.
            **overrides: arguments of the constructor, or `num_env`, that replace the preset's.

        Raises:
            InputError: there is no such preset, it has no environment, or an argument cannot work.

        Example:
            >>> agent = ACER.from_preset("CartPole-v1", verbose=1)
        """
        return cls(**preset_arguments(name, env, overrides))

    @classmethod
    def _of(cls: type[AnyACER], training: Training) -> AnyACER:
        """Makes an agent from a state that has been built."""
        agent = cls.__new__(cls)
        agent._hold(training)
        return agent

    def _hold(self, training: Training) -> None:
        self._training, self._state = training, training.state
        vars(self)["load"] = _refuse_load  # calling the class method on an agent would seem to change it

    def __getattr__(self, name: str) -> Any:
        """Returns an argument of the constructor, as Stable Baselines' attributes do."""
        if name in ARGUMENTS and "_state" in vars(self):
            return self.settings.arguments()[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; of the constructor's arguments, only those that a later `learn` reads."""
        if name not in ARGUMENTS:
            super().__setattr__(name, value)
        elif name in FREE_ARGUMENTS:
            self._state.settings = dataclasses.replace(self.settings, **{name: value})
        else:
            raise InputError(f"{name} is fixed when the agent is made; ACER.load(path, env, {name}=...) changes it.")

    def __dir__(self) -> list[str]:
        """Returns the attributes and the constructor's arguments."""
        return [*super().__dir__(), *ARGUMENTS]

    @property
    def settings(self) -> Settings:
        """The validated arguments of the constructor."""
        return self._state.settings

    @property
    def model(self) -> Model:
        """Policy, average policy and optimiser; raises InputError before `setup_model`."""
        return self._state.model

    def setup_model(self) -> None:
        """Builds new networks and a new optimiser; the constructor calls it unless `_init_setup_model` is False."""
        self._state.build()
        self._training.forget()

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """Space of one environment's observations."""
        return self._state.spaces.observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """Space of one environment's actions."""
        return self._state.spaces.action_space

    @property
    def env(self) -> VectorEnv[Any, Any, Any] | VecEnv | None:
        """The environments with their own observations, actions and rewards; None without any."""
        return self._training.env

    def get_env(self) -> VectorEnv[Any, Any, Any] | VecEnv | None:
        """Returns `env`."""
        return self.env

    def set_env(self, env: AgentEnv) -> None:
        """Replaces the environments by any number of others; the next `learn` starts new episodes and an empty replay.

        Raises:
            InputError: their spaces differ from the agent's, or ACER cannot train in them; the agent is unchanged.
        """
        self._training.set_env(env)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses pickling, as files of this package hold no code."""
        raise InputError("an agent cannot be pickled; save(path) writes it to a file, and ACER.load(path) reads it.")

    def __deepcopy__(self: AnyACER, memo: object) -> AnyACER:
        """Returns the agent that `save` and `load` would yield, without environments and with an empty replay."""
        return self._of(Training(archive.copied(self._state)))

    @property
    def n_envs(self) -> int:
        """Number of environments; for a loaded agent without environments, their number when it was saved."""
        return self._state.n_envs

    def get_vec_normalize_env(self) -> Any:
        """Returns the object that normalises observations or rewards: `VecNormalize`, or the wrapped environments."""
        return self._training.normalizing_env

    @property
    def num_timesteps(self) -> int:
        """Agent steps so far, over all environments."""
        return self._state.num_timesteps

    @num_timesteps.setter
    def num_timesteps(self, steps: int) -> None:
        self._state.num_timesteps = validated("num_timesteps", steps, CountOrZero)

    def learn(
        self: AnyACER,
        total_timesteps: int,
        callback: Any = None,
        log_interval: int = Config.log_interval,
        tb_log_name: str = "ACER",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> AnyACER:
        """Trains the agent, continuing from the last call: parameters, replay, environments and their episodes.

        New episodes start where `evaluate_policy` or another agent has stepped the environments since, and after an
        error or Ctrl-C.

        Args:
            total_timesteps: agent steps to add, over all environments; a whole number, such as 100_000 or 1e5. It is
                rounded up to whole segments of all environments.
            callback: a callback (`acer_tf.callbacks`); a function of the local and global variables, which is called
                after each step of all environments and ends training by returning False; or a list of these.
            log_interval: iterations (one segment from every environment each) between two rows of metrics.
            tb_log_name: name of the run's folder in `tensorboard_log`, which gets a number: "exp/one" gives exp/one_1.
            reset_num_timesteps: whether to restart the step counter and the learning-rate schedule, in a new run
                folder. Otherwise, the files of the run continue, and the fraction of training done, on which the rate
                depends, counts the steps so far and `total_timesteps`.
            progress_bar: whether to show progress.

        Returns:
            The agent.

        Raises:
            InputError: an argument is invalid, there is no environment, or a value is not a finite number.
            EnvironmentFailedError: an environment raised an error.
        """
        self._training.learn(
            self, total_timesteps, callback, log_interval, tb_log_name, reset_num_timesteps, progress_bar
        )
        return self

    def close(self) -> None:
        """Ends the collectors of an agent with `actors`; the next `learn` starts new ones, with an empty replay."""
        self._training.forget()

    @property
    def logger(self) -> Logger:
        """The logger of the current or last `learn`; callbacks add numbers with its method `record`."""
        return self._training.logger

    def begin(self, logger: Logger, is_quiet: bool = True, goes_on: Callable[[], bool] = lambda: True) -> TrainingLoop:
        """Resets the environments and returns the training loop, for callers that run it themselves.

        Args:
            logger: receives metrics and episodes.
            is_quiet: whether to omit messages on replay's size and on precision.
            goes_on: called about once a second while waiting for collectors; False ends training.
        """
        return self._training.begin(logger, is_quiet, goes_on)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        mask: Any = None,
        deterministic: bool = False,
        *,
        episode_start: Any = None,
        action_masks: Any = None,
    ) -> tuple[Any, NDArray[Any] | None]:
        """Chooses actions for one observation or for a batch of any size.

        Sampling uses its own random stream, so predictions do not affect learning.

        Args:
            observation: one, or a batch as vector environments give it, not normalised.
            state: [N, P], as the previous call returned it; None at the start, and for feed-forward policies.
            mask: [N] bool, True where an episode has just ended and the state starts anew; None means nowhere.
            deterministic: whether to take the most probable action (the mean) instead of sampling.
            episode_start: Stable-Baselines3's name for `mask`.
            action_masks: the possible actions, [N, A] or, for one observation, [A]. For MultiDiscrete and MultiBinary
                actions, the masks of the dimensions one after the other (for one observation, also as a tuple). None
                means that all are possible. Ignored by an agent with `action_masks=False`.

        Returns:
            The action or actions, in the environment's own units and bounds, and the state [N, P] float32 after them,
            or None for feed-forward policies.

        Raises:
            InputError: an argument does not fit the agent.
        """
        mask = episode_start if mask is None else mask
        action, is_single = predictions.act(self._state, observation, state, mask, deterministic, action_masks)
        actions = self._state.spaces.decode_actions(action.actions)
        return (actions[0] if is_single else actions), (action.state if action.state.shape[1] else None)

    def predicting_from(self, seed: int) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which `predict` samples with this seed and leaves its own random stream unchanged."""
        return self._state.actor.drawing_from(seed)

    def action_probability(
        self,
        observation: Any,
        state: Any = None,
        mask: Any = None,
        actions: Any = None,
        logp: bool = False,
        *,
        action_masks: Any = None,
    ) -> Any:
        """Returns the policy's distribution of actions, or the probability of given actions.

        Args:
            observation: one, or a batch, not normalised.
            state: [N, P], as `predict` takes it.
            mask: [N] bool, True where the state starts anew.
            actions: one for each observation; None returns the distribution.
            logp: whether to return the logarithm of the actions' probability.
            action_masks: the possible actions, as `predict` takes them.

        Returns:
            Without `actions`, probabilities [N, A], or for a Box mean and standard deviation, [N, *action] each. With
            `actions`, their probability, or density, [N, 1]. The first axis is missing for a single observation.

        Raises:
            InputError: an argument does not fit the agent.
        """
        return predictions.action_probability(self._state, observation, state, mask, actions, logp, action_masks)

    def explain(
        self, observation: Any, state: Any = None, mask: Any = None, *, action_masks: Any = None
    ) -> Explanation:
        """Returns the policy's and the critic's view of observations: the distribution of actions, V and Q.

        It samples nothing, so it does not change the actions of the next `predict`.

        Args:
            observation: a batch, or a single one, which counts as a batch of one.
            state: [N, P], as `predict` takes it.
            mask: [N] bool, True where the state starts anew.
            action_masks: the possible actions, as `predict` takes them.

        Raises:
            InputError: an argument does not fit the agent.
        """
        return predictions.explain(self._state, observation, state, mask, action_masks)

    def get_parameters(self) -> dict[str, NDArray[Any]]:
        """Returns the parameters of the networks by name."""
        return {name: variable.numpy() for name, variable in self._state.parameters().items()}

    def get_parameter_list(self) -> list[tf.Variable]:
        """Returns the variables that `get_parameters` reads, in the same order."""
        return list(self._state.parameters().values())

    def load_parameters(self, load_path_or_dict: File | Mapping[str, Any], exact_match: bool = True) -> None:
        """Sets parameters by name. The average policy follows; optimiser and settings stay unchanged.

        Args:
            load_path_or_dict: arrays by name, or the file of an agent, which also has the average policy.
            exact_match: whether every parameter must be given; False leaves missing ones unchanged.

        Raises:
            InputError: an entry is missing, unknown, misshapen or not finite; the agent is unchanged.
        """
        given = load_path_or_dict
        arrays, averages = (given, None) if isinstance(given, Mapping) else archive.parameters(given)
        self._state.load_parameters(arrays, averages, exact_match=exact_match)

    def load_weights(self, load_path: File | SavedAgent) -> None:
        """Loads parameters, average policy, optimiser and normalization, and nothing else; for `load_path` see `load`.

        Raises:
            InputError: the file does not hold an agent, or one with another network; this agent is unchanged.
        """
        archive.load_weights(load_path, self._state)

    def pretrain(
        self: AnyACER,
        dataset: Any,
        n_epochs: int = 10,
        learning_rate: float = 1e-4,
        adam_epsilon: float = 1e-8,
        val_interval: int | None = None,
    ) -> AnyACER:
        """Trains the policy to imitate an expert (behaviour cloning); the average policy follows.

        70 % of the steps are used for training, the rest for validation. Recurrent policies learn from `n_steps` steps
        at a time, starting from the zero state.

        If observations are normalised and none has been seen yet, the normalisation begins with those of the data.

        Args:
            dataset: arrays `obs` and `actions`, one row per step, and for recurrent policies `episode_starts`; the path
                of an npz file of these, as Stable Baselines wrote it; or a Minari dataset or its id.
            n_epochs: passes over the data.
            learning_rate: Adam's learning rate.
            adam_epsilon: Adam's epsilon.
            val_interval: epochs between two reports of the losses, if `verbose`; None reports ten times.

        Returns:
            The agent.

        Raises:
            InputError: an argument or the data do not fit the agent, which is unchanged.
            NotFiniteError: the loss is not finite; earlier updates have been made.
        """
        cloning.pretrain(self._state, dataset, n_epochs, learning_rate, adam_epsilon, val_interval)
        return self

    def set_random_seed(self, seed: int | None) -> None:
        """Restarts all random streams from this seed, and the environments' episodes; None does nothing."""
        if seed is None:
            return
        self._state.settings = dataclasses.replace(self.settings, seed=checked_seed(seed))
        self._training.restart_streams()

    def export(self, path: str | Path, format: exporting.Format = "saved_model") -> None:
        """Writes the deterministic policy for use without this package: for TensorFlow, ONNX or TFLite.

        The inputs are `obs` [N, ...], as the environment gives them, and for a recurrent policy `state` [N, P] float32
        and `mask` [N] bool; the outputs are `action` [N, ...] in the environment's units and, for a recurrent policy,
        `state`. Parts of Dict or Tuple observations are called `obs_<name>`. A SavedModel has all of these in its
        signature `serving_default`; in ONNX, the output state is called `next_state`.

        Args:
            path: the folder of a SavedModel, or a file of ONNX or TFLite; it must not exist, except as an empty folder.
            format: `saved_model`, `onnx` (needs tf2onnx: `pip install -e ".[onnx]"`) or `tflite`.

        Raises:
            InputError: the path exists or cannot be written, tf2onnx is missing, or the format is unknown.
        """
        exporting.export(path, self._state, format)

    def save(self, save_path: File, cloudpickle: bool = False) -> None:
        """Writes the agent to a zip file of JSON and npz: everything needed to continue training, except replay.

        Args:
            save_path: a path, to which .zip is added if it has no suffix, or a file open for writing.
            cloudpickle: must be False: this package writes no code into files.

        Raises:
            InputError: `cloudpickle` is True, or the target is neither.
            OSError: the file cannot be written; an existing file is unchanged.
        """
        if cloudpickle:
            raise InputError("cloudpickle=True is not possible: files of this package hold no code.")
        archive.save(save_path, self._state)

    def state_dict(self) -> dict[str, Any]:
        """Returns what a checkpoint needs besides the training loop's state for `load` to read it."""
        return archive.state_dict(self._state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores the step counter; all else that is learned is in the training loop's state.

        Raises:
            InputError: the state is that of an agent with other spaces.
        """
        archive.check_spaces(state["data"], self._state)
        self.num_timesteps = state["data"]["num_timesteps"]
