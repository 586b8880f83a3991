"""Collects segments from the environments (baselines, `acer/runner.py`)."""

import time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.frame_stack import FrameStack
from acer_tf.errors import InputError
from acer_tf.segment import Action, Episode, Segment


class Actor(Protocol):
    """What a Runner needs of a model."""

    def initial_state(self, nenvs: int) -> NDArray[np.float32]:
        """Returns the state before the first step, [N, S]."""
        ...

    def act(self, obs: NDArray[Any], state: NDArray[np.float32], mask: NDArray[np.bool_]) -> Action:
        """Acts once in every environment."""
        ...


class Runner:
    """Steps the environments with the model's actions, `nsteps` at a time.

    Attributes:
        episodes: whole episodes that ended in the last segment, where the environments report them.
    """

    def __init__(self, env: FrameStack, model: Actor, nsteps: int, seed: int | None = None) -> None:
        """Resets the environments twice, as baselines does: their random streams start from the second reset.

        Args:
            env: the environments.
            model: acts.
            nsteps: agent steps of a segment, T.
            seed: of the environments; environment i gets a stream of its own.
        """
        self._env = env
        self._model = model
        self._nsteps = nsteps
        self._channels = env.stacked.shape[-1] // env.nstack
        env.reset(seed=seed)
        self._obs, _ = env.reset()
        self._dones = np.zeros(env.num_envs, np.bool_)
        self._state = model.initial_state(env.num_envs)
        self._start = time.time()
        self.episodes: list[Episode] = []

    def run(self) -> Segment:
        """Collects T steps from each of the N environments.

        Raises:
            InputError: an environment gave an observation or a reward that is not a number.
        """
        nenvs, nsteps, nstack = self._env.num_envs, self._nsteps, self._env.nstack
        shape, dtype = self._env.stacked.shape[1:], self._env.stacked.dtype
        self.episodes = []

        enc_obs = np.empty((nenvs, nstack + nsteps, *shape[:-1], self._channels), dtype)
        obs = np.empty((nenvs, nsteps + 1, *shape), dtype)
        rewards = np.empty((nenvs, nsteps), np.float32)
        masks = np.empty((nenvs, nsteps + 1), np.bool_)
        actions, mus, states = [], [], self._state
        for i in range(nstack):
            enc_obs[:, i] = self._obs[..., i * self._channels : (i + 1) * self._channels]
        for t in range(nsteps):
            _require_numbers(self._obs, "an observation")
            obs[:, t], masks[:, t] = self._obs, self._dones
            action, mu, self._state = self._model.act(self._obs, self._state, self._dones)
            actions.append(action)
            mus.append(mu)
            self._obs, rewards[:, t], terminations, truncations, infos = self._env.step(action)
            self._dones = terminations | truncations  # a time limit counts as an end, as in baselines
            enc_obs[:, nstack + t] = self._obs[..., -self._channels :]
            self._note_episodes(infos)
        _require_numbers(self._obs, "an observation")
        obs[:, nsteps], masks[:, nsteps] = self._obs, self._dones
        _require_numbers(rewards, "a reward")
        stacked = np.stack(actions, axis=1), rewards, np.stack(mus, axis=1)
        return Segment(enc_obs, obs, *stacked, dones=masks[:, 1:], masks=masks, states=states)

    def _note_episodes(self, infos: dict[str, Any]) -> None:
        # gymnasium's statistics wrapper puts them at the top; a single environment's own wrapper under final_info.
        infos = infos if "episode" in infos else infos.get("final_info", {})
        if "episode" not in infos:
            return
        for i in np.flatnonzero(infos["_episode"]):
            raw_return, length = infos["episode"]["r"][i], infos["episode"]["l"][i]
            self.episodes.append(Episode(int(i), float(raw_return), int(length), time.time() - self._start))


def _require_numbers(array: NDArray[Any], what: str) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        env = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise InputError(f"environment {env} gave {what} that is not a finite number.")
