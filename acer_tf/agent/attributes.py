"""Arguments of the class `ACER` as its attributes."""

from typing import Any, Generic, Protocol, TypeVar, overload

from acer_tf.agent.settings import Settings
from acer_tf.errors import InputError

Value = TypeVar("Value")


class HasSettings(Protocol):
    """An object that has arguments of `ACER`."""

    @property
    def settings(self) -> Settings:
        """The validated arguments."""
        ...

    def _change(self, name: str, value: Any) -> None: ...


class Setting(Generic[Value]):
    """An argument of the constructor as an attribute: it can be read, but not assigned, which would have no effect."""

    def __set_name__(self, owner: type[HasSettings], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, agent: None, owner: type[HasSettings]) -> "Setting[Value]": ...

    @overload
    def __get__(self, agent: HasSettings, owner: type[HasSettings]) -> Value: ...

    def __get__(self, agent: HasSettings | None, owner: type[HasSettings]) -> "Setting[Value] | Value":
        if agent is None:
            return self
        value: Value = agent.settings.arguments()[self._name]
        return value

    def __set__(self, agent: HasSettings, value: Value) -> None:
        name = self._name
        raise InputError(f"{name} is fixed when the agent is made; ACER.load(path, env, {name}=...) changes it.")


class FreeSetting(Setting[Value]):
    """An argument of the constructor that may also be assigned, and then takes effect from the next `learn` on."""

    def __set__(self, agent: HasSettings, value: Value) -> None:
        agent._change(self._name, value)
