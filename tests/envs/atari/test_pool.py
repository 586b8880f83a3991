import errno
import itertools
import multiprocessing
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import cv2
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from acer_tf.envs.atari.game import AtariGame
from acer_tf.envs.atari.games import Games
from acer_tf.envs.atari.pool import AtariPool, frames_per_step, next_seed
from acer_tf.envs.atari.workers import Workers
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import InputError
from tests.counter import counters
from tests.envs.reference_wrappers import Reference

PONG = "PongNoFrameskip-v4"


@pytest.fixture(scope="module")
def pong() -> Iterator[AtariPool]:
    pool = AtariPool(PONG, 3, num_workers=0)
    pool.reset(seed=0)
    yield pool
    pool.close()


def record(num_workers: int) -> dict[str, Any]:
    """Plays Breakout with games so short that all kinds of ends occur, then starts again with another seed."""
    pool = AtariPool("BreakoutNoFrameskip-v4", 4, num_workers=num_workers, max_episode_frames=240)
    random = np.random.default_rng(0)
    columns: dict[str, list[Any]] = {name: [] for name in ("obs", "rewards", "terminations", "truncations", "r", "l")}
    no_game = {"r": np.full(4, -1.0), "l": np.full(4, -1)}
    try:
        for seed, steps in ((1, 0), (None, 70), (8, 5)):
            columns["obs"].append(pool.reset(seed=seed)[0].copy())
            for _ in range(steps):
                obs, *rest, infos = pool.step(random.integers(0, 4, 4))
                game = infos.get("episode", no_game)
                for column, value in zip(columns.values(), (obs.copy(), *rest, game["r"], game["l"]), strict=True):
                    column.append(value)
    finally:
        pool.close()
    return {name: np.stack(column) for name, column in columns.items()}


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    runs = [record(num_workers) for num_workers in (0, 1, 3)]
    assert runs[0]["terminations"].any() and runs[0]["truncations"].any() and (runs[0]["l"] > 0).any()
    assert (runs[0]["rewards"] == 1).any()
    for run, name in itertools.product(runs[1:], runs[0]):
        np.testing.assert_array_equal(run[name], runs[0][name], err_msg=name)


def test_every_environment_has_its_own_stream_whatever_their_number() -> None:
    first = AtariPool(PONG, 2, num_workers=0).reset(seed=1)[0]
    second = AtariPool(PONG, 4, num_workers=0).reset(seed=1)[0]
    np.testing.assert_array_equal(first, second[:2])
    assert len({frame.tobytes() for frame in second}) > 1


def test_reset_with_a_seed_starts_the_same_games_again(pong: AtariPool) -> None:
    first = pong.reset(seed=3)[0].copy()
    second = pong.reset()[0].copy()
    np.testing.assert_array_equal(pong.reset(seed=3)[0], first)
    np.testing.assert_array_equal(pong.reset()[0], second)
    np.testing.assert_array_equal(AtariPool(PONG, 3, num_workers=0).reset(seed=3)[0], first)
    assert (first != second).any()
    assert (pong.reset(seed=4)[0] != first).any()


def test_nothing_is_started_before_the_first_reset() -> None:
    pool = AtariPool(PONG, 2, num_workers=2)
    assert multiprocessing.active_children() == []
    pool.close()


def test_describes_itself_as_gymnasium_wants(pong: AtariPool) -> None:
    assert pong.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert pong.num_envs == 3
    assert pong.single_action_space.n == len(pong.action_names) == 6
    assert pong.action_space.shape == (3,)
    assert pong.single_observation_space.shape == (84, 84, 1)
    obs, infos = pong.reset()
    assert infos == {}
    assert pong.observation_space.contains(obs)
    obs, rewards, terminations, truncations, infos = pong.step(np.zeros(3, np.int32))
    assert [a.dtype for a in (obs, rewards, terminations, truncations)] == [np.uint8, np.float32, np.bool_, np.bool_]
    assert [a.shape for a in (rewards, terminations, truncations)] == [(3,)] * 3
    assert infos == {}


def test_observations_are_a_read_only_view_and_the_rest_is_not_shared(pong: AtariPool) -> None:
    obs, _ = pong.reset()
    before = obs.copy()
    _, rewards, terminations, _, _ = pong.step([0, 0, 0])
    assert (obs != before).any()
    with pytest.raises(ValueError, match="read-only"):
        obs[0] = 0
    rewards += 5
    terminations |= True
    _, rewards, terminations, _, _ = pong.step([0, 0, 0])
    assert (rewards <= 1).all() and not terminations.any()


def test_whole_games_are_reported_where_they_ended() -> None:
    pool = AtariPool("FreewayNoFrameskip-v4", 3, num_workers=0, max_episode_frames=60)
    pool.reset(seed=0)
    lengths, clock = np.zeros(3, np.int64), 0.0
    reported = np.zeros(3, np.int64)
    for _ in range(40):
        _, _, terminations, truncations, infos = pool.step([1, 1, 1])
        lengths += 1
        done = terminations | truncations
        assert bool(infos) == done.any()
        if infos:
            episode = infos["episode"]
            np.testing.assert_array_equal(infos["_episode"], done)
            np.testing.assert_array_equal(episode["l"], np.where(done, lengths, 0))
            assert [episode[key].dtype for key in "rlt"] == [np.float64, np.int64, np.float64]
            assert (episode["t"][done] > clock).all() and (episode["t"][~done] == 0).all()
            clock = episode["t"].max()
            reported += done
            lengths[done] = 0
    assert (reported >= 2).all()


def test_games_equal_those_of_baselines_monitor() -> None:
    pool = AtariPool("BreakoutNoFrameskip-v4", 2, num_workers=0, max_episode_frames=700)
    seeds = np.random.SeedSequence(7).generate_state(2, np.uint64)
    references = [Reference("BreakoutNoFrameskip-v4", int(seed), 700) for seed in seeds]
    pool.reset(seed=7)
    for reference in references:
        reference.reset()
    games: list[list[tuple[float, int]]] = [[], []]
    for actions in np.random.default_rng(0).integers(0, 4, (180, 2)):
        infos = pool.step(actions)[4]
        for i, (reference, action) in enumerate(zip(references, actions.tolist(), strict=True)):
            if reference.step(action)[2]:
                reference.reset()
            if infos and infos["_episode"][i]:
                games[i].append((infos["episode"]["r"][i], infos["episode"]["l"][i]))
    assert games == [reference.games for reference in references]
    assert max(score for score, _ in games[0] + games[1]) >= 1


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 6, 0], "action 6 of environment 1 does not exist; expected 0 to 5"),
        ([0, 0, -1], "action -1 of environment 2 does not exist; expected 0 to 5"),
        ([2**40, 0, 0], "action 1099511627776 of environment 0"),
        ([0, 0], r"shape \(2,\) .* expected whole numbers of shape \(3,\)"),
        ([[0, 0, 0]], r"shape \(1, 3\)"),
        (0, r"shape \(\)"),
        ([0.0, 1.0, 2.0], "type float64; expected whole numbers"),
        ([True, False, True], "type bool; expected whole numbers"),
        (None, "type object; expected whole numbers"),
    ],
)
def test_bad_actions_are_refused_and_change_nothing(pong: AtariPool, actions: Any, message: str) -> None:
    obs, _ = pong.reset()
    before = obs.copy()
    with pytest.raises(InputError, match=message):
        pong.step(actions)
    np.testing.assert_array_equal(obs, before)
    pong.step([0, 0, 0])


def test_unknown_ids_and_other_environments_are_refused() -> None:
    with pytest.raises(InputError, match="'PongNoFrameskip-v7' does not exist; the nearest are PongNoFrameskip-v4"):
        AtariPool("PongNoFrameskip-v7", 1)
    with pytest.raises(InputError, match="environment 'CartPole-v1' is not an Atari game"):
        AtariPool("CartPole-v1", 1)


def test_needs_a_reset_first() -> None:
    with pytest.raises(RuntimeError, match="reset must be called first"):
        AtariPool(PONG, 1, num_workers=0).step([0])


@pytest.mark.parametrize("num_workers", [0, 1])
def test_close_twice_and_use_after_close(num_workers: int) -> None:
    pool = AtariPool(PONG, 1, num_workers=num_workers)
    obs, _ = pool.reset()
    pool.step([0])
    pool.close()
    pool.close()
    assert obs.std() > 0  # the view outlives the pool
    for call in (pool.reset, lambda: pool.step([0])):
        with pytest.raises(RuntimeError, match="it is closed"):
            call()


def test_workers_that_were_started_early_serve_the_first_reset() -> None:
    pool, others = AtariPool(PONG, 2, num_workers=2), set(multiprocessing.active_children())
    pool.start_workers()
    started = set(multiprocessing.active_children()) - others
    assert len(started) == 2
    pool.start_workers()
    pool.reset(seed=0)
    assert set(multiprocessing.active_children()) - others == started
    pool.close()
    with pytest.raises(RuntimeError, match="it is closed"):
        pool.start_workers()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_after_an_interrupt_a_reset_begins_anew(num_workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = AtariPool(PONG, 2, num_workers=num_workers)
    first, _ = pool.reset(seed=3)
    first = first.copy()
    with monkeypatch.context() as patch:
        patch.setattr(*((Workers, "send") if num_workers else (Games, "step")), interrupt)
        with pytest.raises(KeyboardInterrupt):
            pool.step([0, 0])
    with pytest.raises(RuntimeError, match="reset must be called first"):
        pool.step([0, 0])
    np.testing.assert_array_equal(pool.reset(seed=3)[0], first)
    pool.step([0, 0])
    pool.close()


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_equals_single_games_with_the_derived_seeds(pong: AtariPool) -> None:
    obs, _ = pong.reset(seed=11)
    for frame, seed in zip(obs, np.random.SeedSequence(11).generate_state(3, np.uint64), strict=True):
        expected = np.empty_like(frame)
        AtariGame("pong", int(seed)).reset(expected)
        np.testing.assert_array_equal(frame, expected)


def test_screens_are_what_the_frames_are_made_of() -> None:
    pool = AtariPool("BreakoutNoFrameskip-v4", 2, num_workers=2, render_mode="rgb_array")
    with pytest.raises(RuntimeError, match="reset must be called before render"):
        pool.render()
    pool.reset(seed=0)
    for _ in range(3):
        frames, *_ = pool.step([1, 0])
    screens = pool.render()
    assert screens is not None and len(screens) == 2
    for screen, frame in zip(screens, frames, strict=True):
        assert screen.shape == (210, 160, 3) and screen.dtype == np.uint8
        gray = cv2.resize(cv2.cvtColor(screen, cv2.COLOR_RGB2GRAY), (84, 84), interpolation=cv2.INTER_AREA)
        np.testing.assert_array_equal(gray, frame[..., 0])
    pool.close()


def test_without_the_mode_nothing_is_rendered(pong: AtariPool) -> None:
    assert pong.render() is None


@pytest.mark.parametrize("num_workers", [0, 2])
def test_last_frames_of_games_that_the_limit_cut(num_workers: int) -> None:
    seed, steps = 4, 100
    pool = AtariPool("BreakoutNoFrameskip-v4", 3, num_workers=num_workers, max_episode_frames=120)
    pool.reset(seed=seed)
    seeds = np.random.SeedSequence(seed).generate_state(3, np.uint64)
    alone = [AtariGame("breakout", int(each), 120) for each in seeds]
    frames = np.zeros((3, 84, 84, 1), np.uint8)
    for env, frame in zip(alone, frames, strict=True):
        env.reset(frame)
    cuts = 0
    for t in range(steps):
        *_, terminations, truncations, infos = pool.step([t % 4] * 3)
        own = [env.step(t % 4, frame) for env, frame in zip(alone, frames, strict=True)]
        cut = truncations & ~terminations
        assert ("final_obs" in infos) == cut.any()
        for i in range(3):
            if cut[i]:
                np.testing.assert_array_equal(infos["final_obs"][i], frames[i])
                assert infos["_final_obs"][i] and frames[i].std() > 0
                cuts += 1
            elif cut.any():
                assert infos["final_obs"][i] is None and not infos["_final_obs"][i]
            if own[i].terminated or own[i].truncated:
                alone[i].reset(frames[i])
    pool.close()
    assert cuts >= 3


def test_frames_of_a_step_are_known_of_games_only(pong: AtariPool) -> None:
    assert frames_per_step(pong) == frames_per_step(FrameStack(pong, 4)) == 4
    assert frames_per_step(counters(1)) is None


def test_lost_games_get_seeds_of_their_own() -> None:
    seeds = np.random.SeedSequence(0).generate_state(16, np.uint64).tolist()
    for _ in range(10):
        seeds += [next_seed(seed) for seed in seeds[-16:]]
    assert len(set(seeds)) == 16 * 11
    assert next_seed(5) == next_seed(5)


def test_shared_memory_that_cannot_be_made_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Mock(side_effect=OSError(errno.EROFS, "Read-only file system", "/dev/shm/x"))
    monkeypatch.setattr("acer_tf.envs.atari.games.RawArray", refused)
    with pytest.raises(
        InputError, match=r"for 2 games cannot be made \(.*Read-only file system.*; free some shared memory\.$"
    ):
        AtariPool(PONG, 2)
