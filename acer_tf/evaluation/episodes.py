"""Plays complete episodes with a trained agent, and summarizes their returns with a confidence interval."""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from acer_tf.config import MAX_EPISODE_STEPS
from acer_tf.envs.adapt import AnyEnv, as_vector_env
from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.conventions import Player, environment_seeds, reported_episodes, reports_episodes
from acer_tf.envs.vec_env import check_not_normalized, moments_kept
from acer_tf.envs.wrap import unwrap
from acer_tf.envs.wrappers.action_masks import MASKS, has_masks
from acer_tf.errors import environment_errors
from acer_tf.schema import Count, CountOrZero, Number, validated
from acer_tf.system.console import say
from acer_tf.system.streams import checked_seed

RESAMPLES = 2_000
"""Bootstrap samples for a confidence interval."""

StepCallback = Callable[[dict[str, Any], dict[str, Any]], object]
"""Called with the local and the global variables of `evaluate_policy`."""


class Predictor(Protocol):
    """Anything with the method `predict` of Stable Baselines' agents.

    The method is passed the keyword `action_masks` if the environments have masks and its signature has that name,
    unless the agent has an attribute `action_masks` that is False.
    """

    def predict(
        self, observation: Any, state: Any = None, mask: Any = None, deterministic: bool = False
    ) -> tuple[Any, Any]:
        """Returns an action for each observation, and the policy's recurrent state for the next call."""
        ...


class Played(NamedTuple):
    """An episode that has been played.

    Attributes:
        env: index of the environment.
        r: raw return, over all lives; for an episode that was cut, the sum of the rewards until then.
        l: length in agent steps.
        is_cut: whether it was cut at the limit of steps, before it ended.
    """

    env: int
    r: float
    l: int  # noqa: E741  (the column's name in baselines' monitor files)
    is_cut: bool = False


class Moment(NamedTuple):
    """A step that is about to be made in N environments.

    Attributes:
        observation: [N, ...].
        state: the policy's state before the step; None at the first step, and for feed-forward policies.
        mask: [N] bool, True where an episode, or a life, begins.
        actions: [N, ...].
        returns: [N], returns of the episodes so far; for Atari games that are rendered, the game's own score.
        masks: further input of the agent: `action_masks` [N, ...], if the environments have any.
    """

    observation: Any
    state: Any
    mask: NDArray[np.bool_]
    actions: Any
    returns: NDArray[np.float64]
    masks: Mapping[str, Any] = MappingProxyType({})


class Step(NamedTuple):
    """A step that was made in N environments, under the names of Stable Baselines' `evaluate_policy`.

    Attributes:
        action: [N, ...].
        state: the policy's state after the step; None for feed-forward policies.
        obs: [N, ...], from the next episode where one ended; the next step may overwrite it.
        reward: [N], as the environment gave it.
        done: [N] bool, True where an episode, or a life, ended.
        info: infos of all environments, as gymnasium's vector environments give them.
    """

    action: Any
    state: Any
    obs: Any
    reward: NDArray[Any]
    done: NDArray[np.bool_]
    info: dict[str, Any]


class Summary(NamedTuple):
    """Summary of a number of episodes.

    Attributes:
        episodes: number of episodes.
        mean: mean raw return.
        std: standard deviation of the returns (divided by their number).
        low: lower end of the 95 % confidence interval of the mean; None for a single episode, which has no interval.
        high: its upper end.
        mean_length: mean length in agent steps.
    """

    episodes: int
    mean: float
    std: float
    low: float | None
    high: float | None
    mean_length: float


def evaluate_policy(
    model: Predictor,
    env: AnyEnv,
    n_eval_episodes: int = 10,
    deterministic: bool = True,
    render: bool = False,
    callback: StepCallback | None = None,
    reward_threshold: float | None = None,
    return_episode_rewards: bool = False,
    *,
    seed: int | None = None,
    max_episode_steps: int | None = MAX_EPISODE_STEPS,
) -> tuple[float, float] | tuple[list[float], list[int]]:
    """Plays episodes and returns the mean and the standard deviation of their returns, as Stable Baselines does.

    Returns are raw if the environment reports them (Atari games, gymnasium's RecordEpisodeStatistics): whole games,
    unclipped rewards. Otherwise they are the sums of the rewards. The number of episodes per environment is fixed in
    advance, so that short episodes are not over-represented.

    Args:
        model: anything with the method `predict` of Stable Baselines' agents.
        env: an environment, or a vector environment with SAME_STEP autoreset or from Stable Baselines. Evaluating in
            the training environment makes the next `learn` start new episodes there. Wrappers used only for training
            (normalisation) are bypassed: the agent applies its own normalisation, which is not updated. A
            `VecNormalize` stays in place, and is not updated either.
        n_eval_episodes: number of episodes, over all environments.
        deterministic: whether to take the most probable action instead of sampling from the policy as in training.
        render: whether to call `env.render()` before every step.
        callback: called after every step of all environments with the local and the global variables. Those about the
            step have Stable Baselines' names (`Step`), with an entry for each environment; `episode_rewards` and
            `episode_lengths` list the episodes that have ended.
        reward_threshold: lowest acceptable mean return; None accepts any.
        return_episode_rewards: whether to return all returns and lengths instead of mean and standard deviation.
        seed: seed of the environments; None continues their random streams (Atari games draw a fresh seed).
        max_episode_steps: see `play`.

    Returns:
        Mean and standard deviation; or a list of returns and a list of lengths in agent steps, in the order in which
        the episodes ended.

    Raises:
        InputError: an argument is not a number or out of range, or ACER cannot act in the environment.
        AssertionError: the mean return is below `reward_threshold`.
    """
    vector_env = as_vector_env(env)
    threshold = validated("reward_threshold", reward_threshold, Number | None)
    played: list[Played] = []
    episode_rewards: list[float] = []
    episode_lengths: list[int] = []
    step: dict[str, Any] = {}
    before_step = (lambda _: vector_env.render()) if render else None
    after_step = None if callback is None else lambda made: step.update(made._asdict())
    for ended in play(
        model, vector_env, n_eval_episodes, deterministic, before_step, seed, after_step, max_episode_steps
    ):
        played += ended
        episode_rewards += [episode.r for episode in ended]
        episode_lengths += [episode.l for episode in ended]
        if callback is not None:
            callback({**locals(), **step}, globals())
    if cuts := said_of_cuts(played):
        say(f"{cuts}; max_episode_steps sets the limit")
    mean, std = float(np.mean(episode_rewards)), float(np.std(episode_rewards))
    if threshold is not None and not mean >= threshold:  # a nan is below any
        raise AssertionError(f"the mean return is {mean:.2f}; expected at least {threshold:.2f}.")
    if return_episode_rewards:
        return episode_rewards, episode_lengths
    return mean, std


def play(
    agent: Predictor,
    env: VectorEnv[Any, Any, Any],
    episodes: int,
    deterministic: bool,
    before_step: Callable[[Moment], object] | None = None,
    seed: int | None = None,
    after_step: Callable[[Step], object] | None = None,
    max_episode_steps: int | None = MAX_EPISODE_STEPS,
) -> Iterator[list[Played]]:
    """Resets the environments and plays; after every step, yields a list of the episodes that ended in it.

    Wrappers used only for training are bypassed (`unwrap`). Environment i of N plays (episodes + i) // N episodes; any
    further episodes that it starts meanwhile are not yielded.

    Args:
        agent: chooses the actions.
        env: vector environment with SAME_STEP autoreset.
        episodes: number of episodes, over all environments.
        deterministic: whether to take the most probable action.
        before_step: called before every step, once its actions are known.
        seed: as in `evaluate_policy`.
        after_step: called after every step.
        max_episode_steps: agent steps after which an episode is cut; None or 0 means no limit. Its environment then
            waits for the others until all of them are reset.

    Raises:
        InputError: a number is not positive, an agent is training in these environments right now, or they give action
            masks in some infos and not in others; or `VecNormalize` and the agent both normalise.
        EnvironmentFailedError: an environment raised an error.
    """
    episodes = validated("the number of episodes", episodes, Count)
    limit = validated("max_episode_steps", max_episode_steps or 0, CountOrZero) or math.inf
    if getattr(agent, "normalize_observations", False):
        check_not_normalized(env, observations=True)
    Player().enter(env)
    env = unwrap(env)
    left = np.array([(episodes + i) // env.num_envs for i in range(env.num_envs)])
    is_playing = np.zeros(env.num_envs, np.bool_)
    takes_masks = _takes_masks(agent)
    with moments_kept(env):
        while left.any():
            if not is_playing.any():  # at first, and once every environment has had an episode cut or is done
                counter, is_playing = _EpisodeCounter(env, limit), left > 0
                obs, infos = _begin(env, seed)
                state, mask, had_masks = None, np.ones(env.num_envs, np.bool_), MASKS in infos
                seed = None if seed is None else seed + 1
            given = {"action_masks": infos[MASKS]} if takes_masks and has_masks(infos, had_masks) else {}
            actions, next_state = agent.predict(obs, state, mask, deterministic, **given)
            if before_step is not None:
                before_step(Moment(obs, state, mask, actions, counter.returns(), given))
            state = next_state
            with environment_errors():
                obs, rewards, terminations, truncations, infos = env.step(actions)
            mask = terminations | truncations
            if after_step is not None:
                after_step(Step(actions, state, obs, rewards, mask, infos))
            over = counter.ended(rewards, terminations, truncations, infos)
            ended = [episode for episode in over if is_playing[episode.env]]
            for episode in ended:
                left[episode.env] -= 1
                is_playing[episode.env] = left[episode.env] > 0 and not episode.is_cut
            yield ended


def said_of_cuts(played: Iterable[Played]) -> str | None:
    """Returns how many episodes were cut, in words; None if none was."""
    lengths = [(episode.l, episode.is_cut) for episode in played]
    cut = [length for length, is_cut in lengths if is_cut]
    return f"{len(cut)} of {len(lengths)} episodes cut after {max(cut):,} steps" if cut else None


def summarize(returns: Sequence[float], lengths: Sequence[int]) -> Summary:
    """Computes mean, standard deviation and the 95 % confidence interval of the mean.

    The interval is a percentile bootstrap, which makes no assumption about the distribution of the returns.

    Args:
        returns: raw returns, at least one.
        lengths: lengths in agent steps, one per return.
    """
    sample = np.asarray(returns, np.float64)
    low = high = None
    if len(sample) > 1:
        random = np.random.default_rng(0)
        means = [random.choice(sample, len(sample)).mean() for _ in range(RESAMPLES)]
        low, high = np.percentile(means, [2.5, 97.5]).tolist()
    mean_length = float(np.mean(lengths))
    return Summary(len(sample), float(sample.mean()), float(sample.std()), low, high, mean_length)


def _takes_masks(agent: Predictor) -> bool:
    ignores = getattr(agent, "action_masks", True) is False
    return not ignores and "action_masks" in inspect.signature(agent.predict).parameters


def _begin(env: VectorEnv[Any, Any, Any], seed: int | None) -> tuple[Any, dict[str, Any]]:
    if seed is None and isinstance(env.unwrapped, AtariPool):
        seed = checked_seed(None)  # without a seed, games would continue from where they are
    with environment_errors():
        return env.reset(seed=environment_seeds(env, seed))


class _EpisodeCounter:
    """Finds the episodes that end or reach the limit, with their reported returns or else the sums of rewards."""

    def __init__(self, env: VectorEnv[Any, Any, Any], limit: float) -> None:
        self._limit = limit
        self._returns = np.zeros(env.num_envs)
        self._lengths = np.zeros(env.num_envs, np.int64)
        self._atari = env.unwrapped if isinstance(env.unwrapped, AtariPool) else None
        self._reports = reports_episodes(env)

    def returns(self) -> NDArray[np.float64]:
        """Returns the returns of the episodes so far, [N]."""
        scores = None if self._atari is None else self._atari.scores()
        return self._returns.copy() if scores is None else np.asarray(scores, np.float64)

    def ended(
        self,
        rewards: NDArray[Any],
        terminations: NDArray[np.bool_],
        truncations: NDArray[np.bool_],
        infos: dict[str, Any],
    ) -> list[Played]:
        self._returns += rewards
        self._lengths += 1
        reported = {i: (r, length) for i, r, length in reported_episodes(infos)}
        over = sorted({*reported, *np.flatnonzero(self._unreported(terminations, truncations)).tolist()})
        sums = zip(self._returns[over].tolist(), self._lengths[over].tolist(), strict=True)
        ended = [Played(i, *reported.get(i, own)) for i, own in zip(over, sums, strict=True)]
        self._returns[over] = 0
        self._lengths[over] = 0
        long = np.flatnonzero(self._lengths >= self._limit).tolist()
        return ended + [Played(i, float(self._returns[i]), int(self._lengths[i]), True) for i in long]

    def _unreported(self, terminations: NDArray[np.bool_], truncations: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns which episodes are over without a report."""
        if self._atari is not None:
            return np.zeros_like(truncations)  # a lost life, or a game lost with its worker
        if self._reports:
            return truncations  # by a TimeLimit outside the reporting wrapper; a termination may be a lost life
        return terminations | truncations
