from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from numpy.random import RandomState
from numpy.typing import NDArray

from acer_tf.buffer import GROUP_BYTES, Buffer, stack_obs
from acer_tf.config import Config
from acer_tf.errors import InputError
from acer_tf.segment import Segment
from tests.agents import NENVS, NSTEPS, make_segment

Array = NDArray[Any]
STORED = ("enc_obs", "actions", "rewards", "mus", "dones", "masks", "states", "final_values")


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
            final_values=random.normal(size=(nenvs, nsteps)).astype(np.float32),
        )
        for mask in masks
    ]


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_equals_a_list_of_segments(data: st.DataObject) -> None:
    nenvs, nsteps, nstack = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 5)))
    frame = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    slots, puts, seed = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 10), st.integers(0, 2**32 - 1)))
    row = (nenvs, nsteps + nstack, *frame) if data.draw(st.booleans()) else None
    buffer = Buffer(nsteps, slots * nsteps + data.draw(st.integers(0, nsteps - 1)), compressed_row=row)
    ring: list[Segment | None] = [None] * slots
    previous = None
    for i, segment in enumerate(segments(puts, nenvs, nsteps, nstack, frame, seed)):
        if previous is not None and data.draw(st.booleans()):
            segment.enc_obs[:, :nstack] = previous.enc_obs[:, nsteps:]
        buffer.put(segment)
        ring[i % slots] = previous = segment
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


@pytest.mark.parametrize("compressed_row", [None, (2, 5, 4)])
def test_what_is_drawn_is_a_copy(compressed_row: tuple[int, ...] | None) -> None:
    buffer = Buffer(3, 3, compressed_row)
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


@pytest.mark.parametrize("compressed_row", [None, (2, 7, 3)])
@pytest.mark.parametrize("puts", [2, 4, 7])
def test_rows_put_into_another_buffer_make_it_equal(puts: int, compressed_row: tuple[int, ...] | None) -> None:
    first, second = Buffer(5, 20, compressed_row), Buffer(5, 20, compressed_row)
    for segment in segments(puts, 2, 5, 2, (3,), seed=0):
        first.put(segment)
    middle = (first.oldest + puts) // 2
    for start, stop in ((first.oldest, middle), (middle, puts)):
        second.load_rows(start, stop, first.rows(start, stop))
    assert (second.num_put, second.next_idx, second.num_in_buffer) == (puts, puts % 4, min(puts, 4))
    for seed in range(5):
        for ours, theirs in zip(first.get(RandomState(seed)), second.get(RandomState(seed)), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("config", [{}, {"replay_state": "stored"}, {"bootstrap_truncated": True}])
def test_what_updates_do_not_read_is_not_kept(config: dict[str, Any]) -> None:
    unread = Config(**config).unread
    first, second = Buffer(5, 20), Buffer(5, 20, unread=unread)
    for segment in segments(3, 2, 5, 2, (3,), seed=0):
        first.put(segment)
        second.put(segment)
    assert {name for name, array in second.rows(0, 3).items() if array.size == 0} == {f"{name}/rows" for name in unread}
    again = Buffer(5, 20, unread=unread)
    again.load_rows(0, 3, second.rows(0, 3))
    every, some, loaded = (buffer.get(RandomState(0)) for buffer in (first, second, again))
    for name in ("obs", *STORED):
        expected = getattr(every, name)[:, :0] if name in unread else getattr(every, name)
        np.testing.assert_array_equal(getattr(some, name), expected, err_msg=name, strict=True)
        np.testing.assert_array_equal(getattr(loaded, name), expected, err_msg=name, strict=True)


def test_rows_of_a_buffer_of_another_kind_are_refused() -> None:
    plain, compressed = Buffer(5, 20), Buffer(5, 20, (2, 7, 3))
    (segment,) = segments(1, 2, 5, 2, (3,), seed=0)
    plain.put(segment)
    compressed.put(segment)
    with pytest.raises(InputError, match="give the same compress_replay"):
        Buffer(5, 20, (2, 7, 3)).load_rows(0, 1, plain.rows(0, 1))
    with pytest.raises(InputError, match="no rows of enc_obs"):
        Buffer(5, 20).load_rows(0, 1, compressed.rows(0, 1))


class BufferMachine(RuleBasedStateMachine):
    """Any sequence of what training, saving and resuming do, against a list of all segments ever put."""

    def __init__(self) -> None:
        super().__init__()
        self.slots, self.history = 3, []
        self.buffer = self.fresh()

    def fresh(self) -> Buffer:
        return Buffer(NSTEPS, self.slots * NSTEPS)

    @rule(count=st.integers(1, 4), goes_on=st.booleans())
    def put(self, count: int, goes_on: bool) -> None:
        for _ in range(count):
            segment = make_segment(len(self.history))
            if goes_on and self.history:
                segment.enc_obs[:, 0] = self.history[-1].enc_obs[:, -1]
            self.history.append(segment)
            self.buffer.put(segment)

    @precondition(lambda self: self.history)
    @rule(seed=st.integers(0, 2**32 - 1))
    def get(self, seed: int) -> None:
        drawn, kept = self.buffer.get(RandomState(seed)), min(self.slots, len(self.history))
        for env, slot in enumerate(RandomState(seed).randint(0, kept, NENVS)):
            newest_in_slot = max(i for i in range(len(self.history)) if i % self.slots == slot)
            for name in STORED:
                expected = getattr(self.history[newest_in_slot], name)[env]
                np.testing.assert_array_equal(getattr(drawn, name)[env], expected, err_msg=name)

    @rule(data=st.data())
    def save_and_load(self, data: st.DataObject) -> None:
        """In pieces, of which the first may begin with segments that have been forgotten since."""
        before, self.buffer = self.buffer, self.fresh()
        start = before.oldest
        while start < before.num_put:
            stop = data.draw(st.integers(start + 1, before.num_put))
            self.buffer.load_rows(start, stop, before.rows(start, stop))
            start = stop

    @invariant()
    def counts_and_rows_are_those_of_the_list(self) -> None:
        count = len(self.history)
        assert (self.buffer.num_put, self.buffer.num_in_buffer) == (count, min(count, self.slots))
        assert self.buffer.oldest == count - self.buffer.num_in_buffer
        rows = self.buffer.rows(self.buffer.oldest, count)
        for name in STORED if count else ():
            expected = np.stack([getattr(segment, name) for segment in self.history[self.buffer.oldest :]])
            np.testing.assert_array_equal(rows[f"{name}/rows"], expected, err_msg=name, strict=True)


BufferMachine.TestCase.settings = settings(deadline=None, max_examples=25, stateful_step_count=15)
TestBufferMachine = BufferMachine.TestCase


@pytest.mark.parametrize(("share", "sizes"), [(2.0, [1] * 5), (0.6, [1] * 5), (0.5, [2, 2, 1]), (0.01, [5])])
def test_groups_are_as_large_as_their_observations_allow(share: float, sizes: list[int]) -> None:
    pixels = int(share * GROUP_BYTES) // (2 * 4 * 2)  # two environments, three steps and the bootstrap, two frames each
    buffer = Buffer(3, 9)
    for segment in segments(3, 2, 3, 2, (pixels, 1), seed=0):
        buffer.put(segment)
    groups, expected = buffer.groups(RandomState(0), 5), RandomState(0)
    drawn = list(groups)
    assert [len(group) for group in drawn] == sizes
    for segment in (segment for group in drawn for segment in group):
        np.testing.assert_array_equal(segment.rewards, buffer.get(expected).rewards)
    assert list(buffer.groups(RandomState(0), 0)) == []


@pytest.mark.parametrize(("recurrent", "sizes"), [(False, [1, 1, 1]), (True, [3])])
def test_vectors_for_a_feed_forward_network_are_drawn_one_by_one(recurrent: bool, sizes: list[int]) -> None:
    buffer = Buffer(3, 9, unread={"states"}, is_recurrent=recurrent)  # a state of zeros is not stored
    for segment in segments(3, 2, 3, 1, (4,), seed=0):
        buffer.put(segment)
    assert [len(group) for group in buffer.groups(RandomState(0), 3)] == sizes
