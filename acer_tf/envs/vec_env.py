"""Presents vector environments of Stable Baselines and SuperSuit as gymnasium's; neither package is imported."""

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from acer_tf.envs.returns import check_info, checked_batch, flags_of, misfits_told, numbers_of, with_checked_finals
from acer_tf.envs.vector import gather_infos
from acer_tf.envs.wrappers.base import Array, StepReturn
from acer_tf.errors import InputError

Infos = Sequence[Mapping[str, Any]]


@runtime_checkable
class VecEnv(Protocol):
    """Stable Baselines' vector environment, which resets an environment in the step in which its episode ends.

    gymnasium's `VectorEnv` is distinguished by its type, since its methods of these names return other values.
    """

    num_envs: int
    observation_space: Any
    action_space: Any

    def reset(self) -> Any:
        """Returns observations, [N, ...] each."""
        ...

    def step_async(self, actions: Any) -> None:
        """Starts a step."""
        ...

    def step_wait(self) -> tuple[Any, Array, Array, Infos]:
        """Returns observations, rewards [N], dones [N], and N infos, of the old episode where one ended."""
        ...

    def close(self) -> None:
        """Ends processes and windows."""
        ...


class StableBaselinesEnv(VectorEnv[Any, Any, Array]):
    """Steps a `VecEnv` through gymnasium's methods.

    Entries of the infos move from Stable Baselines' names to gymnasium's: `terminal_observation` becomes `final_obs`,
    and `TimeLimit.truncated` the truncations. Episodes are reported by Stable Baselines' monitors or, if there are
    none, with the rewards before `VecNormalize`.

    Attributes:
        venv: the vector environment.
    """

    def __init__(self, venv: VecEnv) -> None:
        """Wraps a vector environment.

        Raises:
            InputError: its spaces are not gymnasium's.
        """
        for space in (venv.observation_space, venv.action_space):
            if not isinstance(space, gymnasium.Space):
                kind = f"{type(space).__module__}.{type(space).__name__}"
                raise InputError(
                    f"the vector environment has spaces of another package ({kind}); expected gymnasium's."
                )
        self.venv = venv
        self.num_envs = venv.num_envs
        self.single_observation_space = _observation_space(venv)
        self.single_action_space = venv.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.render_mode = getattr(venv, "render_mode", None)
        self.metadata = {**getattr(venv, "metadata", {}), "autoreset_mode": AutoresetMode.SAME_STEP}
        self.spec = next(iter(_ask(venv, "get_attr", "spec")), None)
        self._is_monitored = hasattr(venv, "results_writer") or bool(_ask(venv, "has_attr", "get_episode_rewards"))
        self._returns, self._lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)

    @property
    def innermost(self) -> Any:
        """The vector environment without its wrappers."""
        return list(_layers(self.venv))[-1]

    def call(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        """Calls a method of every environment; returns nothing if they cannot be reached."""
        return tuple(_ask(self.venv, "env_method", name, *arguments))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets the environments; neighbouring values of `seed` lead to unrelated streams."""
        if seed is not None:  # environment i gets the seed `seed + i`
            seed = int(np.random.SeedSequence(seed).generate_state(1)[0])
        self._returns[:], self._lengths[:] = 0, 0
        obs, infos = self._reset(seed, options)
        return checked_batch(self, obs), gather_infos(infos)

    def step(self, actions: Any) -> StepReturn:
        """Steps the environments."""
        with misfits_told(self):
            obs, rewards, dones, infos = self._step(actions)
        obs, rewards = checked_batch(self, obs), numbers_of(rewards, self.num_envs)
        for i, info in enumerate(infos):
            check_info(info, i)
        dones = flags_of(dones, self.num_envs, "dones")
        truncations = dones & np.array([bool(info.get("TimeLimit.truncated")) for info in infos])
        first = self._first_infos()
        own = [dict(first[i]) if dones[i] else _own(info) for i, info in enumerate(infos)]
        for i in np.flatnonzero(dones).tolist():
            own[i]["final_info"] = _own(infos[i])
            if "terminal_observation" in infos[i]:
                own[i]["final_obs"] = infos[i]["terminal_observation"]
        for i, episode in self._episodes(rewards, dones, infos).items():
            own[i]["episode"] = episode
        return obs, rewards, dones & ~truncations, truncations, with_checked_finals(self, gather_infos(own))

    def render(self) -> Any:
        """Returns an image of each environment, or shows them in a window."""
        venv: Any = self.venv
        return tuple(venv.get_images()) if self.render_mode == "rgb_array" else venv.render()

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the environments."""
        self.venv.close()

    def _reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, Infos]:
        venv: Any = self.venv
        if seed is not None:
            venv.seed(seed)
        if options is not None:
            venv.set_options(options)
        return venv.reset(), self._first_infos()

    def _step(self, actions: Any) -> tuple[Any, Array, Array, Infos]:
        self.venv.step_async(actions)
        return self.venv.step_wait()

    def _first_infos(self) -> Infos:
        """Returns the infos of the last reset of each environment."""
        infos: Infos = getattr(self.innermost, "reset_infos", [{}] * self.num_envs)
        return infos

    def _episodes(self, rewards: Array, dones: NDArray[np.bool_], infos: Infos) -> dict[int, dict[str, float]]:
        """Returns the raw return `r` and the length `l` of the episodes that ended in a step, by environment."""
        raw = numbers_of(getattr(self.venv, "get_original_reward", lambda: rewards)(), self.num_envs)
        self._returns += raw
        self._lengths += 1
        ended = {int(i): {"r": float(self._returns[i]), "l": float(self._lengths[i])} for i in np.flatnonzero(dones)}
        if self._is_monitored:  # a lost life, for instance, ends no episode
            reports = {i: infos[i].get("episode") for i in ended}
            ended = {i: {"r": float(of["r"]), "l": float(of["l"])} for i, of in reports.items() if of is not None}
        self._returns[dones], self._lengths[dones] = 0, 0
        return ended


class SuperSuitEnv(StableBaselinesEnv):
    """Steps SuperSuit's vector environment of the agents of a PettingZoo environment.

    It resets in the step in which the last agent's episode ends, as Stable Baselines' do, and has their kind of infos.
    """

    def render(self) -> tuple[Any, ...]:
        """Returns the picture of the first environment for each agent."""
        picture: Any = getattr(self.venv, "render")()  # noqa: B009 (not of every VecEnv)
        return (picture,) * self.num_envs

    def _reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, Infos]:
        obs, infos = self.venv.reset(seed=seed, options=options)  # type: ignore[call-arg]
        # Its processes return lists of numbered infos.
        infos = [info for part in infos for info in ([part] if isinstance(part, Mapping) else dict(part).values())]
        return obs, infos

    def _step(self, actions: Any) -> tuple[Any, Array, Array, Infos]:
        self.venv.step_async(actions)
        obs, rewards, terminations, truncations, infos = self.venv.step_wait()  # type: ignore[misc]
        over, cut = np.asarray(terminations, np.bool_), np.asarray(truncations, np.bool_)
        infos = [{**info, "TimeLimit.truncated": bool(is_cut)} for info, is_cut in zip(infos, cut & ~over, strict=True)]
        self._last_infos = infos
        return obs, rewards, over | cut, infos

    def _first_infos(self) -> Infos:
        return [_own(info) for info in self._last_infos]  # those of the last step, which include the reset's


def normalizer(env: Any) -> Any:
    """Returns the `VecNormalize` around Stable Baselines' vector environment; None if there is neither."""
    venv = env.venv if isinstance(env, StableBaselinesEnv) else env
    return next((layer for layer in _layers(venv) if hasattr(type(layer), "normalize_obs")), None)


def check_not_normalized(env: VectorEnv[Any, Any, Any], *, observations: bool = False, rewards: bool = False) -> None:
    """Checks that a `VecNormalize` around the environments does not normalise what the agent normalises.

    Raises:
        InputError: both would normalise the observations, or the rewards.
    """
    found = normalizer(env.unwrapped)
    if found is not None and ((observations and found.norm_obs) or (rewards and found.norm_reward)):
        raise InputError(
            "VecNormalize already normalises the environment; leave the agent's normalize_observations and "
            "normalize_rewards out, or give the environment without it."
        )


@contextlib.contextmanager
def moments_kept(env: VectorEnv[Any, Any, Any]) -> Iterator[None]:
    """Keeps a `VecNormalize` around the environments from updating its moments while the block runs."""
    found = normalizer(env.unwrapped)
    if found is None:
        yield
        return
    before, found.training = found.training, False
    try:
        yield
    finally:
        found.training = before


def copy_moments(source: Any, target: Any) -> None:
    """Copies the moments of the training environments' `VecNormalize`, if any, to that of other environments.

    Raises:
        InputError: the other environments have none.
    """
    ours, theirs = normalizer(source), normalizer(target)
    if ours is None or ours is theirs:
        return
    if theirs is None:
        raise InputError(
            "the training environments are normalised by VecNormalize; wrap the evaluation environments in one too."
        )
    for name in ("obs_rms", "ret_rms"):
        if hasattr(ours, name):
            setattr(theirs, name, copy.deepcopy(getattr(ours, name)))


def _layers(venv: Any) -> Iterator[Any]:
    """Yields the wrappers around a vector environment, outermost first, then the environment itself."""
    while venv is not None:
        yield venv
        venv = getattr(venv, "__dict__", {}).get("venv")  # not getattr: Stable Baselines' wrappers would pass it on


def _own(info: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the entries that the environment itself put into an info."""
    of_vec_env = ("terminal_observation", "TimeLimit.truncated", "episode")
    return {name: value for name, value in info.items() if name not in of_vec_env}


def _ask(venv: Any, method: str, *arguments: Any) -> Any:
    """Returns the result of a method of the vector environment; an empty tuple if it does not have the method."""
    with contextlib.suppress(AttributeError, NotImplementedError):
        return getattr(venv, method)(*arguments)
    return ()


def _observation_space(venv: VecEnv) -> gymnasium.Space[Any]:
    """Returns the space of one observation: `VecNormalize` declares the original space, not that of what it returns."""
    space: gymnasium.Space[Any] = venv.observation_space
    found = normalizer(venv)
    if found is None or not found.norm_obs:
        return space
    if not isinstance(space, gymnasium.spaces.Dict):
        return _clipped(space, found.clip_obs)
    parts = {key: _clipped(part, found.clip_obs) if key in found.norm_obs_keys else part for key, part in space.items()}
    return gymnasium.spaces.Dict(parts)


def _clipped(space: gymnasium.Space[Any], clip: float) -> Box:
    return Box(-clip, clip, space.shape, np.float32)
