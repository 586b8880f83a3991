import ale_py  # noqa: F401
import gymnasium
import numpy as np
import pytest
from ale_py import roms
from numpy.typing import NDArray

from acer_tf.envs.atari.game import FRAME_SHAPE, AtariGame
from acer_tf.envs.ids import atari_game
from acer_tf.errors import InputError
from tests.envs.reference_wrappers import Reference

UNUSUAL_IDS = (  # screens of 250 and 214 lines; no FIRE; no NoFrameskip
    "AirRaidNoFrameskip-v4",
    "CarnivalNoFrameskip-v4",
    "TutankhamNoFrameskip-v4",
    "ALE/Surround-v5",
)
ALL_IDS = [env_id for env_id in gymnasium.registry if env_id.endswith("NoFrameskip-v4")] + ["ALE/Surround-v5"]


def blank() -> NDArray[np.uint8]:
    return np.full(FRAME_SHAPE, 7, np.uint8)


def first_frame(env: AtariGame) -> NDArray[np.uint8]:
    frame = blank()
    env.reset(frame)
    return frame


def noops_of(seed: int) -> int:
    """Returns how many NOOPs the first game of this seed begins with."""
    return int(np.random.default_rng(np.random.SeedSequence(seed).generate_state(2)[0]).integers(1, 31))


@pytest.mark.parametrize(
    ("env_id", "steps", "max_frames", "ends", "games"),
    [
        ("BreakoutNoFrameskip-v4", 400, 108_000, 8, 1),  # FIRE and lives
        ("MsPacmanNoFrameskip-v4", 350, 108_000, 1, 0),  # lives, no FIRE
        ("PongNoFrameskip-v4", 150, 108_000, 0, 0),  # no lives
        ("AmidarNoFrameskip-v4", 500, 108_000, 1, 0),  # reports 0 lives before its first frame
        ("BreakoutNoFrameskip-v4", 200, 301, 5, 2),  # the time limit ends games in mid-life
        ("PongNoFrameskip-v4", 60, 20, 5, 5),  # ... and within NOOPs, FIRE and the action after it
        ("FreewayNoFrameskip-v4", 60, 33, 5, 5),  # ... with neither FIRE nor lives
    ],
)
def test_equals_baselines_wrappers(env_id: str, steps: int, max_frames: int, ends: int, games: int) -> None:
    seed = 3
    reference = Reference(env_id, seed, max_frames)
    env = AtariGame(atari_game(env_id), seed, max_frames)
    frame = first_frame(env)
    np.testing.assert_array_equal(frame, reference.reset())
    env.reset(frame)  # baselines resets twice at the start
    np.testing.assert_array_equal(frame, reference.reset())

    random = np.random.default_rng(0)
    ended, own_games = 0, []
    for t in range(steps):
        action = int(random.integers(reference.action_count))
        expected_frame, expected_reward, done, info = reference.step(action)
        known = len(reference.games)
        step = env.step(action, frame)
        assert (step.reward, step.terminated or step.truncated) == (expected_reward, done), t
        if known > len(own_games):
            assert step.truncated == info["truncated"], t
        if done:
            ended += 1
            if not step.terminated:
                np.testing.assert_array_equal(frame, expected_frame, err_msg=f"last frame, step {t}")
            expected_frame = reference.reset()
            env.reset(frame)
        np.testing.assert_array_equal(frame, expected_frame, err_msg=f"step {t}")
        game = env.take_result()
        if game is not None:
            own_games.append(tuple(game))
            assert own_games[-1] == reference.games[-1], t
        else:
            assert len(reference.games) == known or max_frames < 100, t
    assert ended >= ends
    assert len(own_games) >= games


def test_writes_into_the_row_it_is_given() -> None:
    rows = np.full((3, *FRAME_SHAPE), 9, np.uint8)
    env = AtariGame("pong", 0)
    env.reset(rows[1])
    first = rows[1].copy()
    env.step(0, rows[1])
    assert (rows[[0, 2]] == 9).all()
    assert (first != 9).all() and first.std() > 0
    np.testing.assert_array_equal(first, first_frame(AtariGame("pong", 0)))


def test_a_step_that_is_terminated_leaves_the_frame_to_reset() -> None:
    env = AtariGame("breakout", 0)
    frame = first_frame(env)
    while not env.step(0, frame).terminated:
        frame[:] = 9
    assert (frame == 9).all()


def test_time_limit_counts_raw_frames_with_noops_and_fire() -> None:
    env = AtariGame("pong", 5, max_episode_frames=100)
    frame = first_frame(env)
    hidden = noops_of(5) + 8
    for _ in range((100 - hidden - 1) // 4):
        assert env.step(0, frame)[1:] == (False, False)
    assert env.step(0, frame)[1:] == (False, True)


@pytest.mark.parametrize("limit", [None, 0])
def test_no_time_limit(limit: int | None) -> None:
    env = AtariGame("freeway", 0, max_episode_frames=limit)
    frame = first_frame(env)
    assert not any(env.step(0, frame).truncated for _ in range(40))


def test_game_that_ends_in_the_hidden_step_after_a_lost_life_is_followed_by_a_new_game() -> None:
    seed = 1
    env, frame = AtariGame("breakout", seed), blank()
    env.reset(frame)
    steps = 1
    while not env.step(0, frame).terminated:
        steps += 1

    limit = noops_of(seed) + 8 + 4 * steps + 2  # two frames into the hidden NOOP
    env = AtariGame("breakout", seed, limit)
    env.reset(frame)
    for _ in range(steps - 1):
        assert env.step(0, frame)[1:] == (False, False)
    assert env.step(0, frame)[1:] == (True, False)
    assert env.take_result() is None
    env.reset(frame)
    game = env.take_result()
    assert game is not None
    assert game.l == 2 + steps + 1  # FIRE and action 2, the steps, the hidden NOOP
    assert env.take_result() is None

    further = 1
    while not any(env.step(0, frame)[1:]):
        further += 1
    assert further >= steps - 10  # it has all lives again and the ball must fall once more


def test_seed_decides_the_noops() -> None:
    frames = [first_frame(AtariGame("freeway", seed)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(frames[0], frames[1])
    assert (frames[0] != frames[2]).any()


def test_no_seed_takes_fresh_entropy() -> None:
    assert len({first_frame(AtariGame("freeway")).tobytes() for _ in range(5)}) > 1


def test_reward_is_the_sign_and_the_game_counts_the_score() -> None:
    env, frame = AtariGame("ms_pacman", 0, 1200), blank()
    env.reset(frame)
    rewards, truncated = [], False
    while not truncated:
        step = env.step(3, frame)
        rewards.append(step.reward)
        truncated = step.truncated
        if step.terminated:
            env.reset(frame)
    game = env.take_result()
    assert set(rewards) == {0.0, 1.0}
    assert game is not None
    assert game.r >= 10 * sum(rewards)  # a pill is worth 10 points


def test_unknown_game_names_the_nearest() -> None:
    with pytest.raises(InputError, match="game 'breakot' does not exist; the nearest are breakout"):
        AtariGame("breakot")


def test_game_without_noop_is_refused() -> None:
    with pytest.raises(InputError, match="first action of game 'backgammon' is not NOOP"):
        AtariGame("backgammon")


def test_there_are_62_ids_without_frameskip() -> None:
    assert len(ALL_IDS) == 63
    assert {atari_game(env_id) for env_id in ALL_IDS} <= set(roms.get_all_rom_ids())


@pytest.mark.parametrize(
    "env_id",
    [env_id if env_id in UNUSUAL_IDS else pytest.param(env_id, marks=pytest.mark.slow) for env_id in ALL_IDS],
)
def test_every_game_runs(env_id: str) -> None:
    env = AtariGame(atari_game(env_id), 0)
    frame = first_frame(env)
    random = np.random.default_rng(0)
    for _ in range(20):
        step = env.step(int(random.integers(len(env.action_meanings))), frame)
        assert step.reward in (-1.0, 0.0, 1.0)
        if step.terminated or step.truncated:
            env.reset(frame)
    assert frame.std() > 0
