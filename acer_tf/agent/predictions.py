"""Actions of an agent for given observations, and their probabilities."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from acer_tf.agent.spaces import Spaces
from acer_tf.agent.state import AgentState
from acer_tf.envs.wrappers.box_actions import half_range, to_space
from acer_tf.errors import InputError
from acer_tf.evaluation.explanation import Explanation
from acer_tf.maths.continuous import log_density
from acer_tf.segment import Action
from acer_tf.storage.arrays import finite_array, numeric_array

Array = NDArray[Any]


def act(
    agent: AgentState, observation: Any, state: Any, mask: Any, deterministic: bool, action_masks: Any
) -> tuple[Action, bool]:
    """Returns the networks' actions, and whether there is a single observation (then N = 1); see `ACER.predict`."""
    obs, states, masks, is_single = _inputs(agent, observation, state, mask)
    possible = _possible(agent, action_masks, len(obs))
    return agent.actor.act(obs, states, masks, deterministic, possible), is_single


def explain(agent: AgentState, observation: Any, state: Any, mask: Any, action_masks: Any) -> Explanation:
    """Returns the policy's and the critic's view of a batch of observations; see `ACER.explain`."""
    obs, states, masks, _ = _inputs(agent, observation, state, mask)
    f, v, *q = agent.actor.explain(obs, states, masks, _possible(agent, action_masks, len(obs)))
    return Explanation(distribution(f, _sigma(agent), agent.spaces), v, q[0] if q else None)


def _inputs(
    agent: AgentState, observation: Any, state: Any, mask: Any
) -> tuple[Array, NDArray[np.float32], NDArray[np.bool_], bool]:
    """Returns checked observations [N, ...], states [N, P] and masks [N], and whether there is one observation."""
    obs, is_single = agent.spaces.encode_observations(observation, agent.normalization.arrays)
    states = agent.actor.initial_state(len(obs)) if state is None else finite_array("the state", state, np.float32)
    ended = np.zeros(len(obs), np.bool_) if mask is None else numeric_array("the mask", mask)
    masks = np.atleast_1d(ended).astype(np.bool_)
    states = states[np.newaxis] if states.ndim == 1 else states
    agent.actor.policy.check_state(states, len(obs))
    if masks.shape != (len(obs),):
        raise InputError(f"the mask has shape {masks.shape}; expected ({len(obs)},), one for each observation.")
    return obs, states, masks, is_single


def _possible(agent: AgentState, action_masks: Any, nenvs: int) -> NDArray[np.bool_] | tuple[()]:
    """Returns the networks' masks [N, A] for the user's; `()` for None, and for agents that ignore them."""
    is_obeyed = action_masks is not None and agent.settings.config.action_masks
    return agent.spaces.encode_masks(action_masks, nenvs) if is_obeyed else ()


def action_probability(
    agent: AgentState, observation: Any, state: Any, mask: Any, actions: Any, logp: bool, action_masks: Any
) -> Any:
    """Returns the distribution of the actions, or the probability of given ones; see `ACER.action_probability`."""
    action, is_single = act(agent, observation, state, mask, deterministic=True, action_masks=action_masks)
    sigma = _sigma(agent)
    if actions is not None:
        found = likelihood(action.mus, sigma, agent.spaces, actions, logp)
        return found[0] if is_single else found
    whole = distribution(action.mus, sigma, agent.spaces)
    if not is_single:
        return whole
    return whole[0] if isinstance(whole, np.ndarray) else tuple(part[0] for part in whole)


def _sigma(agent: AgentState) -> float | None:
    """Returns the fixed sigma of a Gaussian policy in units of half the range, or None if it is learned."""
    continuous = agent.settings.continuous
    return None if continuous.learn_sigma else continuous.sigma


def distribution(f: Array, sigma: float | None, spaces: Spaces) -> Array | tuple[Array, Array]:
    """Returns the probabilities [N, A], or mean and standard deviation [N, *action] in the environment's units.

    Args:
        f: the policy's statistics, [N, A], [N, D] or [N, 2D] float32.
        sigma: sigma of a Gaussian policy, in units of half the range; None if it is learned and in `f`.
        spaces: the agent's.
    """
    space = spaces.action_space
    if not isinstance(space, Box):
        return f
    mean, deviation = _moments(f, sigma, spaces)
    return to_space(mean, space), deviation.reshape(len(f), *space.shape) * half_range(space)


def likelihood(f: Array, sigma: float | None, spaces: Spaces, actions: Any, logp: bool) -> Array:
    """Returns the probability, or the density in the environment's units, of one action per observation; [N, 1].

    It ignores clipping to the action space: an action on its border has the density at that point.
    """
    given = spaces.encode_actions(actions)
    if len(given) != len(f):
        raise InputError(f"there are {len(given)} actions for {len(f)} observations; expected one for each.")
    space = spaces.action_space
    if not isinstance(space, Box):
        with np.errstate(divide="ignore"):  # an impossible action
            chosen = np.take_along_axis(f, given[:, np.newaxis], axis=1)
            return np.log(chosen) if logp else chosen
    mean, deviation = _moments(f, sigma, spaces)
    density: Array = log_density(given.astype(np.float64), mean, np.log(deviation)).numpy()[:, np.newaxis]
    density = density - np.log(half_range(space)).sum()
    return density if logp else np.exp(density)


def _moments(f: Array, sigma: float | None, spaces: Spaces) -> tuple[Array, Array]:
    dimensions = spaces.dimensions
    mean = f[:, :dimensions].astype(np.float64)
    if sigma is not None:
        return mean, np.full(mean.shape, sigma)
    return mean, np.exp(f[:, dimensions:].astype(np.float64))
