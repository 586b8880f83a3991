"""The arguments of `ACER`: what they mean to the engine, and how a file stores them."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

import keras
import tensorflow as tf

from acer_tf.config import COLLECTING, CONTINUOUS, Collecting, Config, Continuous, Preprocessing
from acer_tf.errors import InputError
from acer_tf.networks.names import ACTIVATIONS
from acer_tf.networks.registry import Network, with_defaults
from acer_tf.schema import Positive, SmallCount, to_python, validate_fields
from acer_tf.storage.paths import user_path
from acer_tf.suggestions import suggestion
from acer_tf.system.streams import checked_seed

NAMES = {"nsteps": "n_steps", "lr": "learning_rate", "lrschedule": "lr_schedule", "c": "correction_term"}
"""Fields of `Config` that `ACER` calls by another name, that of Stable Baselines."""
OF_LEARN = ("total_timesteps", "log_interval")
"""Fields of `Config` that are arguments of `ACER.learn`, not of its constructor."""
FREE_ARGUMENTS = ("verbose", "tensorboard_log")
"""Arguments of `ACER` that may change between two calls of `learn`."""
OF_MACHINE = (*vars(COLLECTING), "tensorboard_log")
"""Arguments of `ACER` that belong to a machine and are not saved."""
DEFAULTS = {"buffer_size": 5000, "replay_start": 1000, "bootstrap_truncated": True}
"""Defaults of `ACER` that differ from those of `Config`, which are baselines'."""
OPTIMIZERS = (
    "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lamb", "Lion", "Muon", "Nadam", "RMSprop",
    "SGD", "ScheduleFreeAdamW",
)  # fmt: skip
"""Keras' optimisers, the only ones that a file can name."""
PLAIN = (bool, int, float, str, type(None))


class BeyondStableBaselines(TypedDict, total=False):
    """Arguments of `ACER` that Stable Baselines did not have.

    Each is explained at the field of the same name in `acer_tf.config`. The defaults are the same, except that
    `bootstrap_truncated` is True: unlike `learn` and the commands with discrete actions, `ACER` need not match
    baselines there (docs/environments.md). `optimizer` may also be a Keras optimizer; a copy of it is used, at the rate
    of `learning_rate` and `lr_schedule`. The statistics of `normalize_observations` are saved with the agent.
    `reward_scale` is not for Atari. `overlap` and `actors` exclude callbacks. Settings of collectors (`Collecting`) are
    never saved with an agent.
    """

    optimizer: object
    normalize_observations: bool
    normalize_rewards: bool
    reward_scale: float
    compress_replay: bool
    replay_state: str
    burn_in: int
    correction: bool
    q_lambda: float | None
    on_policy_updates: bool
    bootstrap_truncated: bool
    overlap: bool
    precision: str
    action_masks: bool
    sigma: float
    learn_sigma: bool
    num_samples: int
    dueling: bool
    use_q_opc: bool
    actors: int
    ray_address: str | None
    segments_per_update: int
    publish_every: int
    actor_depth: int
    max_staleness: int | None
    actor_timeout: float


@dataclasses.dataclass(frozen=True)
class Settings:
    """Validated arguments of `ACER`, which explains those not listed here.

    Attributes:
        config: hyper-parameters.
        continuous: settings for Box actions only.
        collecting: collectors on Ray, if any.
    """

    policy: str | Network
    config: Config
    continuous: Continuous = CONTINUOUS
    collecting: Collecting = COLLECTING
    policy_kwargs: Mapping[str, Any] | None = None
    normalize_observations: bool = Preprocessing.normalize_observations
    normalize_rewards: bool = Preprocessing.normalize_rewards
    reward_scale: Positive = Preprocessing.reward_scale
    seed: int | None = None
    verbose: Literal[0, 1, 2] = 0
    tensorboard_log: str | Path | None = None
    full_tensorboard_log: bool = False
    n_cpu_tf_sess: SmallCount | None = None

    def __post_init__(self) -> None:
        """Turns the arguments into plain values and checks them."""
        kwargs = to_python(self.policy_kwargs)
        if kwargs is not None and not isinstance(kwargs, Mapping):
            raise InputError(f"policy_kwargs is {kwargs!r}; expected arguments of the policy by name, or None.")
        plain: dict[str, Any] = {
            "policy_kwargs": {name: _named_activation(value) for name, value in (kwargs or {}).items()},
            "seed": checked_seed(self.seed),
            "verbose": int(self.verbose) if isinstance(self.verbose, bool) else self.verbose,
            "tensorboard_log": None if self.tensorboard_log is None else str(user_path(self.tensorboard_log)),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        validate_fields(self)
        preprocessing = Preprocessing(self.normalize_observations, self.normalize_rewards, self.reward_scale)
        self.collecting.check(overlap=self.config.overlap, preprocessing=preprocessing)

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> "Settings":
        """Returns the settings for arguments of `ACER`; error messages use the names of these arguments."""
        given = to_python(dict(arguments))
        config = {field: given.pop(name) for field, name in CONFIG_ARGUMENTS.items() if name in given}
        continuous = {name: given.pop(name) for name in vars(CONTINUOUS) if name in given}
        collecting = {name: given.pop(name) for name in vars(COLLECTING) if name in given}
        return cls(
            config=Config(**config, names=NAMES),
            continuous=Continuous(**continuous),
            collecting=Collecting(**collecting),
            **given,
        )

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of `ACER`, except the environment, that yield these settings."""
        groups = ("config", "continuous", "collecting")
        own = {name: value for name, value in vars(self).items() if name not in groups}
        config = {name: getattr(self.config, field) for field, name in CONFIG_ARGUMENTS.items()}
        return {**own, **config, **vars(self.continuous), **vars(self.collecting)}


CONFIG_ARGUMENTS = {name: NAMES.get(name, name) for name in vars(Config()) if name not in OF_LEARN}
"""The argument of `ACER` for each field of `Config` that has one."""
ARGUMENTS = list(Settings("mlp", Config(), seed=0).arguments())
"""All arguments of `ACER` except the environment."""


def check_arguments(names: Iterable[str]) -> None:
    """Refuses a name that is not an argument of `ACER`."""
    for name in names:
        if name not in ARGUMENTS:
            raise InputError(f"ACER takes no argument {name}{suggestion(name, ARGUMENTS)}.")


def to_plain(settings: Settings) -> dict[str, Any]:
    """Returns what a file can hold: arguments with plain values and, as `functions`, the names of all others."""
    plain: dict[str, Any] = {}
    functions = []
    for name, value in settings.arguments().items():
        if name in OF_MACHINE:
            continue
        stored = _optimizer_to_plain(value) if isinstance(value, keras.optimizers.Optimizer) else value
        if _is_plain(stored):
            plain[name] = _plain(stored)
        else:
            functions.append(name)
    return {**plain, "functions": functions}


def from_plain(plain: Mapping[str, Any], overrides: Mapping[str, Any], source: str) -> Settings:
    """Returns the settings that `to_plain` made plain, with overrides; `source` is the file's name in messages.

    A file holds only values and names that this package knows, never an object, a path or an address.

    Raises:
        InputError: an argument is unknown or invalid, a function is missing, or the file would start collectors.
    """
    values = {name: value for name, value in plain.items() if name != "tensorboard_log"}  # earlier versions saved it
    check_arguments(overrides)
    for name in values.pop("functions"):
        if name not in overrides:
            raise InputError(
                f"{name} in {source} is or contains a function, which a file cannot hold; pass it: "
                f"ACER.load(path, {name}=...)."
            )
    if collecting := values.keys() & vars(COLLECTING).keys():  # only the user chooses the cluster and its token
        raise InputError(f"{source} is damaged: it sets {min(collecting)}, which no agent's file does.")
    if isinstance(values.get("optimizer"), dict) and "optimizer" not in overrides:
        values["optimizer"] = _optimizer_from_plain(values["optimizer"], values["learning_rate"])
    return settings_in_file(values, overrides, source)


def settings_in_file(values: Mapping[str, Any], overrides: Mapping[str, Any], source: str) -> Settings:
    """Returns the settings for arguments of `ACER` that a file holds, with overrides.

    Raises:
        InputError: an argument is invalid; the message names the file, `source`, unless it is one of the overrides.
    """
    try:
        return Settings.of({**values, **overrides})
    except InputError as error:
        if str(error).partition(" ")[0] in overrides:  # not the file's fault
            raise
        raise InputError(f"{source}: {error}") from error


def check_policy_kwargs(stored: Mapping[str, Any], settings: Settings, source: str) -> None:
    """Checks that a policy has the arguments with which its weights were learned.

    Functions cannot be compared, as files do not hold them. Arguments of another policy need no check: its weights
    do not fit anyway.

    Args:
        stored: result of `to_plain`.
        settings: settings of the agent that gets the weights.
        source: the file's name, for messages.
    """
    policy = settings.policy
    if "policy_kwargs" not in stored or stored.get("policy") != policy:
        return
    there, here = (with_defaults(policy, kwargs or {}) for kwargs in (stored["policy_kwargs"], settings.policy_kwargs))
    for name in sorted((there.keys() | here.keys()) - {"value_network"}):  # its weights have other names
        theirs, ours = (_plain(kwargs.get(name)) for kwargs in (there, here))
        if theirs != ours:
            raise InputError(
                f"policy_kwargs differ: {name} is {theirs!r} in {source}, but {ours!r} here; what was learned depends "
                "on it."
            )


def _plain(value: Any) -> Any:
    """Returns a plain value as a file gives it back, with lists for tuples; any other value unchanged."""
    return json.loads(json.dumps(value)) if _is_plain(value) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_plain(item) for name, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, PLAIN)


def _named_activation(value: Any) -> Any:
    """Returns the name of an activation of TensorFlow or Keras, which a file can hold; anything else unchanged."""
    name = getattr(value, "__name__", "")
    is_known = name in ACTIVATIONS and any(
        getattr(home, name, None) is value for home in (tf.nn, keras.activations, keras.ops)
    )
    return name if is_known else value


def optimizer_name(settings: Settings) -> str:
    """Returns the name of the optimizer in a file: its own, or that of its class."""
    optimizer = settings.config.optimizer
    return optimizer if isinstance(optimizer, str) else type(optimizer).__qualname__


def _optimizer_to_plain(optimizer: keras.optimizers.Optimizer) -> Any:
    """Returns class and arguments of one of Keras' own optimisers; any other optimiser unchanged."""
    name = type(optimizer).__name__
    if name not in OPTIMIZERS or getattr(keras.optimizers, name, None) is not type(optimizer):
        return optimizer
    arguments = {key: value for key, value in optimizer.get_config().items() if key != "learning_rate"}
    return {"class": name, "arguments": arguments}


def _optimizer_from_plain(plain: Mapping[str, Any], learning_rate: float) -> keras.optimizers.Optimizer:
    if plain["class"] not in OPTIMIZERS:
        raise ValueError(f"its optimizer is none of {', '.join(OPTIMIZERS)}")
    optimizer: keras.optimizers.Optimizer = getattr(keras.optimizers, plain["class"])(
        learning_rate=learning_rate, **plain["arguments"]
    )
    return optimizer
