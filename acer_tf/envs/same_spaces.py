"""Compares the spaces of environments and agents, which must be the same for them to belong together."""

from typing import Any, NamedTuple, Protocol

import gymnasium
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv

from acer_tf.envs.wrap import unwrap
from acer_tf.envs.wrappers.flatten import parts_of
from acer_tf.errors import InputError, type_in_words

MOST_LETTERS = 80
"""Of a space in a message."""

Space = gymnasium.Space[Any]


class HasSpaces(Protocol):
    """An agent or an environment."""

    @property
    def observation_space(self) -> Space:
        """Space of single observations."""

    @property
    def action_space(self) -> Space:
        """Space of single actions."""


class EnvSpaces(NamedTuple):
    """Spaces of each of several environments, without the wrappers that are only for training."""

    observation_space: Space
    action_space: Space

    @classmethod
    def of(cls, env: VectorEnv[Any, Any, Any]) -> "EnvSpaces":
        """Returns those of vector environments."""
        own = unwrap(env)
        return cls(own.single_observation_space, own.single_action_space)


def check_same_spaces(
    agent: HasSpaces, other: HasSpaces, owner: str = "the environment's", *, any_float: bool = False
) -> None:
    """Checks that the spaces are an agent's, but for the bounds of observations, which the networks ignore.

    Args:
        agent: the agent, or its spaces.
        other: what is to have the same spaces.
        owner: whose these are, for the message.
        any_float: whether observations may be of another type of floating-point numbers, as where the agent only acts.

    Raises:
        InputError: they differ.
    """
    theirs, ours = (_without_bounds(has.observation_space, any_float) for has in (other, agent))
    if theirs != ours:
        raise _differ("observation", owner, other.observation_space, agent.observation_space)
    if other.action_space != agent.action_space:
        raise _differ("action", owner, other.action_space, agent.action_space)


def _differ(name: str, owner: str, theirs: Space, ours: Space) -> InputError:
    there, here = _in_words(theirs), _in_words(ours)
    there += " of other bounds" if there == here else ""
    return InputError(
        f"{owner} {name} space is {there}; the agent's is {here}. Choose an agent and an environment that belong "
        "together."
    )


def _in_words(space: Space) -> str:
    """Returns gymnasium's text of a space, or less if that fills more than a line, as that of unequal bounds does."""
    text = str(space)
    if len(text) <= MOST_LETTERS:
        return text
    return f"a Box of shape {space.shape} and {space.dtype}" if isinstance(space, Box) else type_in_words(space)


def _without_bounds(space: Space, any_float: bool) -> list[Any]:
    """Returns the parts of a space of observations with their places, and of Boxes only shape and type."""

    def kind(part: Space) -> Any:
        if not isinstance(part, Box):
            return part
        return part.shape, "float" if any_float and part.dtype.kind == "f" else part.dtype

    return [(path, kind(part)) for path, part in parts_of(space)]
