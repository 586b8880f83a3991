import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector.utils import batch_space
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError
from tests.scripted import Array, ScriptedEnv

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "vec_frame_stack.npz")
CASES = json.loads(str(GOLDEN["config"]))["cases"]
ACTIONS = np.zeros(1, np.int64)  # nobody looks at them


def script(frames: Array, dones: NDArray[np.bool_], final: Array | None = None) -> ScriptedEnv:
    """Plays recorded frames [T, N, ...] and dones [T, N], which end even environments and cut the others.

    Entry 0 is what reset gives; last frames [T, N, ...] are told where they are given.
    """
    even = np.arange(frames.shape[1]) % 2 == 0
    rewards = np.arange(len(frames), dtype=np.float32)[:, np.newaxis].repeat(len(even), axis=1)
    infos = {t: {"t": t} for t in range(len(frames))}
    if final is not None:
        lasts = np.full(dones.shape, None)
        for t, i in np.argwhere(dones):
            lasts[t, i] = final[t, i]
        infos = {t: {"final_obs": lasts[t]} for t in infos}
    env = ScriptedEnv(frames, rewards, dones & even, dones & ~even, infos)
    low = np.arange(np.prod(frames.shape[2:])).reshape(frames.shape[2:]).astype(frames.dtype)
    env.single_observation_space = Box(low, low + 100, dtype=frames.dtype)
    env.observation_space = batch_space(env.single_observation_space, env.num_envs)
    return env


def play(env: FrameStack, steps: int) -> Array:
    stacks = [env.reset()[0].copy()]
    for _ in range(steps - 1):
        stacks.append(env.step(ACTIONS)[0].copy())
    return np.stack(stacks)


def naive(frames: Array, dones: NDArray[np.bool_], nstack: int, roll: int) -> Array:
    channels = frames.shape[-1]
    stacked = np.zeros((*frames.shape[1:-1], channels * nstack), frames.dtype)
    stacked[..., -channels:] = frames[0]
    stacks = [stacked]
    for frame, done in zip(frames[1:], dones[1:], strict=True):
        stacked = np.roll(stacks[-1], -roll, axis=-1)
        stacked[done] = 0
        stacked[..., -channels:] = frame
        stacks.append(stacked)
    return np.stack(stacks)


@pytest.mark.parametrize("j", range(len(CASES)))
def test_equals_what_baselines_recorded(j: int) -> None:
    frames, dones, expected = (GOLDEN[f"{j}/{name}"] for name in ("frames", "dones", "stacked"))
    env = FrameStack(script(frames, dones), CASES[j]["nstack"])
    stacked = play(env, len(frames))
    assert stacked.dtype == expected.dtype
    np.testing.assert_array_equal(stacked, expected)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_equals_the_naive_way(data: st.DataObject) -> None:
    frame = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    nenvs, nstack, steps = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 8)))
    dtype = data.draw(st.sampled_from([np.uint8, np.float32, np.float64, np.int16]))
    whole_frames = data.draw(st.booleans())
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    frames = random.integers(1, 200, (steps, nenvs, *frame)).astype(dtype)
    dones = random.random((steps, nenvs)) < 0.3
    twice = (np.concatenate([array] * 2) for array in (frames, dones))
    env = FrameStack(script(*twice), nstack, whole_frames=whole_frames)
    expected = naive(frames, dones, nstack, frame[-1] if whole_frames else 1)
    np.testing.assert_array_equal(play(env, steps), expected)
    np.testing.assert_array_equal(play(env, steps), expected)  # reset clears the stack


def test_whole_frames_keep_the_frames_of_several_channels() -> None:
    frames = np.random.default_rng(0).integers(1, 256, (6, 2, 3, 3, 3)).astype(np.uint8)
    stacked = play(FrameStack(script(frames, np.zeros((6, 2), np.bool_)), 4, whole_frames=True), 6)
    np.testing.assert_array_equal(stacked[5], np.concatenate(frames[2:], axis=-1))


def test_spaces_repeat_the_bounds() -> None:
    frames = np.ones((1, 3, 2, 2), np.float64)
    env = FrameStack(script(frames, np.zeros((1, 3), np.bool_)), 3)
    assert env.nstack == 3
    assert env.single_observation_space.shape == (2, 6)
    assert env.single_observation_space.dtype == env.stacked.dtype == np.float64
    np.testing.assert_array_equal(env.single_observation_space.low, [[0, 0, 0, 1, 1, 1], [2, 2, 2, 3, 3, 3]])
    np.testing.assert_array_equal(env.single_observation_space.high, env.single_observation_space.low + 100)
    assert env.observation_space.shape == env.stacked.shape == (3, 2, 6)


def test_passes_everything_else_on_and_reuses_its_array() -> None:
    frames = np.arange(6, dtype=np.float32).reshape(3, 2, 1)
    dones = np.array([[False, False], [True, True], [False, False]])
    env = FrameStack(scripted := script(frames, dones), 2)
    obs, infos = env.reset(seed=5)
    assert scripted.resets == [(5, 0)] and infos == {"t": 0}
    again, rewards, terminations, truncations, infos = env.step(ACTIONS)
    assert again is obs is env.stacked
    assert infos == {"t": 1}
    np.testing.assert_array_equal(rewards, [1, 1])
    np.testing.assert_array_equal(terminations, [True, False])
    np.testing.assert_array_equal(truncations, [False, True])
    np.testing.assert_array_equal(again, [[0, 2], [0, 3]])


@pytest.mark.parametrize(("nstack", "whole_frames"), [(1, False), (3, False), (3, True)])
def test_last_stacks_are_those_of_an_episode_that_goes_on(nstack: int, whole_frames: bool) -> None:
    """What an episode would have shown at its last step, had it not been reset in it."""
    random = np.random.default_rng(0)
    frames, final = random.integers(1, 200, (2, 8, 3, 2, 2))
    dones = random.random((8, 3)) < 0.4
    env = FrameStack(script(frames, dones, final), nstack, whole_frames=whole_frames)
    env.reset()
    ended = 0
    for t in range(1, 8):
        *_, infos = env.step(ACTIONS)
        for i in np.flatnonzero(dones[t]):
            on, off = frames[: t + 1].copy(), dones[: t + 1].copy()
            on[t, i], off[t, i] = final[t, i], False
            expected = naive(on, off, nstack, 2 if whole_frames else 1)[t, i]
            np.testing.assert_array_equal(infos["final_obs"][i], expected)
            ended += 1
        assert all((last is None) != done for last, done in zip(infos["final_obs"], dones[t], strict=True))
    assert ended > 5


@pytest.mark.parametrize(
    ("space", "nstack", "message"),
    [
        (Discrete(3), 2, r"^observations in Discrete\(3\) cannot be stacked; expected a Box of at least one axis"),
        (Box(0, 1, ()), 2, r"^observations in Box\(0\.0, 1\.0, \(\), float32\) cannot be stacked"),
        (Box(0, 1, (2,)), 0, "^nstack is 0; expected a whole number from 1 to 1024"),
    ],
)
def test_what_cannot_be_stacked(space: Any, nstack: int, message: str) -> None:
    env = script(np.zeros((2, 1, 2), np.float32), np.zeros((2, 1), np.bool_))
    env.single_observation_space = space
    with pytest.raises(InputError, match=message):
        FrameStack(env, nstack)
