"""Checks what environments return; errors name the environment, what it returned and what it declared."""

import contextlib
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from acer_tf.envs.wrappers.base import Array, StepReturn, wrappers_of
from acer_tf.envs.wrappers.flatten import part_at, parts_of, path_name
from acer_tf.errors import InputError

ARRAYS = (Box, Discrete, MultiBinary, MultiDiscrete)
"""Spaces whose batches are arrays, one row for each environment."""
NUMBERS = (float, int, np.number)
LIBRARIES = ("gymnasium.vector.", "stable_baselines3.common.vec_env.")
MISFITS = re.compile(
    "setting an array element|must have the same shape|could not broadcast|Output array|cannot reshape|"
    "Cannot cast|'NoneType' object"
)
"""Messages of NumPy and Python when such a library combines results that do not fit together."""


class CheckedReturns(VectorWrapper[Any, Any, Any, Any, Any]):
    """Checks what a user's own vector environment returns."""

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets the environments."""
        with misfits_told(self.env):
            obs, infos = self.env.reset(seed=seed, options=options)
        return checked_batch(self.env, obs), _checked_infos(infos)

    def step(self, actions: Any) -> StepReturn:
        """Steps the environments."""
        with misfits_told(self.env):
            obs, rewards, terminations, truncations, infos = self.env.step(actions)
        return (
            checked_batch(self.env, obs),
            numbers_of(rewards, self.num_envs),
            flags_of(terminations, self.num_envs, "terminations"),
            flags_of(truncations, self.num_envs, "truncations"),
            with_checked_finals(self.env, _checked_infos(infos)),
        )


def with_checked_returns(env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
    """Wraps vector environments unless they are wrapped already."""
    return env if any(isinstance(wrapper, CheckedReturns) for wrapper in wrappers_of(env)) else CheckedReturns(env)


def checked_batch(env: VectorEnv[Any, Any, Any], observations: Any) -> Any:
    """Returns a batch of observations in the shape and type of the environments' space; with parts, as it is.

    Raises:
        InputError: see `batch_of`.
    """
    if not isinstance(env.single_observation_space, ARRAYS) or _is_batch(env, observations):
        return observations
    return batch_of(env, _each(observations, env.num_envs, "observations"))


def batch_of(env: VectorEnv[Any, Any, Any], each: Sequence[Any]) -> Any:
    """Returns a batch of the observations of N environments, as a new array.

    Raises:
        InputError: one has another shape than the space, or a type that cannot become the space's without loss.
    """
    space: gymnasium.Space[Any] = env.single_observation_space
    if isinstance(space, ARRAYS):  # the general way below takes as long as a step of CartPole
        try:
            batch: Any = np.array(each)
        except ValueError:  # the shapes differ
            batch = None
        if _is_batch(env, batch):
            return batch
    try:
        return _concatenated(space, each)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        i = next((i for i, obs in enumerate(each) if not space.contains(obs)), 0)
        raise InputError(f"environment {i} returned an observation {_misfit(space, each[i])}.") from error


def with_checked_finals(env: VectorEnv[Any, Any, Any], infos: dict[str, Any]) -> dict[str, Any]:
    """Returns infos in which the last observations of episodes are in the form of the environments' space.

    Raises:
        InputError: one has another shape than the space, or a type that cannot become the space's without loss.
    """
    given = infos.get("final_obs")
    if not isinstance(given, np.ndarray | list | tuple) or len(given) != env.num_envs:
        return infos
    space: gymnasium.Space[Any] = env.single_observation_space
    finals = np.full(env.num_envs, None, object)
    for i, obs in enumerate(given):
        if obs is not None:
            finals[i] = _final(space, obs, i)
    return {**infos, "final_obs": finals}


def numbers_of(rewards: Any, num_envs: int) -> Array:
    """Returns rewards as an array, [N]; arrays with one entry also count as numbers.

    Raises:
        InputError: one is not a number.
    """
    if isinstance(rewards, np.ndarray) and rewards.shape == (num_envs,) and rewards.dtype.kind in "biuf":
        return rewards
    each = rewards if isinstance(rewards, tuple) else _each(rewards, num_envs, "rewards")
    return np.array([_number(reward, i) for i, reward in enumerate(each)])


def flags_of(flags: Any, num_envs: int, what: str) -> Array:
    """Returns terminations or truncations as an array, [N] bool.

    Raises:
        InputError: one is neither True nor False.
    """
    if isinstance(flags, np.ndarray) and flags.shape == (num_envs,) and flags.dtype == np.bool_:
        return flags
    each = _each(flags, num_envs, what)
    if not all(map(is_flag, each)):
        raise InputError(f"the vector environment returned the {what} {flags!r}; expected True or False for each.")
    return np.array([bool(flag) for flag in each])


def is_flag(value: Any) -> bool:
    """Returns whether a value is True or False, or a number or array equivalent to one of them."""
    return isinstance(value, bool | np.bool_) or (np.size(value) == 1 and bool(np.isin(value, (False, True)).all()))


def check_info(info: Any, env: int) -> None:
    """Checks the info of environment number `env`.

    Raises:
        InputError: it is not a dict.
    """
    if not isinstance(info, Mapping):
        raise InputError(f"environment {env} returned the info {info!r}; expected a dict.")


@contextlib.contextmanager
def misfits_told(env: VectorEnv[Any, Any, Any]) -> Iterator[None]:
    """Re-raises errors of a vector environment that cannot combine what its environments returned."""
    try:
        yield
    except (TypeError, ValueError, AttributeError) as error:
        modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__)]
        last = next(name for name in reversed(modules) if not name.startswith("numpy."))
        if not (last.startswith(LIBRARIES) and MISFITS.search(str(error))):
            raise
        raise InputError(
            f"one of the environments returned something that does not fit the others ({error}); expected an "
            f"observation in {env.single_observation_space}, a number as reward and a dict as info; with "
            "acer_tf.envs.make.make_vec_env the message says which environment it is."
        ) from error


def _misfit(space: gymnasium.Space[Any], obs: Any) -> str:
    """Says how an observation is not in its space; for a Dict or Tuple, names the first part that is not."""
    for path, part in parts_of(space):
        name = path_name(path)
        try:
            value = part_at(obs, path)
        except (KeyError, IndexError, TypeError):
            return f"without its part {name}"
        if not part.contains(value):
            found = f"of shape {value.shape} and type {value.dtype}" if isinstance(value, np.ndarray) else repr(value)
            return f"whose part {name} is {found}; expected {part}" if path else f"{found}; its space is {part}"
    return f"{obs!r}; its space is {space}"


def _final(space: gymnasium.Space[Any], obs: Any, env: int) -> Any:
    """Returns the last observation of an episode in the form of the space."""
    if isinstance(obs, np.ndarray) and (obs.dtype, obs.shape) == (space.dtype, space.shape):  # the common case
        return obs
    try:
        (final,) = iterate(batch_space(space, 1), _concatenated(space, [obs]))
    except (TypeError, ValueError, KeyError, IndexError) as error:
        what = f"a last observation of an episode {_misfit(space, obs)}"
        raise InputError(f"environment {env} returned {what}.") from error
    return final


def _concatenated(space: gymnasium.Space[Any], each: Sequence[Any]) -> Any:
    """Returns a batch of observations; raises what NumPy and gymnasium do if they do not fit the space."""
    empty: Any = create_empty_array(space, len(each))
    batch: Any = concatenate(space, each, empty)
    # NumPy casts wide integers to narrow types by truncating them.
    if isinstance(space, ARRAYS) and batch.dtype.kind in "iu" and not np.array_equal(batch, np.array(each)):
        raise ValueError
    return batch


def _checked_infos(infos: Any) -> dict[str, Any]:
    if not isinstance(infos, dict):
        raise InputError(f"the vector environment returned the infos {infos!r:.200}; expected one dict for all.")
    return infos


def _is_batch(env: VectorEnv[Any, Any, Any], observations: Any) -> bool:
    declared = env.observation_space
    found = getattr(observations, "dtype", None), getattr(observations, "shape", None)
    return found == (declared.dtype, declared.shape)


def _each(values: Any, num_envs: int, what: str) -> list[Any]:
    each = list(values) if isinstance(values, Sequence) or np.ndim(values) else []
    if len(each) != num_envs:
        raise InputError(f"the vector environment returned the {what} {values!r}; expected {num_envs} of them.")
    return each


def _number(reward: Any, env: int) -> float:
    if isinstance(reward, NUMBERS):
        return float(reward)
    array = np.asarray(reward)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise InputError(f"environment {env} returned the reward {reward!r}; expected a number.")
    return float(array.item())
