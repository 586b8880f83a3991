"""Hyper-parameters of ACER: their defaults stand here and nowhere else."""

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from acer_tf.errors import InputError, nearest
from acer_tf.maths.schedules import SCHEDULES

REPLAY_STATES = ("zero", "stored")
OPTIMIZERS = ("rmsprop", "adam")
PRECISIONS = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """ACER itself."""

    nsteps: int = 20
    """Agent steps per environment in one segment."""
    gamma: float = 0.99
    """Discount factor per agent step."""
    q_coef: float = 0.5
    """Weight of the critic's loss."""
    ent_coef: float = 0.01
    """Weight of the entropy bonus."""
    c: float = 10.0
    """Truncation of the importance weights."""
    trust_region: bool = True
    """Whether the policy gradient is projected so that it stays near the average policy."""
    alpha: float = 0.99
    """Decay of the average policy."""
    delta: float = 1
    """How far the projected gradient may point away from the average policy."""
    correction: bool = True
    """Whether the policy gradient has its bias correction; without, it is truncated importance sampling."""
    q_lambda: float | None = None
    """Trace of Q(lambda), which takes Retrace's place; None is Retrace."""
    on_policy_updates: bool = True
    """Whether new segments are trained on at once; without, training is entirely from replay."""
    bootstrap_truncated: bool = False
    """Whether returns go on, with the last state's value, where a time limit cut an episode; baselines ends them."""
    action_masks: bool = True
    """Whether the masks of possible actions that an environment gives are obeyed."""


@dataclasses.dataclass(frozen=True)
class Optimization:
    """How gradients change the weights."""

    lr: float = 7e-4
    """Learning rate at the start."""
    lrschedule: str | Callable[[float], float] = "linear"
    """Factor on `lr` as a function of the fraction of training done: a name, or (in Python) a function."""
    optimizer: object = "rmsprop"
    """Optimiser: rmsprop (TensorFlow 1's form, as in baselines), adam, or (in Python) a Keras optimizer, whose learning
    rate `lr` and `lrschedule` set."""
    rprop_epsilon: float = 1e-5
    """RMSProp's epsilon, inside the root."""
    rprop_alpha: float = 0.99
    """RMSProp's decay."""
    max_grad_norm: float | None = 10
    """Largest global norm of the gradient; None does not clip."""


@dataclasses.dataclass(frozen=True)
class Replay:
    """What is kept of the past, and how often it is trained on."""

    buffer_size: int = 50000
    """Agent steps kept for replay, per environment."""
    replay_start: int = 10000
    """Agent steps per environment before replay begins."""
    replay_ratio: float = 4
    """Mean number of replay updates per on-policy update (Poisson); 0 switches replay off."""
    compress_replay: bool = True
    """Whether replay keeps images compressed, without loss."""
    replay_state: str = "zero"
    """Where a recurrent policy's state starts when it trains on a segment: zero (as in baselines) or stored."""
    burn_in: int = 0
    """First steps of a segment that only warm a recurrent policy's state up and carry no loss."""
    overlap: bool = False
    """Whether a thread collects the next segment, with the parameters so far, while updates from replay run."""


Check = Callable[[Any], bool]


@dataclasses.dataclass(frozen=True)
class Config(Replay, Optimization, Algorithm):
    """ACER's hyper-parameters, with the names and the defaults of baselines' `acer.learn`.

    Every value is checked once, here; numbers of real-valued fields become floats.

    Args:
        names: what error messages call a field whose user knows it under another name.

    Raises:
        InputError: a value cannot work.
    """

    total_timesteps: int = int(80e6)
    """Agent steps, over all environments."""
    log_interval: int = 100
    """Iterations (one segment from every environment each) between two tables of metrics."""
    precision: str = "float32"
    """In which torsos and other layers below the heads compute: float32, or bfloat16, which keeps 8 of its 24 binary
    digits. Parameters, recurrent cores, heads and everything after them are float32 either way."""
    names: dataclasses.InitVar[Mapping[str, str]] = MappingProxyType({})

    def __post_init__(self, names: Mapping[str, str]) -> None:
        """Checks each field, then those that depend on each other."""
        for fields, expected, is_valid in _CHECKS:
            for field in fields:
                _require(names.get(field, field), getattr(self, field), expected, is_valid)
        for field in _REAL:
            if (value := getattr(self, field)) is not None:
                object.__setattr__(self, field, float(value))
        self._check_schedule(names.get("lrschedule", "lrschedule"))
        self._check_replay(names.get("nsteps", "nsteps"))
        self._check_states(names.get("nsteps", "nsteps"))

    @property
    def unread(self) -> set[str]:
        """Fields of a `Segment` that updates do not read: replay does not keep them, and they stay out of calls."""
        is_read = {"states": self.replay_state == "stored", "final_values": self.bootstrap_truncated}
        return {name for name, read in is_read.items() if not read}

    def _check_schedule(self, name: str) -> None:
        if isinstance(self.lrschedule, str) and self.lrschedule not in SCHEDULES:
            choices = ", ".join(nearest(self.lrschedule, SCHEDULES))
            raise InputError(f"{name} '{self.lrschedule}' does not exist; the nearest are {choices}.")

    def _check_replay(self, nsteps: str) -> None:
        if self.replay_ratio == 0:
            if not self.on_policy_updates:
                raise InputError("on_policy_updates is False and replay_ratio is 0, so nothing would be trained on.")
            if self.overlap:
                raise InputError("overlap is True and replay_ratio is 0, so there is nothing to overlap with.")
            return
        if self.buffer_size < self.nsteps:
            raise InputError(
                f"buffer_size {self.buffer_size} holds no segment of {nsteps} {self.nsteps}; make buffer_size larger."
            )
        if self.buffer_size < self.replay_start:
            raise InputError(
                f"buffer_size {self.buffer_size} is smaller than replay_start {self.replay_start}, so replay would "
                "never start; make buffer_size larger or replay_start smaller (both count agent steps per environment)."
            )

    def _check_states(self, nsteps: str) -> None:
        if self.replay_state not in REPLAY_STATES:
            raise InputError(f"replay_state is {self.replay_state!r}; expected {' or '.join(REPLAY_STATES)}.")
        if self.burn_in >= self.nsteps:
            raise InputError(
                f"burn_in {self.burn_in} leaves no step of a segment of {nsteps} {self.nsteps} to train on; make "
                f"burn_in smaller than {nsteps}."
            )


@dataclasses.dataclass(frozen=True)
class ContinuousActions:
    """Continuous actions."""

    sigma: float = 0.3
    """The policy's standard deviation, in units of half the range of the action space."""
    learn_sigma: bool = False
    """Whether sigma is learned, the same for all observations; it starts from `sigma`."""
    num_samples: int = 5
    """Actions that the dueling network samples to estimate the mean advantage."""
    dueling: bool = True
    """Whether Q is built from V and sampled advantages (stochastic dueling network); without, it is a plain network."""
    use_q_opc: bool = True
    """Whether the policy gradient uses the uncorrected return Q^opc; without, Retrace's."""


@dataclasses.dataclass(frozen=True)
class Continuous(ContinuousActions):
    """Validated settings of continuous actions, with the paper's values (section 6) as defaults.

    Raises:
        InputError: a value cannot work.
    """

    def __post_init__(self) -> None:
        """Checks each field."""
        require_positive("sigma", self.sigma)
        require_count("num_samples", self.num_samples)
        for name in ("learn_sigma", "dueling", "use_q_opc"):
            _require(name, getattr(self, name), "True or False", _is_bool)


@dataclasses.dataclass(frozen=True)
class CollectingOnRay:
    """Collectors on Ray, which collect segments while this process trains."""

    actors: int = 0
    """Collectors, each with `num_env` environments of its own; 0 collects in this process."""
    ray_address: str | None = None
    """HOST:PORT of the head of a Ray cluster that this machine is part of; None starts Ray here."""
    segments_per_update: int = 1
    """Segments that one update is made on, new ones as well as those from replay."""
    publish_every: int = 1
    """Updates between two versions of the weights that collectors get."""
    actor_depth: int = 1
    """Segments of each collector that are being collected, or wait to be trained on."""
    max_staleness: int | None = None
    """Most updates since the weights that a new segment was collected with; older ones are dropped. None drops none."""
    actor_timeout: float = 120.0
    """Seconds without a segment after which a collector is replaced; its start-up may take ten minutes more."""
    lockstep: bool = False
    """Take segments in a fixed order, each from weights of a fixed version, so that a seed decides the whole run."""


@dataclasses.dataclass(frozen=True)
class Collecting(CollectingOnRay):
    """Validated settings of collectors.

    Raises:
        InputError: a value cannot work.
    """

    def __post_init__(self) -> None:
        """Checks each field, then those that need collectors."""
        _require("actors", self.actors, "a whole number >= 0", lambda x: _is_whole(x) and x >= 0)
        for name in ("segments_per_update", "publish_every", "actor_depth"):
            require_count(name, getattr(self, name))
        limit = self.max_staleness
        is_limit = limit is None or (_is_whole(limit) and limit >= 0)
        _require("max_staleness", limit, "a whole number >= 0, or None", lambda _: is_limit)
        require_positive("actor_timeout", self.actor_timeout)
        _require("lockstep", self.lockstep, "True or False", _is_bool)
        for field in dataclasses.fields(Collecting):
            if not self.actors and (value := getattr(self, field.name)) != field.default:
                raise InputError(f"{field.name} is {value!r}, but there are no collectors; give actors >= 1 as well.")

    def check(self, *, overlap: bool, normalize_observations: bool, normalize_rewards: bool) -> None:
        """Checks that other settings are possible with collectors.

        Raises:
            InputError: one is not.
        """
        if not self.actors:
            return
        if overlap:
            raise InputError(
                "overlap is for environments in this process, and actors collect at any time; leave one out."
            )
        for name, is_on in (
            ("normalize_observations", normalize_observations),
            ("normalize_rewards", normalize_rewards),
        ):
            if is_on:
                raise InputError(
                    f"{name} keeps running moments, which would differ from collector to collector; leave {name} "
                    "or actors out."
                )


def require_count(name: str, value: Any) -> None:
    """Checks that a value is a whole number >= 1.

    Raises:
        InputError: it is not.
    """
    _require(name, value, "a whole number >= 1", lambda x: _is_whole(x) and x >= 1)


def whole(name: str, value: Any) -> int:
    """Returns a whole number >= 1, which may be written as a float such as 1e6.

    Raises:
        InputError: the value is not one.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    require_count(name, value)
    return int(value)


def require_positive(name: str, value: Any) -> None:
    """Checks that a value is a finite number > 0.

    Raises:
        InputError: it is not.
    """
    _require(name, value, "a finite number > 0", lambda x: _is_number(x) and 0 < x < math.inf)


def _require(name: str, value: Any, expected: str, is_valid: Check) -> None:
    if not is_valid(value):
        raise InputError(f"{name} is {value!r}; expected {expected}.")


def _is_optimizer(value: object) -> bool:
    return value in OPTIMIZERS if isinstance(value, str) else callable(getattr(value, "apply", None))


def _is_bool(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_fraction(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


# fmt: off
_CHECKS: tuple[tuple[tuple[str, ...], str, Check], ...] = (
    (("nsteps", "total_timesteps", "log_interval", "buffer_size"),
     "a whole number >= 1", lambda x: _is_whole(x) and x >= 1),
    (("replay_start", "burn_in"), "a whole number >= 0", lambda x: _is_whole(x) and x >= 0),
    (("q_coef", "ent_coef", "lr", "replay_ratio", "delta"),
     "a finite number >= 0", lambda x: _is_number(x) and 0 <= x < math.inf),
    (("rprop_epsilon", "c"), "a number > 0", lambda x: _is_number(x) and x > 0),
    (("gamma", "alpha", "rprop_alpha"), "a number between 0 and 1", _is_fraction),
    (("max_grad_norm",), "a number > 0, or None", lambda x: x is None or (_is_number(x) and x > 0)),
    (("q_lambda",), "a number between 0 and 1, or None", lambda x: x is None or _is_fraction(x)),
    (("trust_region", "correction", "on_policy_updates", "compress_replay", "bootstrap_truncated", "overlap",
      "action_masks"),
     "True or False", _is_bool),
    (("lrschedule",), "a name or a function", lambda x: isinstance(x, str) or callable(x)),
    (("precision",), " or ".join(PRECISIONS), lambda x: isinstance(x, str) and x in PRECISIONS),
    (("optimizer",), "rmsprop, adam or a Keras optimizer", _is_optimizer),
)
# fmt: on
_REAL = [field.name for field in dataclasses.fields(Config) if field.type in (float, float | None)]

CONTINUOUS = Continuous()
COLLECTING = Collecting()
