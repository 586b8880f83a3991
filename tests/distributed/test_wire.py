import contextlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acer_tf.buffer import Buffer, stack_obs
from acer_tf.config import CONTINUOUS, Config, Continuous
from acer_tf.distributed.layout import Field, Layout
from acer_tf.distributed.wire import MAGIC, Header, MalformedSegmentError, pack, unpack
from acer_tf.envs.make import make_training_env
from acer_tf.errors import InputError
from acer_tf.replay.columns import CompressedFrames
from acer_tf.segment import Episode, Segment

N, T, S, A = 2, 3, 2, 4
HEADER = Header(1, 2, 3, 4)


def layout(is_compressed: bool = True, reads_states: bool = True) -> Layout:
    fields = {
        "enc_obs": Field("|u1" if is_compressed else "<f4", (N, S + T, 5, 1)),
        "actions": Field("<i8", (N, T), A),
        "rewards": Field("<f4", (N, T)),
        "mus": Field("<f4", (N, T, A)),
        "masks": Field("|b1", (N, T + 1)),
        **({"states": Field("<f4", (N, 2))} if reads_states else {}),
        "next_state": Field("<f4", (N, 2)),
    }
    return Layout(fields, Field("|b1", (N, T + 1, A)), is_compressed)


def segment(of: Layout, seed: int = 0, has_masks: bool = False) -> Segment:
    rng = np.random.default_rng(seed)
    masks = rng.random((N, T + 1)) < 0.3
    frames = rng.integers(0, 256, of.fields["enc_obs"].shape).astype(of.fields["enc_obs"].dtype)
    return Segment(
        enc_obs=frames,
        obs=stack_obs(frames, masks[:, 1:]),
        actions=rng.integers(0, A, (N, T)),
        rewards=rng.normal(size=(N, T)).astype(np.float32),
        mus=rng.random((N, T, A)).astype(np.float32),
        dones=masks[:, 1:],
        masks=masks,
        states=rng.normal(size=(N, 2)).astype(np.float32),
        final_values=np.zeros((N, T), np.float32),
        action_masks=rng.random((N, T + 1, A)) < 0.5 if has_masks else (),
    )


STATE = np.arange(4, dtype=np.float32).reshape(N, 2)


def packed(of: Layout, **kwargs: Any) -> bytes:
    return pack(HEADER, segment(of, **kwargs), STATE, [Episode(1, 2.5, 7, 0.5)], of)


def changed(data: bytes, change: Any) -> bytes:
    """The same with another header."""
    size = int.from_bytes(data[8:12], "little")
    header = json.loads(data[12 : 12 + size])
    change(header)
    text = json.dumps(header).encode()
    return MAGIC + len(text).to_bytes(4, "little") + text + data[12 + size :]


@given(seed=st.integers(0, 1000), is_compressed=st.booleans(), reads_states=st.booleans(), has_masks=st.booleans())
def test_a_segment_arrives_as_it_was(seed: int, is_compressed: bool, reads_states: bool, has_masks: bool) -> None:
    of = layout(is_compressed, reads_states)
    sent = segment(of, seed, has_masks)
    received = unpack(pack(HEADER, sent, STATE, [Episode(1, 2.5, 7, 0.5)], of), of)
    assert received.header == HEADER and received.episodes == [Episode(1, 2.5, 7, 0.5)]
    np.testing.assert_array_equal(received.next_state, STATE)
    for name in ("obs", "actions", "rewards", "mus", "dones", "masks", "action_masks"):
        ours, theirs = getattr(received.segment, name), getattr(sent, name)
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
        assert has_masks or name == "action_masks" or (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert received.segment.states.shape == (N, 2 if reads_states else 0)
    assert isinstance(received.segment.enc_obs, CompressedFrames) == is_compressed


def test_replay_stores_frames_as_they_come() -> None:
    of = layout()
    sent, row = segment(of), of.fields["enc_obs"].shape
    received = unpack(packed(of), of).segment
    one, other = (Buffer(T, 4 * T, row, ("final_values",)) for _ in range(2))
    one.put(sent)
    other.put(received)
    ours, theirs = one.rows(0, 1), other.rows(0, 1)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    parts = other.rows(0, 1)["enc_obs/parts"].tobytes()
    assert parts == b"".join(received.enc_obs.parts), "not compressed again"


@given(data=st.data(), is_compressed=st.booleans())
def test_whatever_arrives_is_a_segment_or_refused(data: st.DataObject, is_compressed: bool) -> None:
    """Any bytes in the place of some, and any length."""
    of = layout(is_compressed)
    whole = bytearray(packed(of, has_masks=True))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))]) if data.draw(st.booleans()) else bytes(whole)
    with contextlib.suppress(MalformedSegmentError):
        received = unpack(cut, of).segment
        assert received.actions.min() >= 0 and received.actions.max() < A
        assert np.isfinite(received.rewards).all() and np.isfinite(received.mus).all()
        assert received.obs.shape == (N, T + 1, 5, S)


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda tail: MAGIC + tail))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(MalformedSegmentError, match="no segment of this run"):
        unpack(noise, layout())


@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(), st.lists, max_leaves=8),
    st.sampled_from(["source", "sequence", "version", "episodes", "arrays"]),
)
def test_any_value_in_a_header_is_read_or_refused(value: Any, name: str) -> None:
    of = layout()
    with contextlib.suppress(MalformedSegmentError):
        unpack(changed(packed(of), lambda header: header.update({name: value})), of)


def set_shape(header: Any) -> None:
    header["arrays"][2][2] = [N, T + 1]


def set_dtype(header: Any) -> None:
    header["arrays"][3][1] = "<f8"


def leave_out(header: Any) -> None:
    del header["arrays"][1]


def make_object(header: Any) -> None:
    header["arrays"][2][1] = "|O"


def enlarge_a_part(header: Any) -> None:
    header["arrays"][0][3][0] += 1


def end_elsewhere(header: Any) -> None:
    header["episodes"] = [[N, 1.0, 1, 0.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_shape, r"rewards are \(2, 4\) <f4; expected \(2, 3\) <f4"),
        (set_dtype, r"mus are \(2, 3, 4\) <f8; expected \(2, 3, 4\) <f4"),
        (make_object, r"rewards are \(2, 3\) \|O; expected"),
        (leave_out, "its arrays are"),
        (enlarge_a_part, "decompress"),
        (end_elsewhere, "it has an episode"),
    ],
)
def test_what_does_not_fit_is_named(change: Any, message: str) -> None:
    of = layout()
    with pytest.raises(MalformedSegmentError, match=message):
        unpack(changed(packed(of), change), of)


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("rewards", (0, 1), np.nan, "rewards hold a number that is not finite"),
        ("mus", (1, 1, 2), np.inf, "mus hold a number that is not finite"),
        ("actions", (1, 2), A, "actions hold a number outside of 0 to 3"),
        ("actions", (1, 2), -1, "actions hold a number outside of 0 to 3"),
    ],
)
def test_numbers_out_of_range_are_named(name: str, index: tuple[int, ...], value: float, message: str) -> None:
    of = layout()
    sent = segment(of)
    getattr(sent, name)[index] = value
    with pytest.raises(MalformedSegmentError, match=message):
        unpack(pack(HEADER, sent, STATE, [], of), of)


def test_what_is_no_bytes_is_refused() -> None:
    with pytest.raises(MalformedSegmentError, match="sent a Segment; expected bytes"):
        unpack(segment(layout()), layout())


@pytest.mark.parametrize(
    ("env_id", "continuous"), [("CartPole-v1", CONTINUOUS), ("Pendulum-v1", Continuous(learn_sigma=True))]
)
def test_the_layout_of_environments(env_id: str, continuous: Continuous) -> None:
    of = Layout.of(make_training_env(env_id, 2), Config(nsteps=4, replay_ratio=0), continuous, 6)
    is_box = env_id == "Pendulum-v1"
    assert of.fields["actions"] == (Field("<f4", (2, 4, 1)) if is_box else Field("<i8", (2, 4), 2))
    assert of.fields["mus"].shape == (2, 4, 2)
    assert "states" not in of.fields and of.fields["next_state"].shape == (2, 6), "not read, but needed to go on"
    assert (of.nenvs, of.nsteps, of.state_size, of.is_compressed) == (2, 4, 6, False)
    assert (of.action_masks is None) == is_box


def test_scrambled_stacks_cannot_be_sent() -> None:
    env = make_training_env("CartPole-v1", 1)
    env.keeps_frames = False
    with pytest.raises(InputError, match="whole_frames=True"):
        Layout.of(env, Config(nsteps=4), CONTINUOUS, 0)
