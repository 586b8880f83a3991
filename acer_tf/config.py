"""Hyper-parameters of ACER; their defaults are defined here and nowhere else."""

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from acer_tf.errors import InputError
from acer_tf.maths.schedules import SCHEDULES, ScheduleName, learning_rate
from acer_tf.schema import (
    Count,
    CountOrZero,
    Fraction,
    Positive,
    Ratio,
    SmallCount,
    Text,
    Validated,
    Weight,
    validate_fields,
)
from acer_tf.suggestions import suggestion

ReplayState = Literal["zero", "stored"]
Precision = Literal["float32", "bfloat16"]
OPTIMIZERS = ("rmsprop", "adam")
MAX_EPISODE_FRAMES = 108_000
"""Longest Atari game, in raw frames: the usual limit of benchmarks, half an hour of play at 60 frames per second."""
MAX_EPISODE_STEPS = 27_000
"""Agent steps after which evaluations cut an episode; in Atari, as long as `MAX_EPISODE_FRAMES`."""


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """ACER itself."""

    nsteps: Count = 20
    """Agent steps per environment in one segment."""
    gamma: Fraction = 0.99
    """Discount factor per agent step."""
    q_coef: Weight = 0.5
    """Weight of the critic's loss."""
    ent_coef: Weight = 0.01
    """Weight of the entropy bonus."""
    c: Positive = 10.0
    """Truncation of the importance weights."""
    trust_region: bool = True
    """Whether the policy gradient is projected so that it stays near the average policy."""
    alpha: Fraction = 0.99
    """Decay of the average policy."""
    delta: Weight = 1
    """Bound on the first-order growth of the divergence from the average policy."""
    correction: bool = True
    """Whether the policy gradient has its bias correction; without it, it is truncated importance sampling."""
    q_lambda: Fraction | None = None
    """Trace of Q(lambda), which replaces Retrace; None keeps Retrace."""
    on_policy_updates: bool = True
    """Whether to train on new segments at once; if not, training is entirely from replay."""
    bootstrap_truncated: bool = False
    """Whether returns continue with the last state's value where a time limit cut an episode; in baselines they end."""
    action_masks: bool = True
    """Whether to obey the masks of possible actions that an environment gives."""


@dataclasses.dataclass(frozen=True)
class Optimization:
    """Settings of the optimiser."""

    lr: Weight = 7e-4
    """Learning rate at the start."""
    lrschedule: ScheduleName | Callable[[float], float] = "linear"
    """Factor on `lr` as a function of the fraction of training done: a name, or (in Python) a function."""
    optimizer: Literal["rmsprop", "adam"] | object = "rmsprop"
    """Optimiser: rmsprop (TensorFlow 1's form, as in baselines), adam, or (in Python) a Keras optimizer; `lr` and
    `lrschedule` set its learning rate."""
    rprop_epsilon: Positive = 1e-5
    """RMSProp's epsilon, inside the root."""
    rprop_alpha: Fraction = 0.99
    """RMSProp's decay."""
    max_grad_norm: Positive | None = 10
    """Largest global norm of the gradient; None does not clip."""


@dataclasses.dataclass(frozen=True)
class Replay:
    """Settings of replay."""

    buffer_size: Count = 50000
    """Agent steps kept for replay, per environment."""
    replay_start: CountOrZero = 10000
    """Agent steps per environment before replay begins."""
    replay_ratio: Ratio = 4
    """Mean number of replay updates per on-policy update (Poisson); 0 switches replay off."""
    compress_replay: bool = True
    """Whether replay compresses images, without loss."""
    replay_state: ReplayState = "zero"
    """State from which a recurrent policy starts when it trains on a segment: zero (as in baselines) or stored."""
    burn_in: CountOrZero = 0
    """First steps of a segment that only warm up a recurrent policy's state and carry no loss."""
    overlap: bool = False
    """Whether a thread collects the next segment, with the current parameters, while updates from replay run."""


@dataclasses.dataclass(frozen=True)
class Training:
    """The training loop."""

    total_timesteps: Count = int(80e6)
    """Agent steps, over all environments."""
    log_interval: Count = 100
    """Iterations (one segment from every environment each) between two rows of metrics."""
    precision: Precision = "float32"
    """Precision of torsos and other layers below the heads: float32, as in baselines, or bfloat16, which keeps 8 of its
    24 binary digits and is faster for convolutions on GPUs and on processors that have instructions for it
    (avx512_bf16, amx_bf16). Parameters, recurrent cores, heads and everything after them are float32 either way."""


@dataclasses.dataclass(frozen=True)
class Config(Training, Replay, Optimization, Algorithm):
    """ACER's hyper-parameters, with the names and defaults of baselines' `acer.learn`.

    Every value is validated once, here; NumPy's numbers become Python's, and those of real-valued fields become floats.

    Args:
        names: what error messages call fields that the user knows under other names.

    Raises:
        InputError: a value is invalid.
    """

    names: dataclasses.InitVar[Mapping[str, str]] = MappingProxyType({})

    def __post_init__(self, names: Mapping[str, str]) -> None:
        """Checks each field, then those that depend on each other."""
        validate_fields(self, names)
        self._check_schedule(names.get("lrschedule", "lrschedule"))
        self._check_optimizer()
        self._check_replay(names.get("nsteps", "nsteps"))
        self._check_burn_in(names.get("nsteps", "nsteps"))

    @property
    def unread(self) -> set[str]:
        """Fields of a `Segment` that updates do not read: neither kept in replay nor passed to TensorFlow."""
        is_read = {"states": self.replay_state == "stored", "final_values": self.bootstrap_truncated}
        return {name for name, read in is_read.items() if not read}

    def _check_schedule(self, name: str) -> None:
        if not isinstance(self.lrschedule, str):
            if not callable(self.lrschedule):
                raise InputError(f"{name} is {self.lrschedule!r}; expected a name or a function.")
            try:
                learning_rate(self.lr, self.lrschedule, 0.0)
            except TypeError as error:
                raise InputError(f"{name} cannot be called with the fraction of training, a number: {error}") from error
        elif self.lrschedule not in SCHEDULES:
            raise InputError(f"{name} '{self.lrschedule}' does not exist{suggestion(self.lrschedule, SCHEDULES)}.")

    def _check_optimizer(self) -> None:
        given = self.optimizer
        if given not in OPTIMIZERS if isinstance(given, str) else not callable(getattr(given, "apply", None)):
            raise InputError(f"optimizer is {given!r}; expected rmsprop, adam or a Keras optimizer.")

    def _check_replay(self, nsteps: str) -> None:
        if self.replay_ratio == 0:
            if not self.on_policy_updates:
                raise InputError("on_policy_updates is False and replay_ratio is 0, so nothing would be trained on.")
            if self.overlap:
                raise InputError("overlap is True and replay_ratio is 0, so there is nothing to overlap with.")
            return
        if self.buffer_size < self.nsteps:
            raise InputError(
                f"buffer_size {self.buffer_size} is smaller than one segment ({nsteps} {self.nsteps}); make "
                "buffer_size larger."
            )
        if self.buffer_size < self.replay_start:
            raise InputError(
                f"buffer_size {self.buffer_size} is smaller than replay_start {self.replay_start}, so replay would "
                "never start; make buffer_size larger or replay_start smaller (both count agent steps per environment)."
            )

    def _check_burn_in(self, nsteps: str) -> None:
        if self.burn_in >= self.nsteps:
            raise InputError(
                f"burn_in {self.burn_in} leaves no step of a segment of {nsteps} {self.nsteps} to train on; make "
                f"burn_in smaller than {nsteps}."
            )


@dataclasses.dataclass(frozen=True)
class Continuous(Validated):
    """Settings for continuous actions only, with the paper's values (section 6) as defaults.

    Raises:
        InputError: a value is invalid.
    """

    sigma: Positive = 0.3
    """The policy's standard deviation, in units of half the range of the action space."""
    learn_sigma: bool = False
    """Whether sigma is learned, starting from `sigma`; it is the same for all observations."""
    num_samples: SmallCount = 5
    """Actions that the dueling network samples to estimate the mean advantage."""
    dueling: bool = True
    """Whether Q is built from V and sampled advantages (stochastic dueling network); if not, Q is a plain network."""
    use_q_opc: bool = True
    """Whether the policy gradient uses the uncorrected return Q^opc; if not, it uses Retrace's."""


@dataclasses.dataclass(frozen=True)
class Preprocessing(Validated):
    """Preprocessing of observations and rewards for the agent.

    Raises:
        InputError: a value is invalid.
    """

    normalize_observations: bool = False
    """Whether observations are normalised by their running mean and variance."""
    normalize_rewards: bool = False
    """Whether the agent's rewards are divided by the running standard deviation of the discounted return."""
    reward_scale: Positive = 1.0
    """Factor on the rewards that the agent sees; recorded returns exclude it."""


@dataclasses.dataclass(frozen=True)
class Collecting(Validated):
    """Collectors: processes on Ray that collect segments while this one trains (docs/scale.md).

    Raises:
        InputError: a value is invalid.
    """

    actors: CountOrZero = 0
    """Number of collectors, each with its own `num_env` environments; 0 collects in this process."""
    ray_address: Text | None = None
    """HOST:PORT of the head of a Ray cluster that this machine is part of; None starts Ray here."""
    segments_per_update: Count = 1
    """Segments in the batch of one update, whether new or from replay."""
    publish_every: Count = 1
    """Updates between two versions of the weights that collectors get."""
    actor_depth: Count = 1
    """Segments per collector that are being collected or waiting to be trained on."""
    max_staleness: CountOrZero | None = None
    """Most updates since the weights that collected a new segment; older segments are dropped. None drops none."""
    actor_timeout: Positive = 120.0
    """Seconds without a segment after which a collector is replaced; starting up may take ten minutes longer."""

    def __post_init__(self) -> None:
        """Checks each field, then those that need collectors."""
        super().__post_init__()
        for field in dataclasses.fields(Collecting):
            if not self.actors and (value := getattr(self, field.name)) != field.default:
                raise InputError(f"{field.name} is {value!r}, but there are no collectors; give actors >= 1 as well.")

    def check(self, *, overlap: bool, preprocessing: Preprocessing) -> None:
        """Checks that other settings work with collectors.

        Raises:
            InputError: one is not.
        """
        if not self.actors:
            return
        if overlap:
            raise InputError(
                "overlap is for environments in this process, and actors collect at any time; leave one out."
            )
        for name in ("normalize_observations", "normalize_rewards"):
            if getattr(preprocessing, name):
                raise InputError(
                    f"{name} keeps running moments, which would differ from collector to collector; leave {name} "
                    "or actors out."
                )


CONTINUOUS = Continuous()
COLLECTING = Collecting()
