"""Compares the spaces of environments and agents, which must be the same for them to belong together."""

import operator
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


def check_same_spaces(agent: HasSpaces, other: HasSpaces, owner: str = "the environment's") -> None:
    """Checks that the spaces are an agent's, but for the bounds of observations, which the networks ignore.

    Args:
        agent: the agent, or its spaces.
        other: what is to have the same spaces.
        owner: whose these are, for the message.

    Raises:
        InputError: they differ.
    """
    for name, theirs, ours, is_same in (
        ("observation", other.observation_space, agent.observation_space, _is_alike),
        ("action", other.action_space, agent.action_space, operator.eq),
    ):
        if not is_same(theirs, ours):
            there, here = _in_words(theirs), _in_words(ours)
            there += " of other bounds" if there == here else ""
            raise InputError(
                f"{owner} {name} space is {there}; the agent's is {here}. Choose an agent and an environment that "
                "belong together."
            )


def _in_words(space: Space) -> str:
    """Returns gymnasium's text of a space, or less if that fills more than a line, as that of unequal bounds does."""
    text = str(space)
    if len(text) <= MOST_LETTERS:
        return text
    return f"a Box of shape {space.shape} and {space.dtype}" if isinstance(space, Box) else type_in_words(space)


def _is_alike(theirs: Space, ours: Space) -> bool:
    """Returns whether two spaces of observations differ at most in the bounds of Boxes."""
    there, here = list(parts_of(theirs)), list(parts_of(ours))
    if [path for path, _ in there] != [path for path, _ in here]:
        return False
    return all(_without_bounds(one) == _without_bounds(other) for (_, one), (_, other) in zip(there, here, strict=True))


def _without_bounds(part: Space) -> Any:
    return (part.shape, part.dtype) if isinstance(part, Box) else part
