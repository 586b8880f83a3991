"""The class `ACER`, with the names of Stable Baselines 2."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from acer_tf.agent import archive, conversion
from acer_tf.agent.from_preset import preset_arguments
from acer_tf.agent.learner import Learner
from acer_tf.agent.translation import Translation
from acer_tf.config import CONTINUOUS, Config
from acer_tf.envs.make import brought_settings, unwrap
from acer_tf.errors import InputError, nearest
from acer_tf.importers.baselines import read_baselines
from acer_tf.importers.imported import ImportedAgent
from acer_tf.importers.normalization import read_normalization
from acer_tf.importers.stable_baselines import read_stable_baselines
from acer_tf.networks.registry import Network
from acer_tf.storage.agent_file import File


class ACER(Learner):
    """Actor-critic with experience replay, as in Stable Baselines 2, whose names and defaults these are.

    Every argument can be read as an attribute. What is new stands after `n_cpu_tf_sess`.

    Attributes:
        model: policy, average policy and optimiser.
        env: the environments with their own observations, actions and rewards; None without one.
        n_envs: their number.
        observation_space: of one environment.
        action_space: likewise.
        num_timesteps: agent steps so far, over all environments.
        logger: takes the statistics of `learn`.
        seed: that the random streams began with.
    """

    def __init__(
        self,
        policy: str | Network,
        env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | str,
        gamma: float = Config.gamma,
        n_steps: int = Config.nsteps,
        num_procs: int | None = None,
        q_coef: float = Config.q_coef,
        ent_coef: float = Config.ent_coef,
        max_grad_norm: float | None = Config.max_grad_norm,
        learning_rate: float = Config.lr,
        lr_schedule: str | Callable[[float], float] = Config.lrschedule,
        rprop_alpha: float = Config.rprop_alpha,
        rprop_epsilon: float = Config.rprop_epsilon,
        buffer_size: int = 5000,
        replay_ratio: float = Config.replay_ratio,
        replay_start: int = 1000,
        correction_term: float = Config.c,
        trust_region: bool = Config.trust_region,
        alpha: float = Config.alpha,
        delta: float = Config.delta,
        verbose: int = 0,
        tensorboard_log: str | Path | None = None,
        _init_setup_model: bool = True,
        policy_kwargs: Mapping[str, Any] | None = None,
        full_tensorboard_log: bool = False,
        seed: int | None = None,
        n_cpu_tf_sess: int | None = None,
        *,
        optimizer: object = Config.optimizer,
        normalize_observations: bool = False,
        normalize_rewards: bool = False,
        reward_scale: float = 1.0,
        compress_replay: bool = Config.compress_replay,
        replay_state: str = Config.replay_state,
        burn_in: int = Config.burn_in,
        correction: bool = Config.correction,
        q_lambda: float | None = Config.q_lambda,
        on_policy_updates: bool = Config.on_policy_updates,
        bootstrap_truncated: bool = True,
        overlap: bool = Config.overlap,
        sigma: float = CONTINUOUS.sigma,
        learn_sigma: bool = CONTINUOUS.learn_sigma,
        num_samples: int = CONTINUOUS.num_samples,
        dueling: bool = CONTINUOUS.dueling,
        use_q_opc: bool = CONTINUOUS.use_q_opc,
    ) -> None:
        """Builds networks and optimiser; the environments are reset when `learn` is first called.

        Args:
            policy: MlpPolicy, MlpLstmPolicy, MlpLnLstmPolicy, CnnPolicy, CnnLstmPolicy or CnnLnLstmPolicy; the name of
                any other network; or a function from observations to features, in Keras (or a `Recurrent`, a `Split`).
            env: a vector environment with SAME_STEP autoreset, a single environment, or an id.
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
            verbose: 0 prints nothing, 1 or 2 the table of statistics.
            tensorboard_log: folder of run folders: curves for TensorBoard, and the commands' CSV and JSON files.
            _init_setup_model: whether to call `setup_model` now.
            policy_kwargs: arguments of the named network, such as `dict(net_arch=[64, dict(pi=[32], vf=[32])])`.
            full_tensorboard_log: has no effect: no histograms are written.
            seed: of environments, weights, replay and sampling; None draws one.
            n_cpu_tf_sess: threads of TensorFlow; None leaves it the choice (Stable Baselines: 1). Small networks need
                no more than 2. Results of a seed do not depend on it but in the last bits.
            optimizer: "rmsprop" (TensorFlow 1's form), "adam", or a Keras optimizer, of which a copy is used, at the
                rate of `learning_rate` and `lr_schedule`.
            normalize_observations: by their running mean and variance, which are saved with the agent.
            normalize_rewards: by the running deviation of the discounted return.
            reward_scale: the agent's rewards are multiplied by it, recorded returns are not; not for Atari.
            compress_replay: see `Config`, as for all arguments up to `overlap`.
            replay_state: where a recurrent policy's state starts in training.
            burn_in: first steps of a segment that only warm it up.
            correction: whether the policy gradient has its bias correction.
            q_lambda: trace of Q(lambda) in place of Retrace.
            on_policy_updates: whether new segments are trained on at once.
            bootstrap_truncated: whether returns go on where a time limit cut an episode short. Unlike `learn` and the
                commands, which are faithful, an agent of this class does so: see docs/environments.md.
            overlap: whether the next segment is collected while updates from replay run; callbacks cannot follow then.
            sigma: see `Continuous`, as for all arguments from here on.
            learn_sigma: whether sigma is learned.
            num_samples: actions that the dueling network samples.
            dueling: whether Q is built from V and sampled advantages.
            use_q_opc: whether the policy gradient uses Q^opc.

        Raises:
            InputError: an argument or the environment cannot work.
        """
        arguments = locals()
        settings = {name: arguments[name] for name in _ARGUMENTS}
        if num_procs is not None:
            settings["n_cpu_tf_sess"] = num_procs
        self._begin(settings)
        environment = self._made(env)
        own = unwrap(environment)
        brought = brought_settings(environment)
        self._settings |= brought if reward_scale == 1 else brought | {"reward_scale": reward_scale}
        self._translation = Translation(
            own.single_observation_space, own.single_action_space, self._settings["normalize_observations"]
        )
        self._use(environment)
        if _init_setup_model:
            self.setup_model()

    @classmethod
    def load(
        cls,
        load_path: File,
        env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | str | None = None,
        custom_objects: Mapping[str, Any] | None = None,
        **overrides: Any,
    ) -> "ACER":
        """Reads what `save` wrote: every argument, networks, optimiser, random streams, steps, statistics.

        Args:
            load_path: the path, whose ending .zip may be left out, or a file open for reading.
            env: environments to learn in; None is enough to predict.
            custom_objects: further overrides, for Stable Baselines' sake.
            **overrides: arguments of the constructor that take the place of the file's. A policy, a schedule or an
                optimizer that is a function or class of your own is in no file and must be given. With another seed the
                random streams begin anew, with another optimizer its slots.

        Raises:
            InputError: the file is not that of an agent, or an override or the environment does not fit.
        """
        agent = cls.__new__(cls)
        agent.num_timesteps, agent.n_envs = archive.load(load_path, agent, {**(custom_objects or {}), **overrides})
        if env is not None:
            agent.set_env(env)
        return agent

    @classmethod
    def import_stable_baselines(
        cls,
        path: str | Path,
        env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | str | None = None,
        *,
        statistics: str | Path | None = None,
        **overrides: Any,
    ) -> "ACER":
        """Reads an agent that Stable Baselines 2 saved, as zip or in the older form; nothing in the file is run.

        The file has neither the average policy nor the optimiser's slots: the average begins as the policy.

        Args:
            path: of the file.
            env: environments to learn in, whose bounds then take the place of the file's; None is enough to predict.
            statistics: folder with `obs_rms.pkl` and `ret_rms.pkl`, by which the agent then normalises.
            **overrides: arguments of the constructor that take the place of the file's.

        Raises:
            InputError: the file is no such agent, or has a policy of the user's own, or an argument does not fit it.
        """
        return cls._imported(read_stable_baselines(path), path, env, statistics, overrides)

    @classmethod
    def import_baselines(
        cls,
        path: str | Path,
        env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | str | None = None,
        **overrides: Any,
    ) -> "ACER":
        """Reads an agent that baselines saved: weights, average policy and slots; nothing in the file is run.

        The file has no hyper-parameters; they are the defaults of baselines' learn(). What leaves no trace in the
        weights, such as an activation, is taken to be baselines' own.

        Args:
            path: of the file.
            env: see `import_stable_baselines`; needed for images of other than 84 x 84 pixels.
            **overrides: arguments of the constructor.

        Raises:
            InputError: as `import_stable_baselines`.
        """
        return cls._imported(read_baselines(path), path, env, None, overrides)

    @classmethod
    def _imported(
        cls, old: ImportedAgent, path: str | Path, env: Any, folder: str | Path | None, overrides: Mapping[str, Any]
    ) -> "ACER":
        for name in overrides:
            if name not in _ARGUMENTS:
                raise InputError(
                    f"ACER takes no argument {name}; the nearest are {', '.join(nearest(name, _ARGUMENTS))}."
                )
        found = {} if folder is None else read_normalization(folder)
        normalized = {"normalize_observations": "obs_mean" in found, "normalize_rewards": "return_mean" in found}
        policy = {"policy": old.policy, "policy_kwargs": old.policy_kwargs}
        defaults = {name: inspect.signature(ACER.__init__).parameters[name].default for name in _ARGUMENTS}
        agent = cls.__new__(cls)
        agent._begin({**defaults, **old.settings, **normalized, **policy, **overrides})
        environment = None if env is None else agent._made(env)
        agent._translation = conversion.translation(old, path, environment, agent._settings["normalize_observations"])
        agent.setup_model()
        agent._statistics = conversion.check_statistics(found, agent._translation.flatten.space.shape, folder or path)
        conversion.load(agent, old, path)
        if environment is not None:
            agent._use(environment)
        return agent

    @classmethod
    def from_preset(
        cls,
        name: str | Path,
        env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | str | None = None,
        **overrides: Any,
    ) -> "ACER":
        """Makes an agent with settings by name; see `preset_arguments` for the arguments and errors.

        Example:
            >>> agent = ACER.from_preset("CartPole-v1", verbose=1)
        """
        return cls(**preset_arguments(name, env, overrides))


_OTHERS = ("self", "env", "num_procs", "_init_setup_model")
_ARGUMENTS = [name for name in inspect.signature(ACER.__init__).parameters if name not in _OTHERS]
