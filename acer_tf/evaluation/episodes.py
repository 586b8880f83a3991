"""Plays whole episodes with a trained policy, and says how sure the mean of their returns is."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.make import as_vector_env, unwrap
from acer_tf.envs.players import Player
from acer_tf.envs.reports import reported_episodes, reports_episodes
from acer_tf.envs.seeds import environment_seeds
from acer_tf.errors import InputError

RESAMPLES = 2_000
"""Bootstrap samples that a confidence interval is made of."""

StepCallback = Callable[[dict[str, Any], dict[str, Any]], None]


class Predictor(Protocol):
    """What playing needs of an agent."""

    def predict(
        self, observation: Any, state: Any = None, mask: Any = None, deterministic: bool = False
    ) -> tuple[Any, Any]:
        """Returns an action for each observation, and the policy's state after them."""
        ...


class Played(NamedTuple):
    """An episode that was played to its end.

    Attributes:
        env: index of the environment.
        r: raw return, over all lives.
        l: length in agent steps.
    """

    env: int
    r: float
    l: int  # noqa: E741  (the column's name in baselines' monitor files)


class Summary(NamedTuple):
    """Statistics of returns.

    Attributes:
        episodes: their number.
        mean: of the returns.
        std: of the returns, that of the sample (divided by their number).
        low: lower end of the mean's 95 % confidence interval.
        high: its upper end.
        mean_length: in agent steps.
    """

    episodes: int
    mean: float
    std: float
    low: float
    high: float
    mean_length: float


def evaluate_policy(
    agent: Predictor,
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any],
    n_eval_episodes: int = 10,
    deterministic: bool = True,
    render: bool = False,
    callback: StepCallback | None = None,
    reward_threshold: float | None = None,
    return_episode_rewards: bool = False,
    *,
    seed: int | None = None,
) -> tuple[float, float] | tuple[list[float], list[int]]:
    """Plays episodes and returns the mean and the standard deviation of their returns, as Stable Baselines does.

    Returns are raw where the environment reports them (Atari games, gymnasium's RecordEpisodeStatistics): whole games
    without clipping. Of other environments they are the sums of the rewards. How many episodes each environment plays
    is fixed beforehand, so that short ones do not count more often than long ones.

    Args:
        agent: anything with Stable Baselines' `predict`.
        env: an environment, or a vector environment with SAME_STEP autoreset. If it is that of training, the next
            `learn` begins new episodes there. Wrappers that are only for training (normalisation) are left out: the
            agent normalises with its own statistics, which stay as they are.
        n_eval_episodes: episodes, over all environments.
        deterministic: takes the most probable action; otherwise actions are drawn from the policy, as in training.
        render: calls `env.render()` before every step.
        callback: called after every step with the local and the global variables.
        reward_threshold: the mean that must be reached.
        return_episode_rewards: returns all returns and lengths instead.
        seed: of the environments; None goes on with their random streams (Atari games take a fresh one).

    Returns:
        Mean and standard deviation, or a list of returns and a list of lengths in agent steps, in the order in which
        the episodes ended.

    Raises:
        InputError: the number of episodes or the environment cannot work.
        AssertionError: the mean is below `reward_threshold`.
    """
    vector_env = as_vector_env(env)
    episodes: list[Played] = []
    for ended in play(agent, vector_env, n_eval_episodes, deterministic, vector_env.render if render else None, seed):
        episodes += ended
        if callback is not None:
            callback(locals(), globals())
    returns = [episode.r for episode in episodes]
    mean, std = float(np.mean(returns)), float(np.std(returns))
    if reward_threshold is not None and mean < reward_threshold:
        raise AssertionError(f"the mean return is {mean:.2f}; expected at least {reward_threshold:.2f}.")
    if return_episode_rewards:
        return returns, [episode.l for episode in episodes]
    return mean, std


def play(
    agent: Predictor,
    env: VectorEnv[Any, Any, Any],
    episodes: int,
    deterministic: bool,
    before_step: Callable[[], object] | None = None,
    seed: int | None = None,
) -> Iterator[list[Played]]:
    """Resets the environments and plays; yields after every step the episodes that ended in it and count.

    Wrappers that are only for training are left out (`unwrap`). Environment i of N plays (episodes + i) // N
    episodes; those that it begins after them do not count.

    Raises:
        InputError: the number of episodes cannot work, or an agent is learning in these environments right now.
    """
    if episodes < 1:
        raise InputError(f"{episodes} episodes are to be played; expected a whole number >= 1.")
    Player().enter(env)
    env = unwrap(env)
    left = [(episodes + i) // env.num_envs for i in range(env.num_envs)]
    count = _EpisodeCount(env)
    obs = _begin(env, seed)
    state, mask = None, np.ones(env.num_envs, np.bool_)
    while any(left):
        if before_step is not None:
            before_step()
        actions, state = agent.predict(obs, state, mask, deterministic)
        obs, rewards, terminations, truncations, infos = env.step(actions)
        mask = terminations | truncations
        ended = [episode for episode in count.ended(rewards, terminations, truncations, infos) if left[episode.env]]
        for episode in ended:
            left[episode.env] -= 1
        yield ended


def summarize(returns: Sequence[float], lengths: Sequence[int], seed: int = 0) -> Summary:
    """Computes mean, standard deviation and the 95 % confidence interval of the mean.

    The interval is the bootstrap's (percentiles of the means of samples with replacement), which asks for no normal
    distribution; with one episode it is that episode.

    Args:
        returns: raw returns, one at least.
        lengths: in agent steps, as many.
        seed: of the bootstrap.
    """
    sample = np.asarray(returns, np.float64)
    random = np.random.default_rng(seed)
    means = random.choice(sample, (RESAMPLES, len(sample))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    mean_length = float(np.mean(lengths))
    return Summary(len(sample), float(sample.mean()), float(sample.std()), float(low), float(high), mean_length)


def _begin(env: VectorEnv[Any, Any, Any], seed: int | None) -> Any:
    if seed is None and isinstance(env.unwrapped, AtariPool):
        seed = int(np.random.SeedSequence().generate_state(1)[0])  # without one its games would go on where they are
    obs, _ = env.reset(seed=environment_seeds(env, seed))
    return obs


class _EpisodeCount:
    """Episodes as the environments report them, or with the sums of their rewards where nobody does."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self._returns = np.zeros(env.num_envs)
        self._lengths = np.zeros(env.num_envs, np.int64)
        self._is_atari = isinstance(env.unwrapped, AtariPool)
        self._reports = reports_episodes(env)

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
        return ended

    def _unreported(self, terminations: NDArray[np.bool_], truncations: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns which episodes are over even if no report says so."""
        if self._is_atari:
            return np.zeros_like(truncations)  # a life; or a game that was lost with its worker
        if self._reports:
            return truncations  # by a TimeLimit outside of what reports; an end without a report may be a life's
        return terminations | truncations
