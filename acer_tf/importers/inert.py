"""What stands for an object of a pickle: its name and what it was to be made of, and nothing that could be called."""

from typing import Any


class Inert:
    """An object, or a class or function, that a pickle names; neither is ever looked up.

    Attributes:
        name: module and name, of the class where it is an object.
        arguments: what it was to be called with; None of a mere name.
        state: what it was to be given after that, None if nothing.
        key: where the pickle keeps it for later use; None if it does not.
    """

    __slots__ = ("arguments", "key", "name", "state")

    def __init__(self, name: str, arguments: tuple[Any, ...] | None = None) -> None:
        self.name = name
        self.arguments = arguments
        self.state: Any = None
        self.key: int | None = None

    @property
    def short_name(self) -> str:
        """The name without its module."""
        return self.name.rpartition(".")[2]
