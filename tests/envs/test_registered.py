import contextlib
import sys

import gymnasium
import numpy as np
import pytest
from minatar import Environment
from minatar.gym import BaseEnv

from acer_tf.config import Config
from acer_tf.configs.presets import load_preset
from acer_tf.envs.conventions import environment_seeds
from acer_tf.envs.make import make_training_env, make_vec_env
from acer_tf.envs.registered import GAMES, MinAtar
from acer_tf.errors import InputError

IDS = [f"MinAtar/{name}-v1" for name in ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")]


@pytest.mark.parametrize(("env_id", "game"), [*zip(IDS, GAMES, strict=True)])
def test_plays_the_packages_game_step_for_step(env_id: str, game: str) -> None:
    seeds = np.random.SeedSequence(5).generate_state(8)
    raw = Environment(game, sticky_action_prob=0.1, difficulty_ramping=True)
    raw.seed(seeds[3])
    raw.reset()
    actions = raw.minimal_action_set()
    with contextlib.closing(make_training_env(env_id, 8)) as env:
        assert env.observation_space.shape == (8, *raw.state_shape())
        assert env.single_action_space == gymnasium.spaces.Discrete(len(actions))
        obs, _ = env.reset(seed=environment_seeds(env, 5))
        ends = 0
        for chosen in np.random.default_rng(0).integers(len(actions), size=(600, 8)):
            assert obs.dtype == np.uint8
            np.testing.assert_array_equal(obs[3], 255 * raw.state().astype(int))
            obs, rewards, terminations, truncations, _ = env.step(chosen)
            reward, done = raw.act(actions[chosen[3]])
            assert (rewards[3], terminations[3], truncations[3]) == (reward, done, False)
            if done:
                raw.reset()
                ends += 1
    assert ends or game == "freeway"  # lasts 2,500 steps


def test_a_seed_determines_an_episode_whatever_was_played_before() -> None:
    """The package keeps the last action, which sticks, over resets."""
    fresh, used = (MinAtar("breakout") for _ in range(2))
    used.reset(seed=0)
    for action in (1, 2, 1, 2, 2):
        used.step(np.int64(action))
    for seed in range(40):  # of which a tenth begin with the action before
        shown = [env.reset(seed=seed)[0] for env in (fresh, used)]
        shown += [env.step(np.int64(0))[0] for env in (fresh, used)]
        np.testing.assert_array_equal(shown[2], shown[3])
        used.step(np.int64(2))
        fresh.step(np.int64(1))


def test_an_episode_is_cut_after_5000_steps_and_that_is_an_end() -> None:
    for env_id in IDS:
        assert gymnasium.spec(env_id).max_episode_steps == 5000
    env = gymnasium.make(IDS[2], max_episode_steps=4)
    env.reset(seed=0)
    assert [env.step(0)[2:4] for _ in range(4)] == [(False, False)] * 3 + [(False, True)]
    assert not Config().bootstrap_truncated  # a cut episode has no value beyond its end


def test_draws_the_packages_colours() -> None:
    with contextlib.closing(make_vec_env("MinAtar/Breakout-v1", 1, render_mode="rgb_array")) as env:
        env.reset(seed=[3])
        (image,) = env.render() or ()
    assert image.shape == (320, 320, 3) and image.dtype == np.uint8
    cells = image[16::32, 16::32]
    np.testing.assert_array_equal(image, cells.repeat(32, axis=0).repeat(32, axis=1))
    package = BaseEnv("breakout", render_mode="rgb_array")
    package.seed(3)
    package.reset()
    np.testing.assert_allclose(cells / 255, package.render(), atol=0.5 / 255)


def test_names_of_the_actions() -> None:
    assert MinAtar("breakout").get_action_meanings() == ["NOOP", "LEFT", "RIGHT"]
    assert MinAtar("seaquest").get_action_meanings() == ["NOOP", "LEFT", "UP", "RIGHT", "DOWN", "FIRE"]


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minatar", None)
    with pytest.raises(InputError, match=r'needs minatar; install it with: pip install -e "\.\[minatar\]"\.'):
        make_vec_env("MinAtar/Breakout-v1", 1)


def test_the_preset_was_searched_for_all_five_games() -> None:
    preset = load_preset("minatar")
    assert preset.command == {"env": "MinAtar/Breakout-v1", "num_env": 8, "network": "cnn_minatar"}
    config = Config(**preset.config)
    assert (config.nsteps, config.replay_ratio, config.buffer_size, config.replay_start) == (20, 4, 100_000, 2_000)
    assert (config.optimizer, config.lr, config.lrschedule) == ("adam", 0.003, "linear")


def test_shows_the_positions_of_cartpole_and_nothing_else() -> None:
    masked, whole = gymnasium.make("MaskedCartPole-v1"), gymnasium.make("CartPole-v1")
    np.testing.assert_array_equal(masked.reset(seed=3)[0], whole.reset(seed=3)[0][[0, 2]])
    done = False
    while not done:
        obs, *outcome, _ = masked.step(1)
        expected, *expected_outcome, _ = whole.step(1)
        np.testing.assert_array_equal(obs, expected[[0, 2]])
        assert masked.observation_space.contains(obs)
        assert outcome == expected_outcome
        done = outcome[1]
    assert masked.spec is not None
    assert (masked.spec.max_episode_steps, masked.spec.reward_threshold) == (500, 475.0)


def test_commands_can_name_it() -> None:
    with contextlib.closing(make_training_env("MaskedCartPole-v1", 2)) as env:
        assert env.reset(seed=0)[0].shape == (2, 2)
