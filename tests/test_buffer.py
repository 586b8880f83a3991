from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState
from numpy.typing import NDArray

from acer_tf.buffer import Buffer, check_memory, replay_bytes, stack_obs
from acer_tf.config import Config
from acer_tf.envs.frame_stack import FrameStack
from acer_tf.errors import InputError
from acer_tf.segment import Segment
from tests.scripted import ScriptedEnv

Array = NDArray[Any]
STORED = ("enc_obs", "actions", "rewards", "mus", "dones", "masks", "states")


def naive_stacks(enc_obs: Array, dones: Array) -> Array:
    """Restacks one observation at a time: frame after frame backwards, nothing from before an end."""
    nenvs, nsteps = dones.shape
    nstack = enc_obs.shape[1] - nsteps
    stacks = []
    for env in range(nenvs):
        for t in range(nsteps + 1):
            frames = []
            for age in range(nstack):
                ended = dones[env, max(0, t - age) : t].any()
                frame = enc_obs[env, t + nstack - 1 - age]
                frames.insert(0, np.zeros_like(frame) if ended else frame)
            stacks.append(np.concatenate(frames, axis=-1))
    return np.stack(stacks).reshape(nenvs, nsteps + 1, *stacks[0].shape)


def segments(count: int, nenvs: int, nsteps: int, nstack: int, frame: tuple[int, ...], seed: int) -> list[Segment]:
    random = np.random.default_rng(seed)
    masks = random.random((count, nenvs, nsteps + 1)) < random.random()
    return [
        Segment(
            enc_obs=random.integers(1, 256, (nenvs, nsteps + nstack, *frame)).astype(np.uint8),
            obs=np.empty(0),
            actions=random.integers(0, 5, (nenvs, nsteps)),
            rewards=random.normal(size=(nenvs, nsteps)).astype(np.float32),
            mus=random.random((nenvs, nsteps, 5)).astype(np.float32),
            dones=mask[:, 1:],
            masks=mask,
            states=random.normal(size=(nenvs, 3)).astype(np.float32),
        )
        for mask in masks
    ]


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_equals_a_list_of_segments(data: st.DataObject) -> None:
    nenvs, nsteps, nstack = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 5)))
    frame = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    slots, puts, seed = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 10), st.integers(0, 2**32 - 1)))
    buffer = Buffer(nsteps, slots * nsteps + data.draw(st.integers(0, nsteps - 1)))
    ring: list[Segment | None] = [None] * slots
    for i, segment in enumerate(segments(puts, nenvs, nsteps, nstack, frame, seed)):
        buffer.put(segment)
        ring[i % slots] = segment
        assert buffer.next_idx == (i + 1) % slots
        assert buffer.num_in_buffer == min(i + 1, slots)

        drawn = buffer.get(RandomState(seed))
        slots_drawn = RandomState(seed).randint(0, buffer.num_in_buffer, nenvs)  # baselines' draw
        for name in STORED:
            expected = np.stack([getattr(ring[slot], name)[env] for env, slot in enumerate(slots_drawn)])
            actual = getattr(drawn, name)
            assert actual.dtype == expected.dtype
            np.testing.assert_array_equal(actual, expected, err_msg=name)
        np.testing.assert_array_equal(drawn.obs, naive_stacks(drawn.enc_obs, drawn.dones))
        assert drawn.obs.dtype == drawn.enc_obs.dtype


def test_an_environment_gets_only_its_own_history_and_all_of_it() -> None:
    nenvs, slots = 3, 4
    buffer, rng, seen = Buffer(2, 2 * slots), RandomState(0), set()
    for i, segment in enumerate(segments(slots, nenvs, 2, 1, (1,), seed=0)):
        rewards = np.repeat(100 * np.arange(nenvs)[:, np.newaxis] + i, 2, axis=1).astype(np.float32)
        buffer.put(segment._replace(rewards=rewards))
    for _ in range(200):
        drawn = buffer.get(rng).rewards[:, 0]
        np.testing.assert_array_equal(drawn // 100, np.arange(nenvs))
        seen |= set(drawn)
    assert seen == {100 * env + i for env in range(nenvs) for i in range(slots)}


def test_what_is_drawn_is_a_copy() -> None:
    buffer = Buffer(3, 3)
    (segment,) = segments(1, 2, 3, 2, (4,), seed=0)
    buffer.put(segment)
    first = buffer.get(RandomState(0))
    for name in ("obs", *STORED):
        getattr(first, name)[...] = 1
    np.testing.assert_array_equal(buffer.get(RandomState(0)).enc_obs, segment.enc_obs)


def test_has_atleast_counts_agent_steps_in_whole_segments() -> None:
    buffer = Buffer(5, 20)
    expected = {0: [0, 4], 1: [0, 4, 5, 9], 4: [0, 9, 10, 19, 20, 24], 6: [0, 20, 24]}
    assert not buffer.has_atleast(5)
    for puts, segment in enumerate(segments(6, 1, 5, 1, (1,), seed=0)):
        assert all(buffer.has_atleast(frames) for frames in expected.get(puts, []))
        assert not buffer.has_atleast(5 * (min(puts, 4) + 1))
        buffer.put(segment)
    assert all(buffer.has_atleast(frames) for frames in expected[6])
    assert not buffer.has_atleast(25)


def test_frames_from_before_an_end_are_zero() -> None:
    enc_obs = np.arange(1, 7, dtype=np.uint8).reshape(1, 6, 1)
    dones = np.array([[False, True, False]])
    expected = [[1, 2, 3], [2, 3, 4], [0, 0, 5], [0, 5, 6]]
    np.testing.assert_array_equal(stack_obs(enc_obs, dones)[0], expected)


@pytest.mark.parametrize(("frame", "dtype"), [((7, 3, 1), np.uint8), ((5,), np.float32), ((2, 3), np.float64)])
@pytest.mark.parametrize("nstack", [1, 4])
def test_replay_bytes_are_the_bytes_of_a_full_buffer(frame: tuple[int, ...], dtype: type, nstack: int) -> None:
    env = FrameStack(ScriptedEnv(np.ones((1, 3, *frame), dtype), nact=5), nstack)
    buffer = Buffer(4, 22)
    (segment,) = segments(1, 3, 4, nstack, frame, seed=0)
    for _ in range(5):
        buffer.put(segment._replace(enc_obs=segment.enc_obs.astype(dtype)))
    taken = sum(array.nbytes for name, array in buffer._arrays.items() if name != "states")
    config = Config(nsteps=4, buffer_size=22, replay_start=0)
    assert replay_bytes(env, config) == check_memory(env, config) == taken
    assert replay_bytes(env, Config(nsteps=4, buffer_size=22, replay_ratio=0)) == 0


def test_memory_that_is_not_there_is_an_input_error() -> None:
    env = FrameStack(ScriptedEnv(np.ones((1, 2, 100)), nact=3), 1)
    steps = psutil.virtual_memory().total // 100
    with pytest.raises(InputError, match=r"replay would take [\d.]+ GiB, but [\d.]+ GiB are free; lower buffer_size"):
        check_memory(env, Config(buffer_size=steps))
    assert check_memory(env, Config(buffer_size=steps, replay_ratio=0)) == 0
