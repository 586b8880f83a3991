"""Environments that another process makes, which may know fewer ids than this one."""

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import gymnasium
from gymnasium.envs.registration import EnvSpec

Env = TypeVar("Env")


@dataclasses.dataclass(frozen=True)
class MakerOfId(Generic[Env]):
    """Makes environments of an id, in any process.

    Attributes:
        spec: what gymnasium's registry holds for the id, as that of another process may lack it.
        make: makes the environments, given the id.
    """

    spec: EnvSpec
    make: Callable[..., Env]

    def __call__(self, **arguments: Any) -> Env:
        """Makes the environments with further arguments."""
        gymnasium.registry.setdefault(self.spec.id, self.spec)
        return self.make(self.spec.id, **arguments)
