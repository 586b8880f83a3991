"""The whole loop with continuous actions."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.acer import TrainingLoop
from acer_tf.config import Config, Continuous
from acer_tf.envs.make import make_training_env
from acer_tf.errors import InputError
from acer_tf.learning import learn, make_model_and_loop
from acer_tf.logs.logger import Logger
from acer_tf.model import Model
from tests.agents import arrays, assert_same

SMALL = {"num_layers": 1, "num_hidden": 16}


class Approach(gymnasium.Env[Any, Any]):
    """A point moves by its action; the nearer to the origin, the better."""

    observation_space = Box(-np.inf, np.inf, (1,))
    action_space = Box(-2.0, 2.0, (1,))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.x, self.t = self.np_random.uniform(-1, 1), 0
        return np.array([self.x], np.float32), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        self.x, self.t = float(np.clip(self.x + 0.1 * action[0], -2, 2)), self.t + 1
        return np.array([self.x], np.float32), -(self.x**2), False, self.t == 20, {}


def approach(nenvs: int = 4) -> SyncVectorEnv:
    return SyncVectorEnv([Approach] * nenvs, autoreset_mode=AutoresetMode.SAME_STEP)


def quick(**kwargs: Any) -> Model:
    kwargs = {"total_timesteps": 800, "replay_start": 40, "buffer_size": 200, "logger": Logger(), "seed": 0} | kwargs
    return learn("mlp", approach(), **SMALL, **kwargs)


def test_runs_follow_from_the_seed() -> None:
    first, again = quick(), quick()
    assert_same(first, again)
    assert all(np.isfinite(array).all() for array in arrays(first).values())


@pytest.mark.parametrize(
    "kwargs",
    [
        {"continuous": Continuous(learn_sigma=True, num_samples=1), "value_network": "copy"},
        {"continuous": Continuous(dueling=False, use_q_opc=False), "correction": False, "q_lambda": 0.5},
        {"on_policy_updates": False, "trust_region": False, "c": 5},
    ],
)
def test_variants_run(kwargs: dict[str, Any]) -> None:
    model, plain = quick(total_timesteps=240, **kwargs), quick(total_timesteps=240)
    ours, theirs = arrays(model)["param/pi_head/kernel"], arrays(plain)["param/pi_head/kernel"]
    assert np.isfinite(ours).all() and model.updates > 0
    assert ours.shape != theirs.shape or (ours != theirs).any(), "it learns otherwise than without"


def test_an_unbounded_box_is_refused() -> None:
    class Unbounded(Approach):
        action_space = Box(-np.inf, np.inf, (1,))

    with pytest.raises(InputError, match="the action space is an unbounded Box"):
        learn("mlp", SyncVectorEnv([Unbounded], autoreset_mode=AutoresetMode.SAME_STEP), total_timesteps=100)


def test_it_learns_to_approach() -> None:
    model = learn(
        "mlp", approach(), seed=0, total_timesteps=10_000, gamma=0.95, c=5, lr=2e-3, lrschedule="constant",
        replay_start=100, replay_ratio=12, buffer_size=5000, value_network="copy", logger=Logger(), **SMALL,
    )  # fmt: skip
    x = np.array([[-1], [-0.5], [0.5], [1]], np.float32)
    means = model.act(x, model.initial_state(4), np.zeros(4, np.bool_)).mus[:, 0]
    assert (means[:2] > 0.1).all() and (means[2:] < -0.1).all()


def test_a_loaded_run_goes_on_to_the_bit() -> None:
    """Environments, what is normalised of them, actions and samples of the critic, all as they would have been."""
    config = Config(nsteps=5, total_timesteps=400, replay_start=10, buffer_size=50)

    def fresh() -> TrainingLoop:
        env = make_training_env("Pendulum-v1", 2, normalize_observations=True, normalize_rewards=True)
        return make_model_and_loop("mlp", env, 3, config, Logger(), **SMALL)

    first, second = fresh(), fresh()
    first.learn(lambda: first.steps >= 100)
    first.restart_environments(7, is_recorded=True)
    first.learn(lambda: first.steps >= 200)
    second.load_state_dict(first.state_dict())
    put = first.buffer.num_put
    second.buffer.load_rows(0, put, first.buffer.rows(0, put))
    for acer in (first, second):
        acer.learn(lambda acer=acer: acer.steps >= 300)  # type: ignore[misc]
    assert_same(first.model, second.model)
