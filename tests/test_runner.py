from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from acer_tf.buffer import stack_obs
from acer_tf.envs.make import make_training_env
from acer_tf.envs.vector import SerialEnvs
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.envs.wrappers.joint_actions import JointActions
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.runner import Runner, TrainingStoppedError
from acer_tf.segment import Action, Segment
from tests.counter import Counter
from tests.scripted import ScriptedEnv

Array = NDArray[Any]
NENVS, NSTEPS, NACT = 3, 4, 5


class ScriptedActor:
    """Acts by the number of the call and writes down what it is shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[Array, Any, Array]] = []

    def initial_state(self, nenvs: int) -> Array:
        assert nenvs == NENVS
        return np.zeros((NENVS, 1), np.float32)

    def act(self, obs: Array, state: Array, mask: NDArray[np.bool_]) -> Action:
        self.shown.append((obs.copy(), state.copy(), mask.copy()))
        call = len(self.shown)
        mus = np.random.default_rng(call).dirichlet(np.ones(NACT), NENVS).astype(np.float32)
        return Action((np.arange(NENVS) + call) % NACT, mus, state + np.float32(1))


def script(frame: tuple[int, ...] = (2, 1), dtype: type = np.uint8, length: int = 20, **kwargs: Any) -> ScriptedEnv:
    random = np.random.default_rng(0)
    ends = random.random((2, length, NENVS)) < 0.15
    frames = random.integers(1, 255, (length, NENVS, *frame)).astype(dtype)
    return ScriptedEnv(frames, random.normal(size=(length, NENVS)), *ends, nact=NACT, **kwargs)


def collect(env: ScriptedEnv, nstack: int = 1, runs: int = 1, seed: int | None = None) -> tuple[list[Segment], Any]:
    actor = ScriptedActor()
    runner = Runner(FrameStack(env, nstack), actor, NSTEPS, seed)
    return [runner.run() for _ in range(runs)], actor


@pytest.mark.parametrize(("frame", "dtype"), [((2, 1), np.uint8), ((4,), np.float32), ((3, 2), np.float64)])
def test_fields_are_those_of_the_script(frame: tuple[int, ...], dtype: type) -> None:
    env = script(frame, dtype)
    segments, actor = collect(env, runs=3)
    ends = env._terminations | env._truncations
    for run, segment in enumerate(segments):
        first = 1 + run * NSTEPS  # frame 0 belongs to the first of the two resets
        window = slice(first, first + NSTEPS + 1)
        steps = slice(first + 1, first + 1 + NSTEPS)
        masks = ends[window].T.copy()
        if run == 0:
            masks[:, 0] = False  # no episode ended before the first step
        np.testing.assert_array_equal(segment.obs, np.swapaxes(env._frames[window], 0, 1))
        np.testing.assert_array_equal(segment.enc_obs, segment.obs)
        np.testing.assert_array_equal(segment.rewards, env._rewards[steps].T.astype(np.float32))
        np.testing.assert_array_equal(segment.masks, masks)
        np.testing.assert_array_equal(segment.dones, ends[steps].T)
        calls = range(1 + run * NSTEPS, 1 + (run + 1) * NSTEPS)
        expected = np.stack([(np.arange(NENVS) + call) % NACT for call in calls], axis=1)
        np.testing.assert_array_equal(segment.actions, expected)
        np.testing.assert_array_equal(np.stack(env.actions[run * NSTEPS : (run + 1) * NSTEPS], axis=1), expected)
        mus = [np.random.default_rng(call).dirichlet(np.ones(NACT), NENVS) for call in calls]
        np.testing.assert_array_equal(segment.mus, np.stack(mus, axis=1).astype(np.float32))
        for t, (obs, state, mask) in enumerate(actor.shown[run * NSTEPS : (run + 1) * NSTEPS]):
            np.testing.assert_array_equal(obs, segment.obs[:, t])
            np.testing.assert_array_equal(mask, segment.masks[:, t])
            np.testing.assert_array_equal(state, np.full((NENVS, 1), run * NSTEPS + t))
        np.testing.assert_array_equal(segment.states, np.full((NENVS, 1), run * NSTEPS))
    assert any(segment.dones.any() for segment in segments)


def test_dtypes_and_shapes() -> None:
    (segment,), _ = collect(script((6, 5, 1)), nstack=4)
    assert segment.action_masks == ()
    fields = segment._asdict().items()
    described = {name: (array.dtype, array.shape) for name, array in fields if name != "action_masks"}
    assert described == {
        "enc_obs": (np.uint8, (NENVS, NSTEPS + 4, 6, 5, 1)),
        "obs": (np.uint8, (NENVS, NSTEPS + 1, 6, 5, 4)),
        "actions": (np.int64, (NENVS, NSTEPS)),
        "rewards": (np.float32, (NENVS, NSTEPS)),
        "mus": (np.float32, (NENVS, NSTEPS, NACT)),
        "dones": (np.bool_, (NENVS, NSTEPS)),
        "masks": (np.bool_, (NENVS, NSTEPS + 1)),
        "states": (np.float32, (NENVS, 1)),
        "final_values": (np.float32, (NENVS, NSTEPS)),
    }


def test_replay_sees_what_the_agent_saw() -> None:
    segments, _ = collect(script((6, 5, 1), length=60), nstack=4, runs=14)
    assert sum(segment.dones.sum() for segment in segments) > 10
    for segment in segments:
        np.testing.assert_array_equal(stack_obs(segment.enc_obs, segment.dones), segment.obs)


def test_resets_twice_and_seeds_the_first() -> None:
    env = script()
    collect(env, runs=3, seed=7)
    assert env.resets == [(7, 0), (None, 1)]


@pytest.mark.parametrize("at_top", [True, False])
def test_episodes_are_those_of_the_last_segment(at_top: bool) -> None:
    def info(envs: list[int], returns: list[float], lengths: list[int]) -> dict[str, Any]:
        ended = np.isin(np.arange(NENVS), envs)
        episode = {"episode": {"r": np.array(returns), "l": np.array(lengths)}, "_episode": ended}
        return episode if at_top else {"final_info": episode, "_final_info": ended}

    infos = {3: info([1], [0, 2.5, 0], [0, 9, 0]), 5: info([0, 2], [7, 0, -1], [1, 0, 3]), 8: {"final_info": {}}}
    runner = Runner(FrameStack(script(infos=infos), 1), ScriptedActor(), NSTEPS)
    runner.run()
    assert [episode[:3] for episode in runner.episodes] == [(1, 2.5, 9), (0, 7.0, 1), (2, -1.0, 3)]
    times = [episode.t for episode in runner.episodes]
    assert 0 < times[0] <= times[1] <= times[2] < 60
    runner.run()
    assert runner.episodes == []


def test_episodes_of_real_environments_are_found() -> None:
    def make() -> gymnasium.Env[Any, Any]:
        return gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))

    class Left(ScriptedActor):
        def act(self, obs: Array, state: Array, mask: NDArray[np.bool_]) -> Action:
            return Action(np.zeros(NENVS, np.int64), np.full((NENVS, 2), 0.5, np.float32), state)

    env = SyncVectorEnv([make] * NENVS, autoreset_mode=AutoresetMode.SAME_STEP)
    runner = Runner(FrameStack(env, 1), Left(), 40, seed=0)
    segment = runner.run()
    lengths = [np.diff(np.flatnonzero(dones), prepend=-1) for dones in segment.dones]
    for i in range(NENVS):
        own = [episode for episode in runner.episodes if episode.env == i]
        assert [episode.l for episode in own] == list(lengths[i])
        assert [episode.r for episode in own] == list(lengths[i])
    assert len(runner.episodes) >= 9


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("frame", [1, 3, 1 + NSTEPS])  # what reset gives, in the middle, what the last step gives
def test_observations_that_are_no_numbers(value: float, frame: int) -> None:
    env = script((4,), np.float32)
    env._frames[frame, 2, 1] = value
    with pytest.raises(InputError, match="environment 2 gave an observation that is not a finite number"):
        collect(env)


def test_rewards_that_are_no_numbers() -> None:
    env = script()
    env._rewards[3, 1] = np.nan
    with pytest.raises(InputError, match="environment 1 gave a reward that is not a finite number"):
        collect(env)


@pytest.mark.parametrize("frame", [2, 3, 1 + NSTEPS])  # at the first step, later, at the last
def test_a_segment_in_which_a_worker_was_replaced_is_dropped(frame: int) -> None:
    replaced = np.array([False, True, False])
    episode = {"episode": {"r": np.array([0.0, 0.0, 4.0]), "l": np.array([0, 0, 9])}, "_episode": np.arange(3) == 2}
    env = script((2, 1), infos={frame: {"worker_replaced": replaced, **episode}})
    env._truncations[frame] |= replaced
    runner = Runner(FrameStack(env, 1), ScriptedActor(), NSTEPS)
    segment = runner.run()
    window = slice(frame, frame + NSTEPS + 1)
    np.testing.assert_array_equal(segment.obs, np.swapaxes(env._frames[window], 0, 1))
    np.testing.assert_array_equal(segment.masks, (env._terminations | env._truncations)[window].T)
    assert len(env.actions) == frame - 1 + NSTEPS
    assert [(episode.env, episode.r) for episode in runner.episodes] == [(2, 4.0)]  # it was played to its end
    ((first, given_up),) = runner.dropped  # whose steps count for episodes that go on
    steps = slice(2, frame + 1)  # the first frames are those of two resets
    ends = (env._terminations | env._truncations)[steps].T
    ends[1, -1] = False  # the lost episode did not end, it will be counted as abandoned
    assert first == 0
    np.testing.assert_array_equal(given_up.dones, ends)
    np.testing.assert_array_equal(given_up.rewards, env._rewards[steps].T.astype(np.float32))
    runner.run()
    assert runner.dropped == []


def test_actions_recorded_before_a_worker_was_replaced_are_dropped() -> None:
    """They would not lead to where the environments are now; from the next recorded restart on there is a way again."""
    env = script((2, 1), infos={NSTEPS + 4: {"worker_replaced": np.array([False, True, False])}}, length=40)
    runner = Runner(FrameStack(env, 1), ScriptedActor(), NSTEPS)
    runner.restart(3, is_recorded=True)
    runner.run()
    assert runner.state_dict()["actions"].shape == (NENVS, NSTEPS)
    runner.run()
    state = runner.state_dict()
    assert state["restart_seed"] is None and "actions" not in state
    again = Runner(FrameStack(script((2, 1), length=40), 1), ScriptedActor(), NSTEPS)
    again.load_state_dict(state)
    assert again._env.unwrapped.actions == [] and len(again._env.unwrapped.resets) == 2, "nothing is repeated"
    runner.restart(5, is_recorded=True)
    runner.run()
    state = runner.state_dict()
    assert (state["restart_seed"], state["actions"].shape) == (5, (NENVS, NSTEPS))


def test_where_a_worker_is_replaced_as_actions_are_repeated_there_is_no_way_back() -> None:
    runner = Runner(FrameStack(script((2, 1), length=40), 1), ScriptedActor(), NSTEPS)
    runner.restart(3, is_recorded=True)
    runner.run()
    lost = {4: {"worker_replaced": np.array([False, True, False])}}
    again = Runner(FrameStack(script((2, 1), infos=lost, length=40), 1), ScriptedActor(), NSTEPS)
    assert not again.load_state_dict(runner.state_dict())
    assert again.state_dict()["restart_seed"] is None and "actions" not in again.state_dict()


def test_an_entry_of_the_environments_own_is_no_report() -> None:
    runner = Runner(FrameStack(script(infos={2: {"episode": {"id": 3}}}), 1), ScriptedActor(), NSTEPS)
    runner.run()
    assert runner.episodes == []


def test_a_reward_too_large_for_the_networks_is_told_at_its_step() -> None:
    env = script()
    env._rewards[3, 1] = 1e39
    with pytest.raises(InputError, match=r"^environment 1 gave a reward that has 1e\+39, too large for float32"):
        collect(env)
    assert len(env.actions) == 2


def test_masks_are_of_the_users_actions_below_stacked_frames_too() -> None:
    class Chosen(Counter):
        action_space = MultiDiscrete([2, 3])

        def action_masks(self) -> tuple[Any, Any]:
            return np.array([1, 0]), np.array([0, 1, 1])

        def step(self, action: Any) -> Any:
            return super().step(0)

    env = FrameStack(JointActions(SerialEnvs([lambda: Chosen(3)] * NENVS)), 2)
    np.testing.assert_array_equal(Runner(env, ScriptedActor(), NSTEPS)._action_masks[0], [0, 1, 1, 0, 0, 0])


def test_what_a_callback_is_shown_stays_as_it_was() -> None:
    runner, shown = Runner(FrameStack(script(), 3), ScriptedActor(), NSTEPS), list[dict[str, Any]]()

    def after_step(step: dict[str, Any]) -> bool:
        shown.append(step)
        return True

    segment = runner.run(after_step)
    assert [step["t"] for step in shown] == [*range(1, NSTEPS + 1)]
    for t, step in enumerate(shown):
        np.testing.assert_array_equal(step["obs"], segment.obs[:, t + 1])
        np.testing.assert_array_equal(step["dones"], segment.dones[:, t])
        np.testing.assert_array_equal(step["rewards"], segment.rewards[:, t])
        np.testing.assert_array_equal(step["actions"], segment.actions[:, t])
        np.testing.assert_array_equal(step["mus"], segment.mus[:, t])


def test_what_an_environment_raises_is_told_and_chained() -> None:
    class Failing(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(-1, 1, (2,))
        action_space = gymnasium.spaces.Discrete(NACT)

        def reset(self, **kwargs: Any) -> Any:
            return np.zeros(2, np.float32), {}

        def step(self, action: int) -> Any:
            return [][action]

    env = SyncVectorEnv([Failing] * NENVS, autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(EnvironmentFailedError, match="an environment raised IndexError: list index") as caught:
        Runner(FrameStack(env, 1), ScriptedActor(), NSTEPS).run()
    assert isinstance(caught.value.__cause__, IndexError)
    assert caught.value.__cause__.__traceback__ is not None


@pytest.mark.parametrize("steps", [1, 3, NSTEPS, NSTEPS + 2])
def test_it_stops_after_a_step_and_goes_on_from_there(steps: int) -> None:
    """What was collected of the segment is dropped, but its rewards and ends are told."""
    runner, seen = Runner(FrameStack(env := script(), 1), ScriptedActor(), NSTEPS), []
    runner.restart(3, is_recorded=True)

    def after_step(step: dict[str, Any]) -> bool:
        seen.append((step["t"], step["rewards"].copy(), step["dones"].copy()))
        return len(seen) < steps

    with pytest.raises(TrainingStoppedError) as stopped:
        while True:
            runner.run(after_step)
    first = (steps - 1) // NSTEPS * NSTEPS
    assert [t for t, _, _ in seen] == [i % NSTEPS + 1 for i in range(steps)]
    for i, (_, rewards, dones) in enumerate(seen[first:]):
        np.testing.assert_array_equal(stopped.value.rewards[:, i], rewards)
        np.testing.assert_array_equal(stopped.value.dones[:, i], dones)
    assert stopped.value.rewards.shape == stopped.value.dones.shape == (NENVS, steps - first)
    state = runner.state_dict()
    assert state["restart_seed"] is None and "actions" not in state, "no recorded actions lead here"
    segment = runner.run()
    np.testing.assert_array_equal(segment.obs[:, 0], env._frames[2 + steps])
    np.testing.assert_array_equal(segment.masks[:, 0], seen[-1][2])


class Random(ScriptedActor):
    """Acts by chance, and carries a state."""

    def __init__(self, seed: int, nact: int = 2) -> None:
        super().__init__()
        self.random, self.nact = np.random.default_rng(seed), nact

    def act(self, obs: Array, state: Array, mask: NDArray[np.bool_]) -> Action:
        actions = self.random.integers(0, self.nact, NENVS)
        return Action(actions, np.full((NENVS, self.nact), 0.5, np.float32), state * ~mask[:, None] + obs.mean())


def real(env_id: str = "CartPole-v1", seed: int = 0, **kwargs: Any) -> Runner:
    env = make_training_env(env_id, NENVS, **kwargs)
    return Runner(env, Random(seed, env.single_action_space.n), 20, seed)


def assert_same_segments(first: Segment, second: Segment) -> None:
    for name, array in first._asdict().items():
        np.testing.assert_array_equal(array, getattr(second, name), err_msg=name, strict=True)


GAME = ("SeaquestNoFrameskip-v4", {"num_workers": 0, "max_episode_frames": 160})


@pytest.mark.parametrize(("env_id", "kwargs"), [("CartPole-v1", {}), GAME])
@pytest.mark.parametrize("runs", [0, 3])
def test_a_recorded_runner_comes_back_to_where_it_was(env_id: str, kwargs: dict[str, Any], runs: int) -> None:
    runner = real(env_id, **kwargs)
    runner.run()
    runner.restart(17, is_recorded=True)
    ends = sum(runner.run().dones.sum() for _ in range(runs))
    assert ends > 0 or not runs
    state = runner.state_dict()
    again = real(env_id, seed=99, **kwargs)
    again.run()
    beats: list[None] = []
    again.load_state_dict(state, lambda: beats.append(None))
    assert len(beats) == 20 * runs  # the watchdog waits for no longer than a step
    runner._actor.random, again._actor.random = (np.random.default_rng(5) for _ in range(2))
    assert again.state_dict().keys() == state.keys()
    for _ in range(4):
        assert_same_segments(runner.run(), again.run())
        assert [episode[:3] for episode in again.episodes] == [episode[:3] for episode in runner.episodes]


def test_a_restart_begins_new_episodes_that_follow_from_its_seed() -> None:
    runner, other = real(), real(seed=1)
    runner.run()
    segments = []
    for each, seed in ((runner, 17), (other, 17), (other, 18)):
        each.restart(seed, is_recorded=False)
        each._actor.random = np.random.default_rng(0)
        segments.append(each.run())
    assert_same_segments(*segments[:2])
    assert (segments[1].obs[:, 0] != segments[2].obs[:, 0]).any(axis=1).all()
    assert segments[0].masks[:, 0].all(), "the agent is told that the episode before is over"
    assert (segments[0].states == 0).all()


def test_without_a_recorded_restart_only_the_clock_and_the_state_come_back() -> None:
    runner = real()
    runner.restart(3, is_recorded=False)
    runner.run()
    state = runner.state_dict()
    assert state["restart_seed"] is None
    assert "actions" not in state
    again = real(seed=1)
    resets = again._env.stacked.copy()
    again.load_state_dict(state | {"seconds": 1000.0})
    np.testing.assert_array_equal(again._env.stacked, resets)
    assert 1000 <= again.state_dict()["seconds"] < 1060
    np.testing.assert_array_equal(again.state_dict()["state"], runner.state_dict()["state"])


def cut_short() -> tuple[ScriptedEnv, Array]:
    """A script in which every episode that ends has a last observation, [length, N, 4]."""
    env = script((4,), np.float32, length=12)
    final = np.random.default_rng(1).normal(size=env._frames.shape).astype(np.float32)
    env._terminations[3, 1] = env._truncations[3, 1] = True  # at once
    ends = env._terminations | env._truncations
    for t in range(12):
        last = (final[t, i] if ends[t, i] else None for i in range(NENVS))
        env._infos[t] = {"final_obs": np.fromiter(last, object)}
    return env, final


def test_states_in_which_a_time_limit_cut_an_episode_short_are_valued() -> None:
    env, final = cut_short()
    asked: list[tuple[Array, Array]] = []

    def values(obs: Array, state: Array) -> Array:
        asked.append((obs.copy(), state.copy()))
        return 100 + obs.sum(axis=1)

    runner = Runner(FrameStack(env, 1), ScriptedActor(), NSTEPS, values=values)
    segments = [runner.run() for _ in range(2)]
    frames = range(2, 2 + 2 * NSTEPS)
    cut = (env._truncations & ~env._terminations)[frames]
    assert 2 < cut.sum() < cut.size
    expected = np.where(cut, 100 + final[frames].sum(axis=2), 0)
    actual = np.concatenate([segment.final_values for segment in segments], axis=1).T
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    assert actual.dtype == np.float32
    calls = np.flatnonzero(cut.any(axis=1))
    assert len(asked) == len(calls)
    for t, (obs, state) in zip(calls, asked, strict=True):
        np.testing.assert_array_equal(obs[cut[t]], final[2 + t][cut[t]])
        np.testing.assert_array_equal(state, np.full((NENVS, 1), t + 1))  # after the last step
        assert obs.shape == (NENVS, 4)
    np.testing.assert_array_equal(collect(cut_short()[0])[0][0].final_values, np.zeros((NENVS, NSTEPS)))


def test_last_observations_that_are_missing_or_no_numbers() -> None:
    def values(obs: Array, state: Array) -> Array:
        raise AssertionError("not to be asked")

    def run(env: ScriptedEnv) -> None:
        Runner(FrameStack(env, 1), ScriptedActor(), 9, values=values).run()

    with pytest.raises(InputError, match=r"bootstrap_truncated needs the last observation .* does not give it"):
        run(script((4,), np.float32))
    env, final = cut_short()
    t, i = np.argwhere((env._truncations & ~env._terminations)[2:])[0]
    final[2 + t, i, 1] = np.nan
    with pytest.raises(InputError, match=f"environment {i} gave an observation that is not a finite number"):
        run(env)
