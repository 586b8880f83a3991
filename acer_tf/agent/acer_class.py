"""The class `ACER`, with the names of Stable Baselines 2."""

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
        "load makes a new agent and leaves this one as it is; write model = ACER.load(path), or "
        "model.load_weights(path) to change this one."
    )


class ACER:
    """Actor-critic with experience replay, as in Stable Baselines 2, whose names and defaults these are.

    An agent consists of a state (settings, spaces, model, random streams, normalization) and of its training
    (environments and training loop); this class gives both the names of Stable Baselines. Every argument of the
    constructor can be read as an attribute, and `verbose` and `tensorboard_log` be assigned.

    Attributes:
        model: policy, average policy and optimiser.
        env: the environments with their own observations, actions and rewards; None without one.
        n_envs: their number.
        observation_space: of one environment.
        action_space: likewise.
        num_timesteps: agent steps so far, over all environments.
        logger: receives the metrics and episodes of `learn`.
        seed (int): that the random streams began with.
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
        """Builds networks and optimiser; the environments are reset when `learn` is first called.

        Args:
            policy: MlpPolicy, MlpLstmPolicy, MlpLnLstmPolicy, CnnPolicy, CnnLstmPolicy or CnnLnLstmPolicy; the name of
                any other network; or a function from observations to features, in Keras (or a `Recurrent`, a `Split`).
            env: a vector environment with SAME_STEP autoreset or of Stable Baselines, a single environment, or an id;
                with `actors` an id, or a function that makes the environments of each collector.
            gamma: discount factor.
            n_steps: agent steps per environment in one segment.
            num_procs: Stable Baselines' old name of `n_cpu_tf_sess`.
            q_coef: weight of the critic's loss.
            ent_coef: weight of the entropy bonus.
            max_grad_norm: clips the gradient's global norm; None does not.
            learning_rate: at the start.
            lr_schedule: its course: a name, or a function of the fraction of training done.
            rprop_alpha: RMSProp's decay.
            rprop_epsilon: RMSProp's epsilon.
            buffer_size: agent steps kept for replay, per environment.
            replay_ratio: replay updates per on-policy update, on average; 0 switches replay off.
            replay_start: agent steps per environment before replay begins.
            correction_term: truncation of importance weights.
            trust_region: whether it is on.
            alpha: decay of the average policy.
            delta: bound of the trust region.
            verbose: 0 prints nothing, 1 the most important metrics, 2 all of them, as baselines does.
            tensorboard_log: folder of run folders: curves for TensorBoard, and the commands' CSV and JSON files.
            _init_setup_model: whether to call `setup_model` now.
            policy_kwargs: arguments of the named network, such as `dict(net_arch=[64, dict(pi=[32], vf=[32])])`.
            full_tensorboard_log: has no effect: no histograms are written.
            seed: of environments, weights, replay and sampling; None draws one.
            n_cpu_tf_sess: threads of TensorFlow; None lets TensorFlow choose (Stable Baselines: 1). Small networks
                need no more than 2. For a given seed it changes results only in the last bits.
            **beyond: arguments that Stable Baselines did not have: fields of the dataclasses in `acer_tf.config`, as
                `acer_tf.agent.settings.BeyondStableBaselines` lists them.

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
            policy: as of the constructor, like `env`.
            env: environments to learn in.
            config: hyper-parameters.
            continuous: settings that only Box actions have.
            make_env: makes the environments of each collector, if `env` are environments in spite of collectors.
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

        What belongs to a machine is in no file: `tensorboard_log`, `actors` and the arguments that go with these.

        Args:
            load_path: what `save` wrote: the path, whose ending .zip may be left out, or a file open for reading; or
                the folder of a command's run, also while it trains, or one of its checkpoints.
            env: environments to learn in; None suffices to predict.
            custom_objects: further overrides, for Stable Baselines' sake.
            print_system_info: whether to print the versions that the agent was saved with, and those here.
            **overrides: arguments of the constructor that take the place of the file's. A policy, a schedule or an
                optimizer that is a function or class of your own is in no file and must be given. With a seed the
                random streams begin anew, with an optimizer of another class its slots.

        Raises:
            InputError: the file is not that of an agent, or an override or the environment does not fit.
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
        """Reads an agent that Stable Baselines 2 saved, as zip or in the older form; nothing in the file is run.

        The file has neither the average policy nor the optimiser's slots: the average begins as the policy.

        Args:
            path: of the file.
            env: environments to learn in, whose bounds then take the place of the file's; None suffices to predict.
            statistics: what `VecNormalize.save` wrote (`vecnormalize.pkl`), or the older folder of `obs_rms.pkl` and
                `ret_rms.pkl`; the agent then normalises by it. None: the agent does not.
            **overrides: arguments of the constructor that take the place of the file's.

        Raises:
            InputError: the file is not such an agent, has a policy of the user's own, or an argument does not fit it.
        """
        return cls._of(import_agent(read_stable_baselines(path), path, env, statistics, overrides))

    @classmethod
    def import_baselines(
        cls: type[AnyACER], path: str | Path, env: AgentEnv | None = None, **overrides: Any
    ) -> AnyACER:
        """Reads an agent that baselines saved: weights, average policy and slots; nothing in the file is run.

        The file has no hyper-parameters; they are the defaults of baselines' learn(). What leaves no trace in the
        weights, such as an activation, is taken to be baselines' own.

        Args:
            path: of the file.
            env: environments to learn in; None suffices to predict, except from images that are not 84 x 84 pixels.
            **overrides: arguments of the constructor.

        Raises:
            InputError: the file is not such an agent, or an argument does not fit it.
        """
        return cls._of(import_agent(read_baselines(path), path, env, None, overrides))

    @classmethod
    def from_preset(cls: type[AnyACER], name: str | Path, env: AgentEnv | None = None, **overrides: Any) -> AnyACER:
        """Makes an agent with settings by name.

        What the preset does not set has the default of `acer_tf.learn`, which for `buffer_size`, `replay_start` and
        `bootstrap_truncated` is not that of the constructor.

        Args:
            name: of a preset in `acer_tf/configs`, or the path of a file of your own, ending in .yml.
            env: environments, used unchanged; an id, made with the preset's settings; or None for the preset's id.
            **overrides: arguments of the constructor, or `num_env`, in place of the preset's.

        Raises:
            InputError: there is no such preset, it has no environment, or an argument cannot work.

        Example:
            >>> agent = ACER.from_preset("CartPole-v1", verbose=1)
        """
        return cls(**preset_arguments(name, env, overrides))

    @classmethod
    def _of(cls: type[AnyACER], training: Training) -> AnyACER:
        """Makes an agent whose state was built."""
        agent = cls.__new__(cls)
        agent._hold(training)
        return agent

    def _hold(self, training: Training) -> None:
        self._training, self._state = training, training.state
        vars(self)["load"] = _refuse_load  # the class's own would seem to change this agent

    def __getattr__(self, name: str) -> Any:
        """Returns an argument of the constructor, as Stable Baselines' attributes do."""
        if name in ARGUMENTS and "_state" in vars(self):
            return self.settings.arguments()[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; of the constructor's arguments only those that a later `learn` reads."""
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
        """The environments with their own observations, actions and rewards; None without one."""
        return self._training.env

    def get_env(self) -> VectorEnv[Any, Any, Any] | VecEnv | None:
        """Returns `env`."""
        return self.env

    def set_env(self, env: AgentEnv) -> None:
        """Replaces the environments, in any number; the next `learn` starts new episodes and an empty replay.

        Raises:
            InputError: their spaces are not the agent's, or ACER cannot train in them; the agent is unchanged.
        """
        self._training.set_env(env)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses pickling: files of this package hold no code."""
        raise InputError("an agent cannot be pickled; save(path) writes it to a file, and ACER.load(path) reads it.")

    def __deepcopy__(self: AnyACER, memo: object) -> AnyACER:
        """Returns the agent that `save` and `load` would give: without environments, and with an empty replay."""
        return self._of(Training(archive.copied(self._state)))

    @property
    def n_envs(self) -> int:
        """Number of environments; for a loaded agent without environments, the number when it was saved."""
        return self._state.n_envs

    def get_vec_normalize_env(self) -> Any:
        """Returns what normalises observations or rewards: `VecNormalize`, or the environments with our wrappers."""
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

        New episodes start in environments that `evaluate_policy` or another agent has stepped since, and after an error
        or Ctrl-C.

        Args:
            total_timesteps: agent steps to add, over all environments; rounded up to whole segments of all. Whole, such
                as 100_000 or 1e5.
            callback: a callback (`acer_tf.callbacks`), a function of the local and global variables that is called
                after each step of all environments and ends training with False, or a list of these.
            log_interval: iterations (one segment from every environment each) between two rows of metrics.
            tb_log_name: name of the run's folder in `tensorboard_log`, which gets a number; "exp/one" gives exp/one_1.
            reset_num_timesteps: whether to restart the step counter and the schedule of the learning rate, in a new run
                folder. Otherwise the fraction of training done, on which the rate depends, counts all steps: those so
                far and `total_timesteps`; and the files of the run continue.
            progress_bar: whether to show progress.

        Returns:
            The agent.

        Raises:
            InputError: an argument is invalid, there is no environment, or a value is not finite.
            EnvironmentFailedError: an environment raised an error.
        """
        self._training.learn(
            self, total_timesteps, callback, log_interval, tb_log_name, reset_num_timesteps, progress_bar
        )
        return self

    def close(self) -> None:
        """Ends the collectors of an agent with `actors`; the next `learn` starts others, with an empty replay."""
        self._training.forget()

    @property
    def logger(self) -> Logger:
        """The logger of the current or last `learn`; callbacks add numbers by its method `record`."""
        return self._training.logger

    def begin(self, logger: Logger, is_quiet: bool = True, goes_on: Callable[[], bool] = lambda: True) -> TrainingLoop:
        """Resets the environments and returns the training loop, for those who run it themselves.

        Args:
            logger: receives metrics and episodes.
            is_quiet: leaves out what is said of replay's size and precision.
            goes_on: called about once a second while collectors are waited for; False ends training.
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
        """Acts for one observation or for a batch, of any size.

        What is drawn comes from a random stream of its own: predictions do not change what is learned.

        Args:
            observation: one, or a batch as a vector environment gives it, not normalised.
            state: [N, P], what the call before returned; None at the start, and for feed-forward policies.
            mask: [N] bool, True where an episode just ended and the state starts anew; None: nowhere.
            deterministic: takes the most probable action (the mean); else it is drawn.
            episode_start: Stable-Baselines3's name of `mask`.
            action_masks: the possible actions, [N, A] or, for one observation, [A]; of MultiDiscrete and MultiBinary
                actions the masks of the dimensions, one after the other (of one observation, a tuple will do). None:
                all are possible. Ignored by an agent with `action_masks=False`.

        Returns:
            The action or actions, in the environment's own units and bounds, and the state [N, P] float32 after them,
            None for feed-forward policies.

        Raises:
            InputError: an argument does not fit the agent.
        """
        mask = episode_start if mask is None else mask
        action, is_single = predictions.act(self._state, observation, state, mask, deterministic, action_masks)
        actions = self._state.spaces.decode_actions(action.actions)
        return (actions[0] if is_single else actions), (action.state if action.state.shape[1] else None)

    def predicting_from(self, seed: int) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which `predict` draws from a stream with this seed, and leaves its own as it is."""
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
        """Returns what the policy would do, or how probable given actions are.

        Args:
            observation: one, or a batch, not normalised.
            state: [N, P], as `predict` takes it.
            mask: [N] bool, True where the state starts anew.
            actions: one for each observation; None asks for the whole distribution.
            logp: whether the logarithm of the actions' probability is returned.
            action_masks: the possible actions, as `predict` takes them.

        Returns:
            Without `actions`: probabilities [N, A]; of a Box mean and standard deviation, [N, *action] each. With:
            their probability, or density, [N, 1]. For one observation without the first axis.

        Raises:
            InputError: an argument does not fit the agent.
        """
        return predictions.action_probability(self._state, observation, state, mask, actions, logp, action_masks)

    def explain(
        self, observation: Any, state: Any = None, mask: Any = None, *, action_masks: Any = None
    ) -> Explanation:
        """Returns what policy and critic make of observations: the distribution of actions, V and Q.

        Draws nothing: the actions of the next `predict` are the same.

        Args:
            observation: a batch, or one, which is a batch of one.
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
        """Sets parameters by name. The average policy follows; optimiser and settings stay as they are.

        Args:
            load_path_or_dict: arrays by name, or the file of an agent, which also has the average policy.
            exact_match: whether there must be one for each parameter; False leaves those as they are that are not
                given.

        Raises:
            InputError: an entry is missing, unknown, misshapen or not finite; nothing has been changed then.
        """
        given = load_path_or_dict
        arrays, averages = (given, None) if isinstance(given, Mapping) else archive.parameters(given)
        self._state.load_parameters(arrays, averages, exact_match=exact_match)

    def load_weights(self, load_path: File | SavedAgent) -> None:
        """Loads parameters, average policy, optimiser and normalization, and nothing else; `load_path` as of `load`.

        Raises:
            InputError: it is not the file of an agent, or of another network; nothing has been changed then.
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
        """Trains the policy to act as an expert did (behaviour cloning); the average policy follows.

        70 % of the steps are trained on, the rest validates. Recurrent policies learn from `n_steps` steps at a time,
        from the zero state.

        The normalisation of observations, if there is one that has seen none yet, begins with those of the data.

        Args:
            dataset: arrays `obs` and `actions`, one row a step, and for recurrent policies `episode_starts`; the path
                of an npz file of these, as Stable Baselines wrote them; or a Minari dataset or its id.
            n_epochs: passes over the data.
            learning_rate: of Adam.
            adam_epsilon: of Adam.
            val_interval: epochs between two reports of the losses, if `verbose`; None reports ten times.

        Returns:
            The agent.

        Raises:
            InputError: an argument or the data do not fit the agent; nothing has been changed then.
            NotFiniteError: the loss is not finite; the updates before that have been made.
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

        Its inputs are `obs` [N, ...], as the environment gives them, and of a recurrent policy `state` [N, P] float32
        and `mask` [N] bool; its outputs `action` [N, ...] in the environment's units, and `state`. Parts of Dict or
        Tuple observations are `obs_<name>`. A SavedModel has them in its signature `serving_default`; in ONNX the
        state that comes out is `next_state`.

        Args:
            path: the folder of a SavedModel, or a file of ONNX or TFLite; must not exist, but for an empty folder.
            format: `saved_model`, `onnx` (needs tf2onnx: `pip install -e ".[onnx]"`) or `tflite`.

        Raises:
            InputError: the path exists or cannot be written, tf2onnx is missing, or the format is unknown.
        """
        exporting.export(path, self._state, format)

    def save(self, save_path: File, cloudpickle: bool = False) -> None:
        """Writes the agent to a zip file of JSON and npz: everything needed to continue training, except replay.

        Args:
            save_path: a path, which gets the suffix .zip if it has none, or a file open for writing.
            cloudpickle: must be False: this package writes no code into files.

        Raises:
            InputError: `cloudpickle` is True, or the target is neither.
            OSError: the file cannot be written; an existing file is unchanged.
        """
        if cloudpickle:
            raise InputError("cloudpickle=True is not possible: files of this package hold no code.")
        archive.save(save_path, self._state)

    def state_dict(self) -> dict[str, Any]:
        """Returns what a checkpoint needs besides the state of the training loop, so that `load` can read it."""
        return archive.state_dict(self._state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores the step counter; all else that is learned is in the state of the training loop.

        Raises:
            InputError: it is of an agent with other spaces.
        """
        archive.check_spaces(state["data"], self._state)
        self.num_timesteps = state["data"]["num_timesteps"]
