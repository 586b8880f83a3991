"""The tests of the package's own classes need stable-baselines3, which the extra `sb3` installs."""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

from acer_tf.agent import ACER
from acer_tf.callbacks import EvalCallback
from acer_tf.envs.adapt import as_vector_env, own_env
from acer_tf.envs.check import check_vec_env
from acer_tf.envs.conventions import reported_episodes
from acer_tf.envs.vector import SerialEnvs
from acer_tf.envs.wrap import is_normalized, training_env
from acer_tf.envs.wrappers.action_masks import MASKS
from acer_tf.errors import InputError
from acer_tf.evaluation import evaluate_policy
from tests.counter import Always, Counter, Lives
from tests.plain_vec_env import PlainVecEnv
from tests.small_agents import assert_same, everything, tiny

Make = Callable[[], gymnasium.Env[Any, Any]]


def package(name: str) -> Any:
    """A class of stable_baselines3.common.vec_env."""
    reason = "stable-baselines3 is not installed; pip install -e '.[sb3]'"
    return getattr(pytest.importorskip("stable_baselines3.common.vec_env", reason=reason), name)


@pytest.fixture(params=["PlainVecEnv", "DummyVecEnv"])
def vec_env(request: pytest.FixtureRequest) -> Any:
    """A class of vector environments."""
    return PlainVecEnv if request.param == "PlainVecEnv" else package(request.param)


def counters() -> list[Make]:
    """Episodes of 1 and 4 steps, and of 3 that a time limit cuts short."""
    return [lambda: Counter(0), lambda: Counter(3), lambda: TimeLimit(Counter(9), 3)]


def of_gymnasium(make: list[Make]) -> SyncVectorEnv:
    return SyncVectorEnv(make, autoreset_mode=AutoresetMode.SAME_STEP)


def test_every_step_is_that_of_gymnasiums_own(vec_env: Any) -> None:
    ours, theirs = as_vector_env(vec_env(counters())), of_gymnasium(counters())
    np.testing.assert_array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0])
    for t in range(12):
        *values, infos = ours.step(np.array([0, 1, t % 2]))
        *expected, their_infos = theirs.step(np.array([0, 1, t % 2]))
        for value, other in zip(values, expected, strict=True):
            np.testing.assert_array_equal(value, other)
        assert [None if o is None else o.tolist() for o in infos["final_obs"]] == [
            None if o is None else o.tolist() for o in their_infos["final_obs"]
        ]


def test_an_agent_learns_the_same_to_the_bit(vec_env: Any) -> None:
    venv = vec_env(counters())
    agent, other = tiny(env=venv), tiny(env=of_gymnasium(counters()))
    assert_same(agent.learn(30, log_interval=1), other.learn(30, log_interval=1))
    assert agent.get_env() is agent.env is venv and agent.n_envs == 3
    evaluate_policy(agent, venv, 3)
    seen: list[Any] = []
    lengths: list[int] = []

    def callback(here: Any, _: Any) -> None:
        seen.append(here["obs"][:, 0].tolist())
        lengths.extend(here["episode_stats"].state_dict()["last_lengths"].tolist())
        with pytest.raises(InputError, match="evaluate in a separate one"):
            evaluate_policy(agent, venv, 1)

    agent.learn(15, callback)
    assert seen[:3] == [[0, 1, 1], [0, 2, 2], [0, 3, 0]], "episodes that begin anew"
    assert set(lengths) == {1, 3, 4}
    other.set_env(venv)
    assert other.env is venv


def test_other_spaces_do_not_fit() -> None:
    agent = tiny()
    with pytest.raises(InputError, match="the environment's observation space is"):
        agent.set_env(PlainVecEnv(counters()))


def test_episodes_are_evaluated(vec_env: Any) -> None:
    assert evaluate_policy(Always(), vec_env(counters()), 6, return_episode_rewards=True) == (
        [0, 0, 0, 30, 0, 30],
        [1, 1, 3, 4, 3, 4],
    )


def test_neighbouring_seeds_share_no_environment(vec_env: Any) -> None:
    made: list[Counter] = []

    def make() -> Counter:
        made.append(Counter(0))
        return made[-1]

    for seed in (5, 6):
        as_vector_env(vec_env([make, make])).reset(seed=seed)
    seeds = [env.seeds[0] for env in made]
    assert len(set(seeds)) == 4 and seeds[1] == seeds[0] + 1


class Masked(Counter):
    """Only action 1 is possible, which its infos tell."""

    def reset(self, **kwargs: Any) -> Any:
        return super().reset()[0], {MASKS: np.array([False, True])}

    def step(self, action: int) -> Any:
        *rest, _ = super().step(action)
        return *rest, {MASKS: np.array([False, True])}


class MaskedByMethod(Counter):
    """Tells it by the method of sb3-contrib's convention."""

    def action_masks(self) -> Any:
        return np.array([False, True])


@pytest.mark.parametrize("kind", [Masked, MaskedByMethod])
def test_masks_arrive(kind: type[Counter]) -> None:
    env = as_vector_env(package("DummyVecEnv")([lambda: kind(0), lambda: kind(2)]))
    _, infos = env.reset(seed=0)
    np.testing.assert_array_equal(infos[MASKS], [[False, True]] * 2)
    for _ in range(3):
        *_, infos = env.step(np.array([1, 1]))
        np.testing.assert_array_equal(infos[MASKS], [[False, True]] * 2)
    assert (MASKS in infos["final_info"]) == (kind is Masked)


def test_it_is_closed() -> None:
    venv = PlainVecEnv(counters())
    as_vector_env(venv).close()
    assert venv.is_closed


def test_spaces_of_another_package_are_told() -> None:
    venv = PlainVecEnv(counters())
    venv.action_space = object()  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"spaces of another package \(builtins\.object\); expected gymnasium's"):
        ACER("mlp", venv)


def test_monitors_know_the_true_ends_of_episodes() -> None:
    monitor = pytest.importorskip("stable_baselines3.common.monitor", reason="needs stable-baselines3").Monitor
    venv = package("DummyVecEnv")([lambda: Lives(monitor(Counter(5)), 2)])
    assert evaluate_policy(Always(), venv, 2, return_episode_rewards=True) == ([50, 50], [6, 6])
    venv = package("VecMonitor")(package("DummyVecEnv")([lambda: Counter(5)]))
    assert evaluate_policy(Always(), venv, 2, return_episode_rewards=True) == ([50, 50], [6, 6])


def test_processes_work_too() -> None:
    venv = package("SubprocVecEnv")([functools.partial(gymnasium.make, "CartPole-v1")])
    try:
        assert evaluate_policy(Always(), venv, 2, seed=0)[0] > 5
    finally:
        venv.close()


def test_frames_are_stacked() -> None:
    env = as_vector_env(package("VecFrameStack")(package("DummyVecEnv")([lambda: Counter(3)]), 2))
    assert env.single_observation_space.shape == (2,)
    env.reset()
    seen = [env.step(np.array([0]))[0][0].tolist() for _ in range(5)]
    assert seen == [[0, 1], [1, 2], [2, 3], [0, 0], [0, 1]]


def normalized(make: Make = lambda: gymnasium.make("Pendulum-v1"), **kwargs: Any) -> Any:
    return package("VecNormalize")(package("DummyVecEnv")([make]), **kwargs)


def test_vec_normalize_normalises_and_keeps_its_moments_itself() -> None:
    venv, other = normalized(), normalized()
    agent = tiny(env=venv)
    with pytest.raises(InputError, match="training environments are normalised by VecNormalize; wrap the evaluation"):
        agent.learn(5, EvalCallback(gymnasium.make("Pendulum-v1"), eval_freq=5))
    agent.learn(10, EvalCallback(other, eval_freq=10, n_eval_episodes=1, verbose=0))
    np.testing.assert_array_equal(other.obs_rms.mean, venv.obs_rms.mean)
    assert agent.get_vec_normalize_env() is agent.get_env() is venv
    assert agent.observation_space == Box(-10, 10, (3,), np.float32)
    assert not agent.normalize_observations and not any(name.startswith("obs_") for name in everything(agent))
    count = venv.obs_rms.count
    returns, _ = evaluate_policy(agent, venv, 1, return_episode_rewards=True)
    assert returns[0] < -200, "the environment's own rewards"
    assert venv.obs_rms.count == count and venv.training
    venv.training = venv.norm_reward = False
    theirs = pytest.importorskip("stable_baselines3.common.evaluation").evaluate_policy
    assert theirs(agent, venv, 1, warn=False)[0] < -200, "the package's own function"


@pytest.mark.parametrize("name", ["normalize_observations", "normalize_rewards"])
def test_nothing_is_normalised_twice(name: str) -> None:
    with pytest.raises(InputError, match=f"VecNormalize already normalises the environment; leave .*{name}"):
        training_env(normalized(), **{name: True})
    other = {"normalize_observations": "norm_obs", "normalize_rewards": "norm_reward"}[name]
    assert is_normalized(training_env(normalized(**{other: False}), **{name: True}))[name]


def test_an_agent_that_normalises_is_not_evaluated_behind_vec_normalize() -> None:
    agent = Always()
    agent.normalize_observations = True  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="VecNormalize already normalises the environment"):
        evaluate_policy(agent, normalized(lambda: Counter(1)), 1)
    assert evaluate_policy(agent, normalized(lambda: Counter(1), norm_obs=False), 1) == (10, 0)


def test_parts_of_a_dict_are_normalised() -> None:
    class Parts(Counter):
        observation_space = Dict({"many": Box(0, 255, (2,), np.uint8), "kind": Discrete(3)})  # type: ignore[assignment]

        def reset(self, **kwargs: Any) -> Any:
            super().reset()
            return {"many": np.array([9, 7], np.uint8), "kind": 2}, {}

        def step(self, action: int) -> Any:
            _, *rest = super().step(action)
            return {"many": np.array([self.t, 200], np.uint8), "kind": 1}, *rest

    env = training_env(normalized(lambda: Parts(3), norm_obs_keys=["many"]))
    seen = np.array([env.reset()[0][0].copy(), *(env.step(np.array([0]))[0][0].copy() for _ in range(5))])
    assert {tuple(kind) for kind in seen[:, :3]} == {(0, 0, 1), (0, 1, 0)}, "one-hot"
    assert seen.dtype == np.float32 and 0 < np.abs(seen[:, 3:]).max() < 3 and seen[:, 3:].min() < 0


def test_gymnasiums_own_are_told_apart() -> None:
    asynchronous = gymnasium.make_vec(
        "CartPole-v1", 1, "async", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}
    )
    try:
        assert as_vector_env(asynchronous).unwrapped is asynchronous
    finally:
        asynchronous.close()
    env = training_env(RecordEpisodeStatistics(Counter(1)))
    assert isinstance(env.unwrapped, SerialEnvs)


class Drawn(PlainVecEnv):
    """Has pictures, and options for the next reset, as Stable-Baselines3's do."""

    render_mode = "rgb_array"
    options: Any = None

    def get_images(self) -> list[Any]:
        return [np.full((2, 2, 3), i) for i in range(self.num_envs)]

    def set_options(self, options: Any) -> None:
        self.options = options


def test_pictures_and_options_of_stable_baselines() -> None:
    given = Drawn([lambda: Counter(3)] * 2)
    env = as_vector_env(given)
    env.reset(options={"level": 2})
    assert given.options == {"level": 2}
    assert [picture[0, 0, 0] for picture in env.render()] == [0, 1]


class Agents(VectorEnv[Any, Any, Any]):
    """Two agents that count to three, as SuperSuit gives those of PettingZoo's parallel environments."""

    metadata: ClassVar[dict[str, Any]] = {"name": "agents"}
    num_envs, render_mode = 2, None
    observation_space, action_space = Box(0, 9, (1,), np.float32), Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.t, self.seed = 0, seed
        return self._obs(), [[(0, {"first": 1}), (1, {"first": 2})]]  # as of its processes

    def step_async(self, actions: Any) -> None:
        self.t += 1

    def step_wait(self) -> Any:
        obs, infos = self._obs(), [{"t": self.t}, {"t": self.t}]
        over, cut = np.zeros(2, np.uint8), np.full(2, self.t == 3, np.uint8)
        if self.t == 3:
            infos = [{"t": self.t, "terminal_observation": one, "first": 1} for one in obs]
            self.t = 0
        return self._obs(), np.ones(2, np.float32), over, cut, infos

    def render(self) -> Any:
        return np.full((2, 2, 3), self.t)

    def _obs(self) -> Any:
        return np.full((2, 1), self.t, np.float32)


Agents.__module__ = "supersuit.vector.concat_vec_env"


def test_supersuits_agents_are_environments() -> None:
    given = Agents()
    env = as_vector_env(given)
    assert own_env(env) is given
    check_vec_env(env)
    _, infos = env.reset(seed=1)
    assert given.seed not in (None, 1) and infos["first"].tolist() == [1, 2]
    steps = [env.step(np.zeros(2, np.int64)) for _ in range(4)]
    assert [step[0].tolist() for step in steps] == [[[t]] * 2 for t in (1, 2, 0, 1)]
    assert [step[3].tolist() for step in steps] == [[t] * 2 for t in (False, False, True, False)]
    assert not any(step[2].any() for step in steps)
    assert [picture.tolist() for picture in env.render()] == [[[[1] * 3] * 2] * 2] * 2
    infos = steps[2][-1]
    assert [obs.tolist() for obs in infos["final_obs"]] == [[3], [3]]
    assert [(r, n) for _, r, n in reported_episodes(infos)] == [(3, 3), (3, 3)]
