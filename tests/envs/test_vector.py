import functools
from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

import acer_tf.envs.registered  # noqa: F401  (registers the games)
from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.conventions import reported_episodes
from acer_tf.envs.make import make_single, make_vec_env
from acer_tf.envs.vector import ParallelEnvs, SerialEnvs, gather_infos
from acer_tf.envs.wrap import training_env
from acer_tf.errors import InputError
from tests.counter import Counter, Lives

NENVS = 3


def makers(env_id: str, **kwargs: Any) -> list[Callable[[], gymnasium.Env[Any, Any]]]:
    return [functools.partial(make_single, gymnasium.spec(env_id), kwargs)] * NENVS


def assert_equal(one: Any, other: Any) -> None:
    """Compares nested returns: structures, types, dtypes and bits; whole numbers may be Python's or NumPy's."""
    assert type(one) is type(other) or (isinstance(one, np.integer) and isinstance(other, int))
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = list(one.values()), [other[name] for name in one]
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for part, other_part in zip(one, other, strict=True):
            assert_equal(part, other_part)
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype == object:
            assert_equal(one.tolist(), other.tolist())
        else:
            assert one.tobytes() == other.tobytes()
    else:
        assert one == other


@pytest.mark.parametrize(
    ("env_id", "kwargs", "steps"),
    [
        ("CartPole-v1", {}, 400),
        ("CartPole-v1", {"max_episode_steps": 15}, 100),
        ("Pendulum-v1", {}, 250),
        ("MountainCarContinuous-v0", {"max_episode_steps": 9}, 40),
        ("Taxi-v4", {}, 250),
        ("Blackjack-v1", {}, 60),
        ("MinAtar/Breakout-v1", {}, 150),
    ],
)
def test_steps_equal_those_of_gymnasium_to_the_bit(env_id: str, kwargs: dict[str, Any], steps: int) -> None:
    own, plain = (
        SerialEnvs(makers(env_id, **kwargs)),
        SyncVectorEnv(makers(env_id, **kwargs), autoreset_mode=AutoresetMode.SAME_STEP),
    )
    assert own.metadata == plain.metadata
    seeds = [5, 7, 2**31]
    assert_equal(own.reset(seed=seeds), plain.reset(seed=seeds))
    own.action_space.seed(0)
    ended, kept = 0, []
    for _ in range(steps):
        actions = own.action_space.sample()
        returned = own.step(actions), plain.step(actions)
        assert_equal(*returned)
        kept.append(returned)
        ended += int((returned[0][2] | returned[0][3]).sum())
    assert ended >= NENVS
    for one, other in kept:  # no step overwrote what another returned
        assert_equal(one, other)


KINDS = ("sync", "async")


class Told(gymnasium.Env[Any, Any]):
    """Episodes of three steps, of which the rewards and infos are given; all observations are one buffer."""

    action_space = Discrete(2)
    observation_space = Box(0, 9, (1,), np.float32)

    def __init__(self, rewards: Any = 1.0, infos: Any = ()) -> None:
        self._rewards, self._infos, self._obs = rewards, infos, np.zeros(1, np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._obs[:] = 0
        return self._obs, {}

    def step(self, action: Any) -> Any:
        self._obs += 1
        info = self._infos[action] if self._infos else {}
        return self._obs, self._rewards, False, bool(self._obs[0] == 3), info


def test_there_is_an_action_for_each_environment() -> None:
    with pytest.raises(ValueError, match="zip"):
        SerialEnvs([Told] * 2).step(np.zeros(1, np.int64))


@pytest.mark.parametrize("vectorization", KINDS)
def test_last_observations_stay_though_the_next_episode_writes_into_them(vectorization: str) -> None:
    env = make_vec_env(Told, 2, vectorization=vectorization)
    seen = [env.reset()[0], *(env.step(np.zeros(2, np.int64)) for _ in range(3))]
    env.close()
    assert [seen[0].tolist(), *(step[0].tolist() for step in seen[1:])] == [[[t], [t]] for t in (0, 1, 2, 0)]
    assert [final.tolist() for final in seen[-1][-1]["final_obs"]] == [[3], [3]]


class Buffers(Told):
    """Everything that it returns is a buffer which `reset` writes into, masks of possible actions included."""

    def __init__(self) -> None:
        super().__init__()
        self._reward, self._is_over, self._mask = np.zeros(1), np.zeros(1, np.bool_), np.ones(2, np.int8)
        self._nested = {"prices": [0.0]}

    def reset(self, **kwargs: Any) -> Any:
        obs, _ = super().reset(**kwargs)
        return obs, self._write(-1.0, False, [1, 0])

    def step(self, action: Any) -> Any:
        obs, *_, truncated, _ = super().step(action)
        info = self._write(float(obs[0]), truncated, [0, 1])
        return obs, self._reward, False, self._is_over, info

    def _write(self, number: float, is_over: bool, mask: list[int]) -> dict[str, Any]:
        self._reward[:], self._is_over[:], self._mask[:], self._nested["prices"][:] = number, is_over, mask, [number]
        return {"action_mask": self._mask, "nested": self._nested}


@pytest.mark.parametrize("vectorization", KINDS)
def test_whatever_ends_an_episode_stays_though_the_next_one_writes_into_it(vectorization: str) -> None:
    env = make_vec_env(Buffers, 2, vectorization=vectorization)
    env.reset()
    for _ in range(3):
        _, rewards, _, truncated, infos = env.step(np.zeros(2, np.int64))
    env.close()
    assert rewards.tolist() == [3, 3]
    assert truncated.tolist() == [True, True]
    assert infos["action_mask"].tolist() == [[1, 0], [1, 0]]
    assert infos["final_info"]["action_mask"].tolist() == [[0, 1], [0, 1]]
    assert [list(prices) for prices in infos["final_info"]["nested"]["prices"]] == [[3], [3]]


@pytest.mark.parametrize("vectorization", KINDS)
def test_infos_under_names_of_vector_environments_are_left_out_but_in_the_last_one(vectorization: str) -> None:
    info = {"final_obs": None, "final_info": 3, "worker_replaced": True, "own": 4}
    info["episode"] = {"r": 7.0, "l": 1, "t": 0.0}
    env = make_vec_env(lambda: Told(infos=[info]), 1, vectorization=vectorization)
    _, first = env.reset()
    *_, within = env.step(np.zeros(1, np.int64))
    env.step(np.zeros(1, np.int64))
    *_, last = env.step(np.zeros(1, np.int64))
    env.close()
    assert first == {}
    assert within.keys() == {"own", "_own"}
    assert last["final_obs"][0].tolist() == [3]
    assert last["episode"]["r"].tolist() == [3.0]  # of the episode, not what the environment says
    assert last["final_info"]["episode"]["r"].tolist() == [7.0]


def test_masks_may_be_lists() -> None:
    env = make_vec_env(lambda: Told(infos=[{"action_mask": [True, False]}, {"action_mask": (np.array([0]), [1])}]), 2)
    env.reset()
    assert env.step(np.array([0, 1]))[-1]["action_mask"].tolist() == [[1, 0], [0, 1]]


def test_episodes_that_end_outside_of_their_statistics_are_reported() -> None:
    env = training_env(TimeLimit(RecordEpisodeStatistics(Told()), 2))
    env.reset()
    reported = [list(reported_episodes(env.step(np.zeros(1, np.int64))[-1])) for _ in range(4)]
    assert reported == [[], [(0, 2.0, 2)], [], [(0, 2.0, 2)]]


def test_the_end_of_a_life_is_not_that_of_the_game() -> None:
    env = training_env(Lives(RecordEpisodeStatistics(Told()), 2))
    env.reset()
    steps = [env.step(np.zeros(1, np.int64)) for _ in range(3)]
    assert [bool(terminated[0] or truncated[0]) for _, _, terminated, truncated, _ in steps] == [False, True, True]
    assert [list(reported_episodes(infos)) for *_, infos in steps] == [[], [], [(0, 3.0, 3)]]


class Parts(Told):
    """Observations that are dicts."""

    observation_space = Dict(a=Told.observation_space, b=Discrete(2))

    def reset(self, **kwargs: Any) -> Any:
        obs, info = super().reset(**kwargs)
        return {"a": obs, "b": 0}, info

    def step(self, action: Any) -> Any:
        obs, *results = super().step(action)
        return {"a": obs, "b": 1}, *results


@pytest.mark.parametrize("vectorization", KINDS)
def test_last_observations_of_parts_are_one_each(vectorization: str) -> None:
    env = make_vec_env(Parts, 2, vectorization=vectorization)
    env.reset()
    *_, infos = [env.step(np.zeros(2, np.int64)) for _ in range(3)][-1]
    env.close()
    assert [(final["a"].tolist(), final["b"]) for final in infos["final_obs"]] == [([3], 1)] * 2
    trained = training_env(make_vec_env(Parts, 1))
    trained.reset()
    *_, infos = [trained.step(np.zeros(1, np.int64)) for _ in range(3)][-1]
    np.testing.assert_array_equal(infos["final_obs"][0], [3, 0, 1])


@pytest.mark.parametrize("vectorization", KINDS)
def test_infos_may_differ_in_any_way(vectorization: str) -> None:
    infos = [
        {"order": 17, "share": 1, "path": np.zeros(2), "legs": {"left": 1}, "flag": True},
        {"order": None, "share": 0.5, "path": np.zeros(3), "legs": None, "who": "me"},
    ]
    env = make_vec_env(Told, 2, env_kwargs={"infos": infos}, vectorization=vectorization)
    env.reset()
    *_, found = env.step(np.array([0, 1]))
    env.close()
    assert found["order"].tolist() == [17, None] and found["_order"].tolist() == [True, True]
    assert found["share"].tolist() == [1.0, 0.5] and found["share"].dtype == np.float64
    assert [path.shape for path in found["path"]] == [(2,), (3,)]
    assert found["legs"].tolist() == [{"left": 1}, None]
    assert found["flag"].tolist() == [True, False] and found["_flag"].tolist() == [True, False]
    assert found["who"].tolist() == [None, "me"]


@pytest.mark.parametrize("vectorization", KINDS)
def test_rewards_are_numbers(vectorization: str) -> None:
    for reward in (2, np.float32(2), np.array([2.0]), np.array(2)):
        env = make_vec_env(Told, 1, env_kwargs={"rewards": reward}, vectorization=vectorization)
        env.reset()
        assert env.step(np.array([0]))[1].tolist() == [2.0]
        env.close()
    for reward in (None, "2", np.zeros(2)):
        env = make_vec_env(Told, 1, env_kwargs={"rewards": reward}, vectorization=vectorization)
        env.reset()
        with pytest.raises(InputError, match=r"environment 0 returned the reward .*; expected a number\."):
            env.step(np.array([0]))
        env.close()


def test_one_object_for_all_is_refused() -> None:
    env = Told()
    for kind in (SerialEnvs([lambda: env] * 2), SyncVectorEnv([lambda: env] * 2, autoreset_mode="SameStep")):
        with pytest.raises(InputError, match="one and the same object; make a new one for each"):
            as_vector_env(kind)
    with pytest.raises(InputError, match="one and the same object"):
        make_vec_env(lambda: env, 2)


def test_an_interrupted_step_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make_vec_env("CartPole-v1", 2, vectorization="async")
    inner, seeds = env.unwrapped, [1, 2]
    assert isinstance(inner, ParallelEnvs)
    expected, _ = inner.reset(seed=seeds)
    with monkeypatch.context() as patch:
        patch.setattr(inner, "_receive", lambda: [][0] if inner._owing else [])
        with pytest.raises(IndexError):
            inner.step(np.zeros(2, np.int64))
    np.testing.assert_array_equal(inner.reset(seed=seeds)[0], expected)
    env.close()


@pytest.mark.parametrize(
    ("env", "arguments", "message"),
    [
        ("CartPole-v1", {"vectorization": "asink"}, "vectorization is 'asink'; expected sync or async"),
        (
            "CartPole-v1",
            {"env_kwargs": {"sutton": 1}},
            r"cannot be made with {'sutton': 1}: .*keyword argument 'sutton'",
        ),
        (
            "PongNoFrameskip-v4",
            {"vectorization": "async"},
            "its own .num_workers.; leave vectorization out",
        ),
        ("PongNoFrameskip-v4", {"env_kwargs": {"mode": 1}}, "is wrapped as in baselines"),
        ("PongNoFrameskip-v4", {"wrapper_class": TimeLimit}, "is wrapped as in baselines"),
        (
            "CartPole-v1",
            {"monitor_dir": "x"},
            "no argument monitor_dir; .* writes monitor.csv",
        ),
        ("CartPole-v1", {"vec_env_cls": SyncVectorEnv}, 'no argument vec_env_cls; vectorization="async" gives each'),
        ("CartPole-v1", {"wraper_class": TimeLimit}, "no argument wraper_class; the nearest are wrapper_class"),
        (Counter, {"env_kwargs": {"j": 1}}, "environment 'Counter' cannot be made with {'j': 1}"),
    ],
)
def test_what_cannot_be_made(env: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_vec_env(env, 1, **arguments)


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_classes_and_wrappers_are_taken_too(vectorization: str) -> None:
    wrapper = functools.partial(TimeLimit, max_episode_steps=2)
    env = make_vec_env(Counter, n_envs=2, env_kwargs={"k": 5}, wrapper_class=wrapper, vectorization=vectorization)
    try:
        env.reset()
        ended = [env.step(np.array([0, 1]))[3].tolist() for _ in range(4)]
    finally:
        env.close()
    assert ended == [[False, False], [True, True]] * 2


def test_seeded_environments_go_on_from_their_seed() -> None:
    first, second, other = (make_vec_env("CartPole-v1", 2, seed) for seed in (1, 1, 2))
    obs = [env.reset()[0] for env in (first, second, other)]
    np.testing.assert_array_equal(obs[0], obs[1])
    assert (obs[0] != obs[2]).all()


def test_the_last_observation_of_an_episode_stays_a_dict() -> None:
    last = {"speed": np.ones(2), "gear": 3}
    infos = gather_infos([{"final_obs": last, "final_info": {"t": 5}}, {}])
    assert infos["final_obs"].tolist() == [last, None]
    assert infos["final_info"]["t"].tolist() == [5, 0]


class Closing(Counter):
    """Notes that it is closed, and raises an error if it is the second."""

    closed: ClassVar[list[int]] = []

    def __init__(self, number: int) -> None:
        super().__init__(1)
        self.number = number

    def close(self) -> None:
        self.closed.append(self.number)
        if self.number == 1:
            raise AttributeError("no viewer")


def test_all_are_closed_even_if_one_raises() -> None:
    Closing.closed.clear()
    env = SerialEnvs([functools.partial(Closing, number) for number in range(3)])
    with pytest.raises(AttributeError, match="no viewer"):
        env.close()
    assert Closing.closed == [0, 1, 2]


def test_those_before_one_that_cannot_be_made_are_closed(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> gymnasium.Env[Any, Any]:
        raise ArithmeticError("no licence")

    Closing.closed.clear()
    with pytest.raises(ArithmeticError, match="no licence"):
        SerialEnvs([functools.partial(Closing, 0), functools.partial(Closing, 1), fails])
    assert Closing.closed == [1, 0] and "no viewer" in capsys.readouterr().err


@pytest.mark.parametrize("value", [True, None])
def test_an_attribute_of_the_name_of_the_method_is_no_mask(value: object) -> None:
    class Flagged(Counter):
        action_masks = value

    env = make_vec_env(lambda: Flagged(1), 1)
    assert "action_mask" not in env.reset()[1]
