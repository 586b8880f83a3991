"""Access to the single environments of a vector environment, under Stable Baselines' names."""

from collections.abc import Iterable
from typing import Any

from gymnasium.vector import VectorEnv, VectorWrapper

from acer_tf.errors import InputError, type_in_words

Indices = int | Iterable[int] | None
"""Environments by their index; None means all."""


class SingleEnvs(VectorWrapper[Any, Any, Any, Any, Any]):
    """Adds Stable Baselines' `get_attr`, `set_attr` and `env_method`; all else is the vector environment's own."""

    def __getattr__(self, name: str) -> Any:
        """Returns an attribute of the vector environment."""
        if name.startswith("_") or name == "env":
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)
        return getattr(self.env, name)

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Reads an attribute of the environments, even below their wrappers."""
        values = self._reachable("get_attr")(attr_name)
        return [values[i] for i in self._chosen(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Sets an attribute of the environments to the same value."""
        chosen = self._chosen(indices)
        values = [value] * self.num_envs if len(set(chosen)) == self.num_envs else self.get_attr(attr_name)
        for i in chosen:
            values[i] = value
        self._reachable("set_attr")(attr_name, values)

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        """Calls a method of the environments; returns the result of each.

        Raises:
            InputError: only some environments are chosen, but they are in separate processes.
        """
        chosen = self._chosen(indices)
        if chosen == list(range(self.num_envs)):
            return list(self._reachable("call")(method_name, *args, **kwargs))
        envs = getattr(self.unwrapped, "envs", None)
        if envs is None:
            raise InputError("environments in separate processes are called all at once; leave indices out.")
        return [envs[i].get_wrapper_attr(method_name)(*args, **kwargs) for i in chosen]

    def _chosen(self, indices: Indices) -> list[int]:
        if indices is None:
            return list(range(self.num_envs))
        return [range(self.num_envs)[i] for i in ([indices] if isinstance(indices, int) else indices)]

    def _reachable(self, method: str) -> Any:
        found = getattr(self.unwrapped, method, None)
        if found is None:
            raise InputError(f"{type_in_words(self.unwrapped)} gives no access to single environments.")
        return found


def with_env_methods(env: Any) -> Any:
    """Returns gymnasium's vector environments as `SingleEnvs`; others, such as Stable Baselines', as they are."""
    return SingleEnvs(env) if isinstance(env, VectorEnv) else env
