import copy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, Sequence, Text, Tuple, flatten
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array

from acer_tf.envs.wrappers.flatten import Flatten, FlattenObservations, flattened
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError
from acer_tf.packing import Packed
from tests.scripted import ScriptedEnv

SPACES: list[tuple[Any, Any]] = [
    (Box(-1, 1, (), np.float64), np.float64),
    (Discrete(4), np.uint8),
    (Discrete(3, start=-5), np.uint8),
    (MultiDiscrete([2, 5, 3]), np.uint8),
    (MultiDiscrete([[2, 3], [1, 4]], start=[[1, 0], [7, -3]]), np.uint8),
    (MultiBinary(3), np.int8),
    (MultiBinary((2, 2)), np.int8),
    (Dict(z=Box(-1, 1, (2, 2)), a=Discrete(3)), np.float32),
    (Dict(flag=Box(0, 1, (1,), np.bool_), choice=Discrete(2)), np.uint8),
    (Tuple((Discrete(3), Box(-1, 1, ()), MultiBinary(2))), np.float32),
    (Dict(goal=Dict(x=Box(-1, 1, (2,), np.float64)), n=MultiDiscrete([2, 2])), np.float64),
]
ARRAYS = [np.bool_, np.int8, np.uint8, np.uint16, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64]


@pytest.mark.parametrize(("space", "dtype"), SPACES)
def test_one_and_a_batch_are_gymnasiums_vectors(space: Any, dtype: Any) -> None:
    flat = Flatten(space)
    space.seed(0)
    samples = [space.sample() for _ in range(6)]
    batch = concatenate(space, samples, create_empty_array(space, 6))
    expected = np.stack([flatten(space, sample) for sample in samples])
    assert flat(batch).dtype == flat.space.dtype == dtype
    assert flat.space.shape == expected.shape[1:]
    np.testing.assert_array_equal(flat(batch), expected)
    np.testing.assert_array_equal([flat(sample) for sample in samples], expected)
    assert all(flat.space.contains(flat(sample)) for sample in samples)


@pytest.mark.parametrize("dtype", ARRAYS)
def test_arrays_stay_as_they_are(dtype: Any) -> None:
    space = Box(0, 1, (3, 2), dtype)
    flat, batch = Flatten(space), np.ones((4, 3, 2), dtype)
    assert flat.space is space
    for obs in (batch, batch[0]):
        np.testing.assert_array_equal(flat(obs), obs, strict=True)
    env = ScriptedEnv(np.ones((1, 2, 3)))
    assert flattened(env) is env


class Sampler(gymnasium.Env[Any, Any]):
    """Gives random observations; every episode has three steps."""

    action_space = Discrete(2)

    def __init__(self, space: Any) -> None:
        self.observation_space = space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.observation_space.seed(seed)
        self.t = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        return self.observation_space.sample(), 1.0, False, self.t == 3, {}


@pytest.mark.parametrize("space", [space for space, _ in SPACES])
def test_a_vector_environment_equals_gymnasiums_wrapper_of_each_one(space: Any) -> None:
    def make(wrap: Any) -> Any:
        kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP}
        return SyncVectorEnv([lambda: wrap(Sampler(copy.deepcopy(space)))] * 3, **kwargs)

    ours = flattened(make(lambda env: env))
    assert isinstance(ours, FlattenObservations)
    theirs = make(gymnasium.wrappers.FlattenObservation)
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for t in range(1, 7):
        (obs, *_, infos), (expected, *_, their_infos) = (env.step(np.zeros(3, int)) for env in (ours, theirs))
        np.testing.assert_array_equal(obs, expected)
        assert ("final_obs" in infos) == ("final_obs" in their_infos) == (t % 3 == 0)
        if t % 3 == 0:
            np.testing.assert_array_equal(np.stack(infos["final_obs"]), np.stack(their_infos["final_obs"]))
            assert infos["final_obs"][2].dtype == ours.single_observation_space.dtype
    assert FrameStack(ours, 1).reset()[0].shape == ours.observation_space.shape == obs.shape


IMAGE = Box(0, 255, (8, 8, 3), np.uint8)


def test_images_are_packed_with_all_else_and_text_is_left_out() -> None:
    space = Dict(a=Dict(words=Text(3), speed=Box(-9, 9, (2, 1), np.float64)), b=Tuple((Discrete(3, start=1), IMAGE)))
    flat = Flatten(space)
    assert isinstance(flat.space, Packed)
    assert {name: (part.shape, part.dtype) for name, part in flat.space.parts.items()} == {
        "a/speed": ((2,), np.float32), "b/0": ((3,), np.float32), "b/1": (IMAGE.shape, np.uint8)
    }  # fmt: skip
    speed, image = np.array([[0.1], [-2.0]]), np.arange(192, dtype=np.uint8).reshape(IMAGE.shape)
    packed = flat({"a": {"words": "abc", "speed": speed}, "b": (2, image)})
    floats = np.float32([0.1, -2, 0, 1, 0])
    assert packed.tobytes() == floats.tobytes() + image.tobytes()
    batch = flat({"a": {"speed": speed[np.newaxis]}, "b": (np.array([2]), image[np.newaxis])})
    np.testing.assert_array_equal(batch, packed[np.newaxis])


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Text(5), "observation space is a Text; expected Box, Discrete, MultiDiscrete or MultiBinary, or a Dict"),
        (Graph(Box(0, 1, (2,)), None), "observation space is a Graph; expected Box"),
        (Sequence(Discrete(2)), "observation space is a Sequence; expected Box"),
        (Dict(a=Dict(words=Text(3))), "observation space is empty"),
        (Dict(a=Sequence(Discrete(2))), "observation space's part a is a Sequence; expected Box"),
        (Dict({"a/b": IMAGE, "a": Dict(b=Discrete(2))}), "two parts of the observation space have the name a/b"),
        (Dict(), "observation space is empty"),
        (Box(0, 1, (0, 3)), "observation space is empty"),
        (Discrete(2**21), "has 2,097,152 choices; expected at most 1,048,576"),
        (Box(0, 1, (2,), np.longdouble), "of type float128; expected booleans, integers or floating point numbers"),
    ],
)
def test_refuses_spaces(space: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Flatten(space)


@pytest.mark.parametrize(
    ("space", "obs", "message"),
    [
        (
            Discrete(3),
            3,
            r"^the observation is 3, a choice that its space does not have; expected one of D",
        ),
        (Discrete(3), np.array([0, -1]), r"^the observation of environment 1 is -1, a choice"),
        (MultiDiscrete([3, 2]), np.array([[0, 1], [1, 2]]), r"^the observation of environment 1 is \[1, 2\], a choice"),
        (Box(0, 255, (2,), np.uint8), np.array([0.5, 1]), "of type float64 has numbers that uint8 cannot hold"),
        (Box(0, 255, (2,), np.uint8), [3, 256], "of type int64 has numbers that uint8 cannot hold"),
        (Box(0, 255, (2,), np.uint8), np.array([np.nan, 1]), "numbers that uint8 cannot hold"),
        (MultiDiscrete([2, 3]), np.zeros(3, int), r"has shape \(3,\); expected \(2,\), or a batch"),
        (Box(0, 1, (2, 3)), np.zeros(3), r"has shape \(3,\); expected \(2, 3\), or a batch"),
        (Dict(a=Discrete(2), b=Discrete(2)), {"a": 0}, "lacks a part of the observation space"),
        (Dict(a=Discrete(2)), 1, "lacks a part of the observation space"),
        (Box(0, 1, ()), {}, "^an observation is not in the observation space: .*, not 'dict'"),
        (Dict(a=Box(0, 1, (2,))), {"a": {}}, "^an observation is not in the observation space: .*, not 'dict'"),
    ],
)
def test_refuses_what_is_not_in_the_space(space: Any, obs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Flatten(space)(obs)
