"""Picklable factories of environments, which also work where their id is not registered."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import gymnasium
from gymnasium.envs.registration import EnvSpec

from acer_tf.envs.adapt import checked_env
from acer_tf.envs.wrappers.action_masks import with_mask_info

Wrapper = Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[Any, Any]]
Env = TypeVar("Env")


@dataclasses.dataclass(frozen=True)
class Maker:
    """Makes an environment, in this process or in a worker.

    Attributes:
        source: what gymnasium's registry holds for the id, as a worker's may lack it; or a class or function.
        kwargs: arguments of the environment.
        wrapper: wraps it.
        made: what this process has made already and gets again; workers make their own.
    """

    source: EnvSpec | Callable[..., gymnasium.Env[Any, Any]]
    kwargs: Mapping[str, Any]
    wrapper: Wrapper | None = None
    made: gymnasium.Env[Any, Any] | None = None

    @property
    def name(self) -> str:
        """The id, or what the class or function is called."""
        return self.source.id if isinstance(self.source, EnvSpec) else getattr(self.source, "__name__", "of its own")

    def __call__(self) -> gymnasium.Env[Any, Any]:
        """Makes the environment."""
        if self.made is not None:
            return self.made
        if isinstance(self.source, EnvSpec):
            env = gymnasium.make(self.source, **self.kwargs)
        else:
            env = checked_env(self.source(**self.kwargs))
        return with_mask_info(env if self.wrapper is None else self.wrapper(env))

    def __reduce__(self) -> tuple[type["Maker"], tuple[Any, ...]]:
        """Leaves `made` out: it stays in this process."""
        return Maker, (self.source, self.kwargs, self.wrapper)


@dataclasses.dataclass(frozen=True)
class MakerOfId(Generic[Env]):
    """Picklable factory that re-registers the environment id, which another process may lack.

    Attributes:
        spec: what gymnasium's registry holds for the id.
        make: makes the environments, given the id.
    """

    spec: EnvSpec
    make: Callable[..., Env]

    def __call__(self, **arguments: Any) -> Env:
        """Makes the environments with further arguments."""
        gymnasium.registry.setdefault(self.spec.id, self.spec)
        return self.make(self.spec.id, **arguments)
