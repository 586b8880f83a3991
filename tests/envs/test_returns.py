from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.make import make_vec_env
from acer_tf.envs.returns import batch_of, checked_batch
from acer_tf.envs.vector import ParallelEnvs, SerialEnvs
from acer_tf.errors import EnvironmentFailedError, InputError, environment_errors
from tests.plain_vec_env import PlainVecEnv

OBS = np.array([1, 2, 3], np.uint8)


class Told(gymnasium.Env[Any, Any]):
    """Steps return what it is told."""

    action_space = Discrete(2)

    def __init__(
        self,
        obs: Any = OBS,
        reward: Any = 1.0,
        is_last: bool = False,
        info: Any = {},  # noqa: B006
        error: Exception | None = None,
        space: Box = Box(0, 9, (3,), np.uint8),  # noqa: B008
    ) -> None:
        self.told, self.error, self.observation_space = (obs, reward, False, is_last, info), error, space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros(self.observation_space.shape, self.observation_space.dtype), {}

    def step(self, action: Any) -> Any:
        if self.error is not None:
            raise self.error
        return self.told


class Batches(PlainVecEnv):
    """Puts together what the environments return without a look at it."""

    def step_wait(self) -> Any:
        obs, rewards, _, _, infos = zip(*(env.step(0) for env in self.envs), strict=True)
        try:
            obs, rewards = np.stack(obs), np.stack(rewards)  # type: ignore[assignment]
        except ValueError:
            pass
        return obs, rewards, np.zeros(self.num_envs, np.bool_), infos


WRONG = [
    ({"reward": np.ones(2)}, r"environment 1 returned the reward array\(\[1\., 1\.\]\); expected a number"),
    ({"reward": None}, "environment 1 returned the reward None; expected a number"),
    (
        {"obs": np.zeros(2, np.uint8)},
        r"environment 1 returned an observation of shape \(2,\) and type uint8; its",
    ),
    ({"obs": np.zeros((3, 1), np.uint8)}, r"environment 1 returned an observation of shape \(3, 1\) and type uint8"),
    (
        {"obs": np.zeros(3, np.int64)},
        r"environment [01] returned an observation of shape \(3,\) and type int64",
    ),
    (
        {"obs": np.zeros(3, np.complex64)},
        r"environment [01] returned an observation of shape \(3,\) and type complex64",
    ),
    ({"obs": None}, "environment 1 returned an observation None; its space is Box"),
    ({"info": None}, "environment 1 returned the info None; expected a dict"),
]


KINDS = {"sync": SerialEnvs, "async": ParallelEnvs, "stable baselines": Batches}


@pytest.mark.parametrize(("told", "message"), WRONG)
@pytest.mark.parametrize("kind", KINDS)
def test_the_environment_and_what_came_are_named(kind: str, told: dict[str, Any], message: str) -> None:
    env = as_vector_env(KINDS[kind]([Told, lambda: Told(**told)]))
    env.reset()
    with pytest.raises(InputError, match=message), environment_errors():
        env.step(np.zeros(2, np.int64))
    env.close()


@pytest.mark.parametrize(
    ("obs", "message"),
    [
        (
            {"camera": np.zeros((2, 2, 1)), "speed": np.zeros(1, np.float32)},
            "whose part camera is of shape .*64; ",
        ),
        ({"camera": np.zeros((2, 2, 1), np.uint8)}, "without its part speed"),
        ({"camera": np.zeros((2, 2, 1), np.uint8), "speed": None}, r"whose part speed is None; expected Box\(-1"),
    ],
)
def test_the_part_that_does_not_fit_is_named(obs: dict[str, Any], message: str) -> None:
    env = make_vec_env("CartPole-v1", 1).unwrapped
    env.single_observation_space = Dict(camera=Box(0, 255, (2, 2, 1), np.uint8), speed=Box(-1, 1, (1,)))
    with pytest.raises(InputError, match=f"^environment 0 returned an observation {message}"):
        batch_of(env, [obs])


@pytest.mark.parametrize("told", [{"reward": np.ones(1)}, {"obs": np.zeros(2)}, {"obs": None}, {"info": None}])
def test_gymnasiums_own_vector_environments_say_what_they_expect(told: dict[str, Any]) -> None:
    env = as_vector_env(SyncVectorEnv([Told, lambda: Told(**told)], autoreset_mode=AutoresetMode.SAME_STEP))
    env.reset()
    expected = r"does not fit the others .*; expected an observation in Box\(0, 9, \(3,\), uint8\), a number as"
    with pytest.raises(InputError, match=expected), environment_errors():
        env.step(np.zeros(2, np.int64))


def test_gymnasiums_processes_say_what_they_expect() -> None:
    told = {"obs": np.zeros(2, np.uint8)}
    env = as_vector_env(AsyncVectorEnv([Told, lambda: Told(**told)], autoreset_mode=AutoresetMode.SAME_STEP))
    env.reset()
    with pytest.raises(InputError, match=r"could not broadcast.* expected an observation in"), environment_errors():
        env.step(np.zeros(2, np.int64))
    env.unwrapped.close(terminate=True)


@pytest.mark.parametrize("error", [ValueError("could not broadcast"), TypeError("one of its own"), KeyError("a")])
def test_errors_of_the_environments_own_code_stay_its_own(error: Exception) -> None:
    env = as_vector_env(SyncVectorEnv([lambda: Told(error=error)], autoreset_mode=AutoresetMode.SAME_STEP))
    env.reset()
    with pytest.raises(EnvironmentFailedError, match=f"an environment raised {type(error).__name__}"):
        with environment_errors():
            env.step(np.zeros(1, np.int64))


def test_rewards_of_one_entry_are_numbers() -> None:
    env = as_vector_env(Batches([lambda: Told(reward=np.array([2.0]))] * 2))
    env.reset()
    np.testing.assert_array_equal(env.step(np.zeros(2, np.int64))[1], [2.0, 2.0])
    assert env.step(np.zeros(2, np.int64))[1].shape == (2,)


def test_a_batch_of_another_type_takes_that_of_the_space_where_nothing_is_lost() -> None:
    env = as_vector_env(Batches([Told, Told]))
    batch = checked_batch(env, np.ones((2, 3), np.bool_))
    assert batch.dtype == np.uint8 and batch.tolist() == [[1, 1, 1]] * 2
    whole = np.ones((2, 3), np.uint8)
    assert checked_batch(env, whole) is whole
    for wrong in (None, 3, np.ones((1, 3), np.uint8)):
        with pytest.raises(InputError, match=r"the vector environment returned the observations .*; expected 2"):
            checked_batch(env, wrong)


def test_parts_are_left_to_what_flattens_them() -> None:
    env = make_vec_env("CartPole-v1", 1).unwrapped
    env.single_observation_space = Tuple([Discrete(2), Box(0, 1, (2,))])
    parts = (np.zeros(1, np.int64), np.zeros((1, 2), np.float32))
    assert checked_batch(env, parts) is parts


class Own(VectorEnv[Any, Any, Any]):
    """A vector environment of a user's own, whose steps return what it is told."""

    num_envs = 2
    single_observation_space, single_action_space = Box(-1, 1, (2,), np.float32), Discrete(2)
    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 (gymnasium's)

    def __init__(self, **told: Any) -> None:
        self.observation_space, self.action_space = Box(-1, 1, (2, 2), np.float32), MultiDiscrete([2, 2])
        none = np.zeros(2, np.bool_)
        self.told = {"terminations": none, "truncations": none, "infos": {}, **told}

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return np.zeros((2, 2), np.float32), self.told.get("first", {})

    def step(self, actions: Any) -> Any:
        return (
            np.zeros((2, 2), np.float32),
            np.ones(2),
            *(self.told[n] for n in ("terminations", "truncations", "infos")),
        )


@pytest.mark.parametrize("flags", [[0, 1], np.array([0.0, 1.0]), (False, np.True_)])
def test_flags_are_true_or_false_whatever_their_type(flags: Any) -> None:
    env = as_vector_env(Own(truncations=flags))
    env.reset()
    *_, truncations, _ = env.step(np.zeros(2, np.int64))
    assert truncations.dtype == np.bool_ and truncations.tolist() == [False, True]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (
            {"terminations": np.array([0.5, 0])},
            r"the terminations array\(\[0\.5, 0\. \]\); expected True or False for each",
        ),
        ({"truncations": None}, "the truncations None; expected 2 of them"),
        ({"terminations": [True]}, r"the terminations \[True\]; expected 2 of them"),
        ({"infos": None}, "the infos None; expected one dict for all"),
        ({"first": [{}, {}]}, r"the infos \[{}, {}\]; expected one dict for all"),
        (
            {"infos": {"final_obs": [None, np.zeros(3)]}},
            r"^environment 1 returned a last observation of an episode of s",
        ),
    ],
)
def test_flags_and_infos_that_are_none(told: dict[str, Any], message: str) -> None:
    env = as_vector_env(Own(**told))
    with pytest.raises(InputError, match=message):
        env.reset()
        env.step(np.zeros(2, np.int64))


def test_last_observations_take_the_type_of_the_space() -> None:
    env = make_vec_env(lambda: Told([0.1, 0.2], is_last=True, space=Box(-1, 1, (2,), np.float32)), 1)
    env.reset()
    (last,) = env.step(np.zeros(1, np.int64))[4]["final_obs"]
    assert last.dtype == np.float32 and last.tolist() == np.float32([0.1, 0.2]).tolist()


@pytest.mark.parametrize(
    ("dtype", "last"),
    [
        (np.float32, np.zeros(5, np.float32)),
        (np.float32, 7.0),
        (np.float32, "end"),
        (np.uint8, [300.7, -1.0]),
        (np.int16, np.array([70_000, 1])),
    ],
)
def test_last_observations_that_do_not_fit(dtype: Any, last: Any) -> None:
    env = make_vec_env(lambda: Told(last, is_last=True, space=Box(0, 100, (2,), dtype)), 1)
    env.reset()
    with pytest.raises(
        InputError, match=r"^environment 0 returned a last observation of an episode .* its space is Box"
    ):
        env.step(np.zeros(1, np.int64))


def test_whole_numbers_are_not_cut() -> None:
    env = make_vec_env("CartPole-v1", 1).unwrapped
    env.single_observation_space = Box(0, 100, (2,), np.int16)
    assert batch_of(env, [np.array([7, 8])]).tolist() == [[7, 8]]
    with pytest.raises(
        InputError, match=r"^environment 0 returned an observation of shape .* and type int64; its space"
    ):
        batch_of(env, [np.array([70_000, 8])])
