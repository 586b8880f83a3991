"""Hyper-parameters: the only place where a default stands."""

import dataclasses
import math
from collections.abc import Callable

from acer_tf.errors import InputError, nearest
from acer_tf.maths.schedules import SCHEDULES


@dataclasses.dataclass(frozen=True)
class Config:
    """ACER's hyper-parameters, with the names and the defaults of baselines' `acer.learn`."""

    nsteps: int = 20
    """Agent steps per environment in one segment."""
    total_timesteps: int = int(80e6)
    """Agent steps, over all environments."""
    q_coef: float = 0.5
    """Weight of the critic's loss."""
    ent_coef: float = 0.01
    """Weight of the entropy bonus."""
    max_grad_norm: float | None = 10
    """Largest global norm of the gradient; None does not clip."""
    lr: float = 7e-4
    """Learning rate at the start."""
    lrschedule: str | Callable[[float], float] = "linear"
    """Factor on `lr` as a function of the fraction of training done: a name, or (in Python) a function."""
    rprop_epsilon: float = 1e-5
    """RMSProp's epsilon, inside the root."""
    rprop_alpha: float = 0.99
    """RMSProp's decay."""
    gamma: float = 0.99
    """Discount factor per agent step."""
    log_interval: int = 100
    """Iterations (one segment from every environment each) between two tables of statistics."""
    buffer_size: int = 50000
    """Agent steps kept for replay, per environment."""
    replay_ratio: float = 4
    """Mean number of replay updates per on-policy update (Poisson); 0 switches replay off."""
    replay_start: int = 10000
    """Agent steps per environment before replay begins."""
    c: float = 10.0
    """Truncation of the importance weights."""
    trust_region: bool = True
    """Whether the policy gradient is projected so that it stays near the average policy."""
    alpha: float = 0.99
    """Decay of the average policy."""
    delta: float = 1
    """How far the projected gradient may point away from the average policy."""

    def __post_init__(self) -> None:
        """Raises: InputError: a value that cannot work."""
        for name in ("nsteps", "total_timesteps", "log_interval", "buffer_size", "replay_start"):
            _require_count(name, getattr(self, name), least=0 if name == "replay_start" else 1)
        for name in ("q_coef", "ent_coef", "lr", "replay_ratio", "delta"):
            _require(name, getattr(self, name), "a finite number >= 0", 0 <= getattr(self, name) < math.inf)
        for name in ("rprop_epsilon", "c"):
            _require(name, getattr(self, name), "a number > 0", getattr(self, name) > 0)
        for name in ("gamma", "alpha", "rprop_alpha"):
            _require(name, getattr(self, name), "a number between 0 and 1", 0 <= getattr(self, name) <= 1)
        if self.max_grad_norm is not None:
            _require("max_grad_norm", self.max_grad_norm, "a number > 0, or None", self.max_grad_norm > 0)
        if isinstance(self.lrschedule, str) and self.lrschedule not in SCHEDULES:
            raise InputError(
                f"lrschedule '{self.lrschedule}' does not exist; the nearest are {', '.join(nearest(self.lrschedule, SCHEDULES))}."
            )
        self._check_replay()

    def _check_replay(self) -> None:
        if self.replay_ratio == 0:
            return
        if self.buffer_size < self.nsteps:
            raise InputError(f"buffer_size {self.buffer_size} holds no segment of nsteps {self.nsteps}; make buffer_size larger.")
        if self.buffer_size < self.replay_start:
            raise InputError(
                f"buffer_size {self.buffer_size} is smaller than replay_start {self.replay_start}, so replay would never start; "
                "make buffer_size larger or replay_start smaller (both count agent steps per environment)."
            )


def _require_count(name: str, value: object, least: int) -> None:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    _require(name, value, f"a whole number >= {least}", is_count and value >= least)  # type: ignore[operator]


def _require(name: str, value: object, expected: str, ok: bool) -> None:
    if not ok:
        raise InputError(f"{name} is {value}; expected {expected}.")
