"""The part of an agent that needs no environment: its arguments, spaces, networks, and how it acts."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.acer import make_model
from acer_tf.agent import archive, cloning, exporting, probabilities, state
from acer_tf.agent.settings import Settings, checked, config_of, continuous_of
from acer_tf.agent.threads import use_threads
from acer_tf.agent.translation import Translation
from acer_tf.errors import InputError
from acer_tf.model import Model
from acer_tf.policies.actor import Actor
from acer_tf.segment import Action
from acer_tf.storage.agent_file import Arrays, File
from acer_tf.system.streams import checked_seed, prediction_seed

Array = NDArray[Any]
AnyHolder = TypeVar("AnyHolder", bound="PolicyHolder")


class PolicyHolder:
    """Predicts; see `ACER`."""

    model: Model
    seed: int
    verbose: int
    _settings: Settings
    _translation: Translation
    _statistics: Arrays

    def _begin(self, settings: Settings) -> None:
        """Takes the arguments of the constructor.

        Raises:
            InputError: one of them cannot work.
        """
        settings = checked(settings)
        settings["seed"] = checked_seed(settings["seed"])
        self.__dict__["_settings"] = settings
        self._statistics = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Reads an argument of the constructor."""
            settings = self.__dict__.get("_settings", {})
            if name not in settings:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            return settings[name]

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuses to change an argument of the constructor, which would have no effect.

        Raises:
            InputError: it is one, and not `verbose` or `tensorboard_log`.
        """
        if name not in self.__dict__.get("_settings", {}):
            super().__setattr__(name, value)
        elif name in ("verbose", "tensorboard_log"):
            self._settings |= checked({**self._settings, name: value})
        else:
            raise InputError(f"{name} is fixed when the agent is made; ACER.load(path, env, {name}=...) changes it.")

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """Space of one environment's observations."""
        return self._translation.observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """Space of one environment's actions."""
        return self._translation.action_space

    @property
    def _current_statistics(self) -> Arrays:
        return self._statistics

    def _use_statistics(self, statistics: Arrays) -> None:
        self._statistics = statistics

    def setup_model(self) -> None:
        """Builds networks and optimiser; the constructor does, unless it is told not to."""
        use_threads(self._settings["n_cpu_tf_sess"])
        self._rng = np.random.RandomState(self.seed)
        self.model = make_model(
            self._settings["policy"],
            self._translation.network_observations,
            self._translation.network_actions,
            self._rng,
            self.seed,
            config_of(self._settings),
            continuous_of(self._settings),
            **self._settings["policy_kwargs"],
        )
        predictions = tf.random.Generator.from_seed(prediction_seed(self.seed), alg="philox")
        self._actor = Actor(self.model.policy, predictions)

    def predict(
        self, observation: Any, state: Any = None, mask: Any = None, deterministic: bool = False
    ) -> tuple[Any, NDArray[np.float32] | None]:
        """Acts for one observation or for a batch, of any size.

        What is drawn comes from a random stream of its own: predictions do not change what is learned.

        Args:
            observation: one, or a batch as a vector environment gives it, not normalised.
            state: [N, P], what the call before returned; None at the start, and for feed-forward policies.
            mask: [N] bool, True where an episode just ended and the state starts anew; None: nowhere.
            deterministic: takes the most probable action (the mean); else it is drawn.

        Returns:
            The action or actions, in the environment's own units and bounds, and the state [N, P] float32 after them,
            None for feed-forward policies.

        Raises:
            InputError: an argument does not fit the agent.
        """
        action, is_single = self._act(observation, state, mask, deterministic)
        actions = self._translation.actions(action.actions)
        return (actions[0] if is_single else actions), (action.state if action.state.shape[1] else None)

    def action_probability(
        self, observation: Any, state: Any = None, mask: Any = None, actions: Any = None, logp: bool = False
    ) -> Any:
        """Returns what the policy would do, or how probable given actions are.

        Args:
            observation: see `predict`, as for the next two.
            state: the state before.
            mask: where it starts anew.
            actions: one for each observation; None asks for the whole distribution.
            logp: whether the logarithm of the actions' probability is returned.

        Returns:
            Without `actions`: probabilities [N, A]; of a Box mean and standard deviation, [N, *action] each. With:
            their probability, or density, [N, 1]. For one observation without the first axis.

        Raises:
            InputError: an argument does not fit the agent.
        """
        action, is_single = self._act(observation, state, mask, deterministic=True)
        sigma = None if self._settings["learn_sigma"] else self._settings["sigma"]
        if actions is not None:
            found = probabilities.likelihood(action.mus, sigma, self._translation, actions, logp)
            return found[0] if is_single else found
        distribution = probabilities.distribution(action.mus, sigma, self._translation)
        if not is_single:
            return distribution
        return distribution[0] if isinstance(distribution, np.ndarray) else tuple(part[0] for part in distribution)

    def get_parameters(self) -> dict[str, Array]:
        """Returns the parameters of the networks by name."""
        return {name: variable.numpy() for name, variable in self.model.policy.params.items()}

    def get_parameter_list(self) -> list[tf.Variable]:
        """Returns the variables that `get_parameters` reads, in the same order."""
        return list(self.model.params)

    def load_parameters(self, load_path_or_dict: File | Mapping[str, Any], exact_match: bool = True) -> None:
        """Sets parameters by name. The average policy follows; optimiser and settings stay as they are.

        Args:
            load_path_or_dict: arrays by name, or the file of an agent, which also has the average policy.
            exact_match: whether there must be one for each parameter.

        Raises:
            InputError: an entry is missing, unknown, misshapen or not finite; nothing has been changed then.
        """
        if isinstance(load_path_or_dict, Mapping):
            state.load_parameters(self.model, load_path_or_dict, {}, exact_match)
        else:
            state.load_parameters(self.model, *archive.parameters(load_path_or_dict), exact_match)

    def pretrain(
        self: AnyHolder,
        dataset: Any,
        n_epochs: int = 10,
        learning_rate: float = 1e-4,
        adam_epsilon: float = 1e-8,
        val_interval: int | None = None,
    ) -> AnyHolder:
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
        """
        cloning.pretrain(self, dataset, n_epochs, learning_rate, adam_epsilon, val_interval)
        return self

    def export(self, path: str | Path) -> None:
        """Writes the deterministic policy as a TensorFlow SavedModel, which needs nothing of this package.

        Its signature `serving_default` takes `obs` [N, ...], as the environment gives them, and of a recurrent policy
        `state` [N, P] float32 and `mask` [N] bool, and returns `action` [N, ...] in the environment's units, and
        `state`. Parts of Dict or Tuple observations are `obs_<name>`.

        Raises:
            InputError: the path is a file or cannot be written.
        """
        exporting.export(path, self.model.policy, self._translation, self._current_statistics)

    def _reseed(self, seed: int) -> None:
        self._settings["seed"] = checked_seed(seed)
        self.model.reseed(self.seed)
        self._actor.generator.reset_from_seed(prediction_seed(self.seed))
        self._rng.seed(self.seed)

    def _act(self, observation: Any, state: Any, mask: Any, deterministic: bool) -> tuple[Action, bool]:
        obs, is_single = self._translation.observations(observation, self._current_statistics)
        if state is None:
            states = self.model.initial_state(len(obs))
        else:
            states = np.asarray(state, np.float32)
            states = states[np.newaxis] if states.ndim == 1 else states
        self.model.policy.check_state(states, len(obs))
        masks = np.zeros(len(obs), np.bool_) if mask is None else np.atleast_1d(np.asarray(mask, np.bool_))
        if masks.shape != (len(obs),):
            raise InputError(f"the mask has shape {masks.shape}; expected ({len(obs)},), one for each observation.")
        return self._actor.act(obs, states, masks, deterministic), is_single
