from typing import Any

import gymnasium
import numpy as np
import pytest

from acer_tf.envs.atari.pool import AtariPool
from acer_tf.envs.make import make_training_env, make_vec_env
from acer_tf.errors import EnvironmentFailedError, InputError
from tests.registered import registered


def test_atari_has_four_frames_of_the_pool() -> None:
    env = make_training_env("PongNoFrameskip-v4", 2, num_workers=0)
    pool = AtariPool("PongNoFrameskip-v4", 2, num_workers=0)
    assert isinstance(env.unwrapped, AtariPool)
    stacked, _ = env.reset(seed=5)
    frames, _ = pool.reset(seed=5)
    assert stacked.shape == env.observation_space.shape == (2, 84, 84, 4)
    assert stacked.dtype == np.uint8
    np.testing.assert_array_equal(stacked[..., 3:], frames)
    assert (stacked[..., :3] == 0).all()
    previous = frames.copy()
    stacked = env.step([2, 3])[0]
    np.testing.assert_array_equal(stacked[..., 2:], np.concatenate([previous, pool.step([2, 3])[0]], axis=-1))
    env.close()


def test_time_limit_reaches_the_games() -> None:
    env = make_training_env("PongNoFrameskip-v4", 1, num_workers=0, max_episode_frames=60)
    env.reset(seed=0)
    assert any(env.step([0])[3][0] for _ in range(16))


def test_other_environments_have_one_frame_and_gymnasiums_episode_statistics() -> None:
    env = make_training_env("CartPole-v1", 3)
    obs, _ = env.reset(seed=0)
    assert env.nstack == 1
    assert obs.shape == (3, 4) and obs.dtype == np.float32
    steps = np.zeros(3, int)
    for _ in range(30):
        obs, _, terminations, truncations, infos = env.step(np.ones(3, int))
        steps += 1
        done = terminations | truncations
        if done.any():
            np.testing.assert_array_equal(infos["_episode"], done)
            np.testing.assert_array_equal(infos["episode"]["l"], np.where(done, steps, 0))
            np.testing.assert_array_equal(infos["episode"]["r"], np.where(done, steps, 0))
            assert (np.abs(obs[done]) <= 0.05).all()  # already the start of the next episode
            steps[done] = 0
    assert done.shape == (3,)


def test_keeps_the_dtype_of_the_observations() -> None:
    class Doubles(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float64)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **kwargs: Any) -> Any:
            return np.array([1e-12, 1.0]), {}

    with registered("Doubles-v0", Doubles):
        obs, _ = make_training_env("Doubles-v0", 1).reset()
    assert obs.dtype == np.float64
    np.testing.assert_array_equal(obs, [[1e-12, 1.0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"env_id": "Breakot"}, "the nearest are BreakoutNoFrameskip-v4"),
        ({"env_id": "Pendulum-v1", "reward_scale": 0.0}, "reward_scale is 0.0; expected a finite number > 0"),
        ({"env_id": "Pendulum-v1", "reward_scale": float("nan")}, "reward_scale is nan"),
        ({"env_id": "PongNoFrameskip-v4", "normalize_observations": True}, "Atari games have their own wrappers"),
        ({"env_id": "PongNoFrameskip-v4", "normalize_rewards": True}, "Atari games have their own wrappers"),
        ({"env_id": "ALE/Breakout-v5"}, "use BreakoutNoFrameskip-v4"),
        ({"env_id": "json:Env-v0"}, "would import a module"),
        ({"num_env": 0}, "num_env is 0; expected a whole number >= 1"),
        ({"num_env": -3}, "num_env is -3; expected a whole number >= 1"),
        ({"num_env": 1.5}, "num_env is 1.5; expected a whole number >= 1"),
        ({"num_env": True}, "num_env is True; expected a whole number >= 1"),
        ({"num_env": "4"}, "num_env is '4'; expected a whole number >= 1"),
        ({"num_workers": -1}, "num_workers is -1; expected a whole number >= 0"),
        ({"max_episode_frames": -5}, "max_episode_frames is -5; expected a whole number >= 0"),
    ],
)
def test_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_training_env(**{"env_id": "CartPole-v1", "num_env": 1, **arguments})


def test_an_environment_is_no_id() -> None:
    with pytest.raises(InputError, match=r"^make_vec_env got an environment; expected an id, or a class or function"):
        make_vec_env(gymnasium.make("CartPole-v1"), 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [gymnasium.error.DependencyNotInstalled, ModuleNotFoundError])
def test_missing_packages_are_told(kind: type[Exception]) -> None:
    def entry_point() -> None:
        raise kind("pygame is not installed, run `pip install pygame`")

    message = r"environment 'NeedsMore-v0' cannot be made: .*pip install pygame"
    with registered("NeedsMore-v0", entry_point), pytest.raises(InputError, match=message):
        make_training_env("NeedsMore-v0", 1)


@pytest.mark.parametrize(
    ("error", "kwargs"),
    [(NotImplementedError(), {}), (RuntimeError("CUDA"), {}), (TypeError("can only concatenate str"), {"size": "abc"})],
)
def test_errors_of_the_environments_own_code_keep_their_traceback(error: Exception, kwargs: dict[str, str]) -> None:
    def make(size: str = "") -> gymnasium.Env[Any, Any]:
        raise error

    with pytest.raises(EnvironmentFailedError, match=f"^an environment raised {type(error).__name__}") as caught:
        make_vec_env(make, 1, env_kwargs=kwargs)
    assert caught.value.__cause__ is error


def test_whole_numbers_are_taken_in_any_form() -> None:
    assert make_vec_env("CartPole-v1", 2.0).num_envs == 2  # type: ignore[arg-type]
    env = make_vec_env("PongNoFrameskip-v4", 1, num_workers=0.0, max_episode_frames=1e5)  # type: ignore[arg-type]
    env.reset(seed=0)
    env.close()
