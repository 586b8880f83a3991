"""Collects segments from the environments (baselines, `acer/runner.py`)."""

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from acer_tf.envs.conventions import environment_seeds, reported_episodes
from acer_tf.envs.wrappers.action_masks import MASKS, gives_no_last_masks, has_masks, masks_of, possible_actions
from acer_tf.envs.wrappers.base import wrappers_of
from acer_tf.envs.wrappers.box_actions import BoxActions
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.joint_actions import JointActions
from acer_tf.envs.wrappers.normalize import frozen, is_finite, load_normalization_state, normalization_state
from acer_tf.errors import InputError, NotFiniteError, environment_errors
from acer_tf.schema import LARGEST
from acer_tf.segment import Action, Episode, Segment, is_given
from acer_tf.system.console import say

Masks = NDArray[np.bool_] | tuple[()]
"""Possible actions, [N, A] bool; `()` if the environments give no masks."""


AfterStep = Callable[[dict[str, Any]], bool]
"""Called with a step's results by name; False stops training."""


class Values(Protocol):
    """Computes V; implemented by `policies.actor.Actor.values`."""

    def __call__(self, obs: NDArray[Any], state: NDArray[np.float32], action_masks: Masks = ()) -> NDArray[np.float32]:
        """Returns V, [N], of observations [N, *observation] within an episode, given the state [N, P]."""
        ...


class BehaviorPolicy(Protocol):
    """Acts in the environments; implemented by `policies.actor.Actor`."""

    def initial_state(self, nenvs: int) -> NDArray[np.float32]:
        """Returns the policy's state before the first step, [N, P]."""
        ...

    def act(
        self, obs: NDArray[Any], state: NDArray[np.float32], mask: NDArray[np.bool_], *, action_masks: Masks = ()
    ) -> Action:
        """Returns an action for every environment."""
        ...


class TrainingStoppedError(Exception):
    """Training was stopped in the middle of a segment, whose steps are dropped.

    Attributes:
        rewards: [N, t] float32, rewards of the dropped steps.
        dones: [N, t] bool, ends of episodes in the dropped steps.
        begins: [N] bool, whether an episode began with the first dropped step.
    """

    def __init__(self, rewards: NDArray[np.float32], dones: NDArray[np.bool_], begins: NDArray[np.bool_]) -> None:
        """Creates the error from the arrays of the dropped steps."""
        super().__init__("training was stopped in the middle of a segment")
        self.rewards = rewards
        self.dones = dones
        self.begins = begins


class Runner:
    """Steps the environments with a policy's actions, `nsteps` at a time.

    Attributes:
        episodes: complete episodes that ended during the last `run`, if the environments report them.
        first_env: index of a segment's first environment, 0: every segment covers all environments.
        dropped: unfinished segments that the last `run` abandoned because a worker was replaced, each with its first
            environment, 0. Only their rewards, dones and masks are meaningful.
    """

    first_env = 0

    def __init__(
        self,
        env: FrameStack,
        actor: BehaviorPolicy,
        nsteps: int,
        seed: int | None = None,
        values: Values | None = None,
        *,
        obeys_masks: bool = True,
    ) -> None:
        """Resets the environments twice, as baselines does; only the first reset is seeded.

        Args:
            env: the environments.
            actor: chooses the actions.
            nsteps: agent steps per segment and environment, T.
            seed: seed of the environments, which get independent streams; None draws one.
            values: computes V of the states in which a time limit truncates episodes; None leaves `final_values` at 0.
            obeys_masks: whether to obey action masks in the environments' infos, if there are any.
        """
        self._env = env
        self._actor = actor
        self._nsteps = nsteps
        self._values = values
        self._channels = env.stacked.shape[-1] // env.nstack
        with environment_errors():
            # In baselines, both the Runner's base class and the Runner itself reset.
            env.reset(seed=environment_seeds(env, seed))
            self._obs, infos = env.reset()
        self._obeys_masks, self._had_masks = obeys_masks, MASKS in infos
        self._action_masks = self._possible(infos)
        if values is not None and is_given(self._action_masks) and gives_no_last_masks(env):
            say(
                "warning: training will end at the first time limit, as the masks of episodes' last states are not "
                "known, which bootstrap_truncated needs; put action_mask into the infos, make the environments with "
                "acer_tf.envs.make.make_vec_env, or set bootstrap_truncated to False",
                is_error=True,
            )
        # Baselines' first mask is 0: no episode ended before the first step.
        self._dones = np.zeros(env.num_envs, np.bool_)
        self._state = actor.initial_state(env.num_envs)
        self._start = time.monotonic()
        self._restart_seed: int | None = None
        self._actions: list[NDArray[Any]] = []
        self.episodes: list[Episode] = []
        self.dropped: list[tuple[int, Segment]] = []

    def metrics(self) -> dict[str, float]:
        """Returns how many of the environments' worker processes have been replaced since the start."""
        return {"workers_replaced": int(getattr(self._env.unwrapped, "replacements", 0))}

    def restart(self, seed: int, is_recorded: bool) -> None:
        """Starts new episodes from this seed.

        Args:
            seed: seed of the environments.
            is_recorded: whether to record actions from now on, so that `state_dict` can restore the environments.
        """
        with environment_errors():
            self._obs, infos = self._env.reset(seed=environment_seeds(self._env, seed))
        self._action_masks = self._possible(infos)
        # The episodes in progress are over: the recurrent state and the frame stacks are reset.
        self._dones = np.ones(self._env.num_envs, np.bool_)
        self._state = self._actor.initial_state(self._env.num_envs)
        self._restart_seed, self._actions = seed if is_recorded else None, []

    def state_dict(self) -> dict[str, Any]:
        """Returns the policy's state, and the last restart with all actions since, which restore the environments.

        Without a recorded restart, the environments cannot be restored; restart them after loading.
        """
        actions = {} if not self._actions else {"actions": np.concatenate(self._actions, axis=1)}  # [N, steps]
        seconds = time.monotonic() - self._start
        own = {"seconds": seconds, "restart_seed": self._restart_seed, "state": self._state}
        return own | actions | normalization_state(self._env)

    def load_state_dict(self, state: Mapping[str, Any], heartbeat: Callable[[], object] = lambda: None) -> bool:
        """Restores the policy's state, and the environments by replaying the recorded actions.

        Args:
            state: a result of `state_dict`.
            heartbeat: called after each step.

        Returns:
            Whether the environments are back where they were: the state is a Runner's and has a recorded restart.
        """
        self._start = time.monotonic() - state["seconds"]
        if "state" not in state:  # from collectors, each of which had its own environments
            return False
        # The moments first, since the observations that follow are normalised with them.
        normalization = {name: state[name] for name in normalization_state(self._env) if name in state}
        load_normalization_state(self._env, normalization)
        with frozen(self._env):  # the moments include these steps already
            self._replay_actions(state, heartbeat)
        return self._restart_seed is not None

    def _replay_actions(self, state: Mapping[str, Any], heartbeat: Callable[[], object]) -> None:
        self._forget_actions()
        if state["restart_seed"] is not None:
            self.restart(state["restart_seed"], is_recorded=True)
        if "actions" in state:
            self._actions.append(state["actions"])
            with environment_errors():
                # Environments cannot be saved; the same seed and actions lead to the same states.
                for actions in np.moveaxis(state["actions"], 1, 0):
                    self._obs, _, terminations, truncations, infos = self._env.step(actions)
                    heartbeat()
                    if "worker_replaced" in infos:
                        self._forget_actions()
            self._dones = terminations | truncations
            self._action_masks = self._possible(infos)
        self._state = state["state"]

    def run(self, after_step: AfterStep | None = None) -> Segment:
        """Collects T steps from each of the N environments.

        If a worker process of the environments is replaced, its episodes are lost. The steps of this segment are then
        dropped, and another T steps are collected; the other environments' episodes continue.

        Args:
            after_step: called after each step with the step's results by name, among them `t`, the number of steps of
                this segment so far; returning False stops training.

        Raises:
            NotFiniteError: an environment returned an observation or a reward that is not finite.
            InputError: V of a truncated episode's last state is needed, but the environment does not return that state.
            EnvironmentFailedError: an environment raised an error, or too many worker processes failed.
            TrainingStoppedError: `after_step` returned False.
        """
        self.episodes, self.dropped = [], []
        while True:
            segment = self._collect(after_step)
            if segment is not None:
                return segment

    def _collect(self, after_step: AfterStep | None) -> Segment | None:
        """Collects a segment, or returns None as soon as a worker is replaced."""
        segment, actions, mus = self._empty_segment(), list[NDArray[Any]](), list[NDArray[Any]]()
        for t in range(self._nsteps):
            # Baselines' order: observation and mask of step t, then the action, then its reward.
            self._observe(segment, t)
            action, mu, self._state = self._act()
            actions.append(action)
            # μ is stored when acting, for ρ in equation 4: later the policy has moved on.
            mus.append(mu)
            terminations, truncations, infos = self._step(segment, t, action)
            # The worker's episodes are lost, and part of a segment is of no use: start collecting again.
            if "worker_replaced" in infos:
                self._forget_actions()
                dones = self._dones_until(segment, t)
                dones[infos["worker_replaced"], -1] = False  # lost, not ended
                self.dropped.append((0, segment._replace(rewards=segment.rewards[:, : t + 1], dones=dones)))
                return None
            # A time limit does not end the task: the value of the last state replaces the rewards that would follow.
            if self._values is not None and (is_cut := truncations & ~terminations).any():
                segment.final_values[:, t] = self._final_values(self._values, infos, is_cut)
            if after_step is not None and not after_step(self._results_of_step(t, action, mu, segment, infos)):
                self._forget_actions()
                dones = self._dones_until(segment, t)
                raise TrainingStoppedError(segment.rewards[:, : t + 1], dones, segment.masks[:, 0])
        self._observe(segment, self._nsteps)  # the bootstrap step: observed, not acted in
        segment = segment._replace(actions=np.stack(actions, axis=1), mus=np.stack(mus, axis=1))
        # Kept for `load_state_dict`, which repeats the actions after a restart.
        if self._restart_seed is not None:
            self._actions.append(segment.actions)
        return segment

    def _dones_until(self, segment: Segment, t: int) -> NDArray[np.bool_]:
        """Returns the ends of episodes in steps 0 to t, [N, t + 1]; those of step t are not in the masks yet."""
        return np.column_stack([segment.masks[:, 1 : t + 1], self._dones])

    def _empty_segment(self) -> Segment:
        """Returns a segment to be filled, which begins with the S frames of the current observation.

        As in baselines, these are the frames as the agent sees them: zero if from before the end of an episode.
        """
        nenvs, nsteps, nstack = self._env.num_envs, self._nsteps, self._env.nstack
        shape, dtype = self._env.stacked.shape[1:], self._env.stacked.dtype
        enc_obs = np.empty((nenvs, nstack + nsteps, *shape[:-1], self._channels), dtype)
        # Frame i of the stack is channels iC to (i + 1)C - 1, oldest first.
        for i in range(nstack):
            enc_obs[:, i] = self._obs[..., i * self._channels : (i + 1) * self._channels]
        masks = np.empty((nenvs, nsteps + 1), np.bool_)
        possible = self._action_masks
        return Segment(
            enc_obs=enc_obs,
            obs=np.empty((nenvs, nsteps + 1, *shape), dtype),
            actions=np.empty(0),  # set when the segment is complete: the shape depends on the policy
            rewards=np.empty((nenvs, nsteps), np.float32),
            mus=np.empty(0, np.float32),
            dones=masks[:, 1:],  # shifted by one, as in baselines: an end belongs to the step before the mask
            masks=masks,
            states=self._state,  # not kept by baselines
            final_values=np.zeros((nenvs, nsteps), np.float32),
            action_masks=np.empty((nenvs, nsteps + 1, possible.shape[1]), np.bool_) if is_given(possible) else (),
        )

    def _act(self) -> Action:
        """Chooses actions for the current observations."""
        # Tasks without masks call the same function as in baselines, with one trace.
        given = {"action_masks": self._action_masks} if is_given(self._action_masks) else {}
        return self._actor.act(self._obs, self._state, self._dones, **given)

    @functools.cached_property
    def _action_space(self) -> gymnasium.Space[Any]:
        """The user's action space, to which masks refer; looked up once, not at every step."""
        below = (wrapper.env for wrapper in wrappers_of(self._env) if isinstance(wrapper, BoxActions | JointActions))
        return next(below, self._env).single_action_space

    def _possible(self, infos: Mapping[str, Any]) -> Masks:
        """Returns the masks of the current states; `()` if there are none or they are not obeyed."""
        if not self._obeys_masks or not has_masks(infos, self._had_masks):
            return ()
        return possible_actions(infos, self._env.num_envs, self._action_space)

    def _observe(self, segment: Segment, t: int) -> None:
        """Records the observation before step t, and where an episode ended just before it."""
        _require_numbers(self._obs, "an observation")
        segment.obs[:, t], segment.masks[:, t] = self._obs, self._dones
        if is_given(segment.action_masks):
            segment.action_masks[:, t] = self._action_masks

    def _step(
        self, segment: Segment, t: int, action: NDArray[Any]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Steps the environments; returns terminations and truncations, [N] each, and the infos."""
        with environment_errors():
            self._obs, rewards, terminations, truncations, infos = self._env.step(action)
        _require_numbers(rewards, "a reward")
        segment.rewards[:, t] = rewards
        self._dones = terminations | truncations  # a time limit counts as an end, as in baselines
        self._action_masks = self._possible(infos)
        # Only the newest frame: where an episode ended, it is the first of the next episode.
        segment.enc_obs[:, self._env.nstack + t] = self._obs[..., -self._channels :]
        # Raw returns, before clipping and over all lives: the score, in a user's words.
        for env, raw_return, length in reported_episodes(infos):
            self.episodes.append(Episode(env, raw_return, length, time.monotonic() - self._start))
        return terminations, truncations, infos

    def _forget_actions(self) -> None:
        """Ends the recording: repeated actions would not lead to where the environments are now."""
        self._restart_seed, self._actions = None, []

    def _final_values(self, values: Values, infos: Mapping[str, Any], is_cut: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Returns V of the last states of truncated episodes, 0 for the other environments; [N] float32."""
        obs = self._last_obs(infos, is_cut)  # of all N environments, so that there is a single trace
        if not is_given(self._action_masks):
            return np.where(is_cut, values(obs, self._state), np.float32(0))
        masks = self._last_masks(infos, is_cut)
        # Nothing follows a state without possible actions: its value is 0, whatever the network says.
        goes_on = masks.any(axis=1)
        return np.where(is_cut & goes_on, values(obs, self._state, action_masks=masks), np.float32(0))

    def _last_obs(self, infos: Mapping[str, Any], is_cut: NDArray[np.bool_]) -> NDArray[Any]:
        """Returns the current observations, with those of truncated episodes replaced by the episodes' last ones."""
        # After an automatic reset, the observation itself is already the first of the next episode.
        final, obs = infos.get("final_obs", [None] * len(is_cut)), self._obs.copy()
        for env in np.flatnonzero(is_cut):
            if final[env] is None:
                raise InputError(
                    "bootstrap_truncated needs the last observation of an episode that a time limit cut short, but the "
                    "environment does not give it (final_obs in the infos); set bootstrap_truncated to False."
                )
            obs[env] = final[env]
        _require_numbers(obs, "an observation")
        return obs

    def _last_masks(self, infos: Mapping[str, Any], is_cut: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns the current masks, with those of truncated episodes replaced by the masks of their last states."""
        final = infos.get("final_info", {})
        if MASKS not in final or (is_cut & ~final.get(f"_{MASKS}", is_cut)).any():
            raise InputError(
                "bootstrap_truncated needs the action mask of the state in which a time limit cut an episode short, "
                "but the environment gives none (action_mask in its info), as vector environments that "
                "acer_tf.envs.make.make_vec_env makes do; or set bootstrap_truncated or action_masks to False."
            )
        # The environments are already in their next episodes; only final_info has the masks of the last states.
        masks = np.array(self._action_masks)
        masks[is_cut] = masks_of(final[MASKS][is_cut], int(is_cut.sum()), self._action_space)
        return masks

    def _results_of_step(
        self, t: int, actions: Any, mus: Any, segment: Segment, infos: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "t": t + 1,
            "actions": actions,
            "mus": mus,
            "states": self._state,
            "obs": self._obs.copy(),  # the next step overwrites it
            "rewards": segment.rewards[:, t],
            "dones": self._dones,
            "infos": infos,
        }


def _require_numbers(array: NDArray[Any], what: str) -> None:
    # Refused at the source: a nan in a weight would not tell which environment caused it.
    if array.dtype.kind != "f" or np.abs(array).max(initial=0) <= LARGEST:
        return
    env, *_ = place = tuple(np.argwhere(~is_finite(array))[0].tolist())
    has = f"has {array[place]:g}, too large for float32" if np.isfinite(array[place]) else "is not a finite number"
    raise NotFiniteError(f"environment {env} gave {what} that {has}.", {what.split()[-1]: array})
