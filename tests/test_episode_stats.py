from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from acer_tf.episode_stats import EpisodeStats

RECORDED = np.load(Path(__file__).parent / "golden" / "episode_stats.npz")


def test_episode_stats_equal_what_baselines_recorded() -> None:
    stats = EpisodeStats(RECORDED["rewards"].shape[1])
    for rewards, dones, expected in zip(
        *(RECORDED[k] for k in ("rewards", "dones", "mean_length_reward")), strict=True
    ):
        stats.feed(rewards, dones)
        np.testing.assert_allclose([stats.mean_length(), stats.mean_reward()], expected, atol=1e-6)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 12), st.floats(0, 1), st.integers(0, 2**32))
def test_episode_stats_equal_the_loop(nenvs: int, nsteps: int, feeds: int, ends: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    stats, running, finished = EpisodeStats(nenvs), [(0.0, 0)] * nenvs, [(0.0, 0)][:0]
    for _ in range(feeds):
        rewards = random.normal(size=(nenvs, nsteps)).astype(np.float32)
        dones = random.random((nenvs, nsteps)) < ends
        stats.feed(rewards, dones)
        for env, t in np.ndindex(nenvs, nsteps):
            running[env] = (running[env][0] + float(rewards[env, t]), running[env][1] + 1)
            if dones[env, t]:
                finished.append(running[env])
                running[env] = (0.0, 0)
        returns, lengths = zip(*finished[-40:], strict=True) if finished else ((0,), (0,))
        np.testing.assert_allclose(stats.mean_reward(), np.mean(returns), atol=1e-6)
        np.testing.assert_allclose(stats.mean_length(), np.mean(lengths))


def test_a_loaded_state_takes_the_place_of_what_was_there() -> None:
    ours, theirs = EpisodeStats(2), EpisodeStats(2)
    for stats, reward, number in ((ours, 1, 3), (theirs, 5, 2)):
        stats.feed(np.full((2, number), reward, np.float32), np.ones((2, number), np.bool_))
    theirs.load_state_dict(ours.state_dict())
    assert (theirs.mean_reward(), theirs.mean_length()) == (1, 1)
    assert len(theirs.state_dict()["last_returns"]) == len(theirs.state_dict()["last_lengths"]) == 6
