import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acer_tf.buffer import Buffer, stack_obs
from acer_tf.config import CONTINUOUS, Config
from acer_tf.distributed.collector import Blueprint, Collected, Collector, NotBegunError, Signature
from acer_tf.envs.make import make_training_env
from acer_tf.replay.columns import CompressedFrames
from acer_tf.segment import Episode, Segment

N, T, S, A = 2, 3, 2, 4
EPISODES = [Episode(1, 2.5, 7, 0.5)]
CONFIG = Config(nsteps=T, replay_state="stored")


def segment(seed: int = 0, is_image: bool = True, has_masks: bool = False) -> Segment:
    rng = np.random.default_rng(seed)
    masks = rng.random((N, T + 1)) < 0.3
    frames = rng.integers(0, 256, (N, S + T, 5, 1)).astype(np.uint8 if is_image else np.float32)
    return Segment(
        enc_obs=frames,
        obs=stack_obs(frames, masks[:, 1:]),
        actions=rng.integers(0, A, (N, T)),
        rewards=rng.normal(size=(N, T)).astype(np.float32),
        mus=rng.random((N, T, A)).astype(np.float32),
        dones=masks[:, 1:],
        masks=masks,
        states=rng.normal(size=(N, 2)).astype(np.float32),
        final_values=rng.random((N, T)).astype(np.float32),
        action_masks=rng.random((N, T + 1, A)) < 0.5 if has_masks else (),
    )


@given(seed=st.integers(0, 1000), is_image=st.booleans(), reads_states=st.booleans(), has_masks=st.booleans())
def test_a_segment_arrives_as_it_was(seed: int, is_image: bool, reads_states: bool, has_masks: bool) -> None:
    sent = segment(seed, is_image, has_masks)
    config = CONFIG if reads_states else Config(nsteps=T)
    collected = pickle.loads(pickle.dumps(Collected.of(sent, EPISODES, config, is_image)))  # noqa: S301
    received = collected.whole_segment()
    assert collected.episodes == EPISODES
    for name in ("obs", "actions", "rewards", "mus", "dones", "masks", "action_masks"):
        ours, theirs = getattr(received, name), getattr(sent, name)
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
        assert name == "action_masks" or (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert received.states.shape == (N, 2 if reads_states else 0)
    assert received.final_values.shape == (N, 0), "not read, so not sent"
    assert isinstance(received.enc_obs, CompressedFrames) == is_image


def test_frames_travel_once_and_compressed() -> None:
    sent = segment()._replace(enc_obs=np.zeros((N, S + T, 84, 84, 1), np.uint8))
    size = len(pickle.dumps(Collected.of(sent, EPISODES, CONFIG, is_compressed=True)))
    assert size < 3000 < sent.enc_obs.nbytes / 20


def test_replay_stores_frames_as_they_come() -> None:
    sent = segment()
    received = Collected.of(sent, EPISODES, CONFIG, is_compressed=True).whole_segment()
    one, other = (Buffer(T, 4 * T, sent.enc_obs.shape, CONFIG.unread) for _ in range(2))
    one.put(sent)
    other.put(received)
    ours, theirs = one.rows(0, 1), other.rows(0, 1)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    parts = other.rows(0, 1)["enc_obs/parts"].tobytes()
    assert parts == b"".join(received.enc_obs.parts), "not compressed again"


def test_a_process_that_was_started_anew_collects_nothing() -> None:
    kwargs = {"num_layers": 1, "num_hidden": 4}
    make_env = lambda: make_training_env("CartPole-v1", 2)  # noqa: E731
    collector = Collector(Blueprint(make_env, "mlp", kwargs, Config(nsteps=T), CONTINUOUS))
    with pytest.raises(NotBegunError):
        collector.collect([])
    signature = collector.begin(3)
    assert pickle.loads(pickle.dumps(signature)) == Signature.of(make_env())  # noqa: S301
    _, _, actor = collector._parts or (None, None, None)
    assert actor is not None
    weights = [param.numpy() for param in actor.policy.params.values()]
    first = collector.collect(weights).segment
    collector.begin(3)
    again = collector.collect(weights).segment
    np.testing.assert_array_equal(first.actions, again.actions, err_msg="a seed decides actions")
    np.testing.assert_array_equal(first.enc_obs, again.enc_obs, err_msg="a seed decides episodes")
