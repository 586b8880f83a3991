"""Compares the spaces of environments and agents, which belong together only if these are the same."""

from typing import Any, NamedTuple, Protocol

import gymnasium
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv

from acer_tf.envs.wrap import unwrap
from acer_tf.envs.wrappers.flatten import parts_of
from acer_tf.errors import InputError, type_in_words

MOST_LETTERS = 80
"""Longest text of a space in a message."""

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
    """Spaces of each of several environments, without the wrappers used only for training."""

    observation_space: Space
    action_space: Space

    @classmethod
    def of(cls, env: VectorEnv[Any, Any, Any]) -> "EnvSpaces":
        """Returns the spaces of a vector environment."""
        own = unwrap(env)
        return cls(own.single_observation_space, own.single_action_space)


def check_same_spaces(
    agent: HasSpaces, other: HasSpaces, owner: str = "the environment's", *, any_float: bool = False
) -> None:
    """Checks that spaces equal an agent's, except for the bounds of observations, which the networks ignore.

    Args:
        agent: the agent, or its spaces.
        other: the object that should have the same spaces.
        owner: whose spaces the message says they are.
        any_float: whether observations may have another floating-point type, which is enough if the agent only acts.

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
    """Returns gymnasium's text for a space, or a shorter one if that is too long, as with unequal bounds."""
    text = str(space)
    if len(text) <= MOST_LETTERS:
        return text
    return f"a Box of shape {space.shape} and {space.dtype}" if isinstance(space, Box) else type_in_words(space)


def _without_bounds(space: Space, any_float: bool) -> list[Any]:
    """Returns the parts of an observation space with their paths; for Boxes, only shape and type."""

    def kind(part: Space) -> Any:
        if not isinstance(part, Box):
            return part
        return part.shape, "float" if any_float and part.dtype.kind == "f" else part.dtype

    return [(path, kind(part)) for path, part in parts_of(space)]
