"""The original's own ACER on CartPole, timed; `benchmarks.original` runs it in a process of its own.

baselines 0.1.5 runs as it is on TensorFlow's v1 layer and on gymnasium. Its ACER knows images only, so that an
observation is one pixel of which four are stacked: as many numbers as CartPole's, in the two layers of 64 units that
later releases give it.
"""

import json
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import tensorflow.compat.v1 as tf
from gymnasium import spaces

NENVS, NSTEPS, NSTACK = 4, 20, 4
WARM_UP_SECONDS = 2
ROUNDS = 9
CALLS_PER_ROUND = 100


class CartPoles:
    """Environments one after the other, as baselines' `DummyVecEnv`, which 0.1.5 cannot run on gymnasium."""

    observation_space = spaces.Box(0, 255, (1, 1, 1), np.uint8)
    action_space = spaces.Discrete(2)
    num_envs = NENVS
    remotes = (None,)  # the original takes as many threads

    def __init__(self) -> None:
        self._envs = [gymnasium.make("CartPole-v1", disable_env_checker=True) for _ in range(NENVS)]

    def reset(self) -> np.ndarray:
        """Starts new episodes."""
        for seed, env in enumerate(self._envs):
            env.reset(seed=seed)
        return np.zeros((NENVS, 1, 1, 1), np.uint8)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps each environment, and resets it where its episode ended."""
        obs, rewards = np.zeros((NENVS, 1, 1, 1), np.uint8), np.zeros(NENVS, np.float32)
        dones = np.zeros(NENVS, np.bool_)
        for i, (env, action) in enumerate(zip(self._envs, actions.tolist(), strict=True)):
            state, rewards[i], terminated, truncated, _ = env.step(action)
            dones[i] = terminated or truncated
            obs[i] = (env.reset()[0] if dones[i] else state)[2] > 0
        return obs, rewards, dones, {}


def import_original(folder: Path) -> tuple[types.ModuleType, types.ModuleType]:
    """Imports `acer_simple` and `a2c.utils`; TensorFlow's v1 layer and gymnasium stand in for what they import."""
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    common = types.ModuleType("baselines.common")  # the real one imports much that ACER does not use
    common.set_global_seeds = lambda seed: None  # type: ignore[attr-defined]
    sys.modules.update({"tensorflow": tf, "gym": gymnasium, "gym.spaces": spaces, "baselines.common": common})
    sys.path.insert(0, str(folder))
    from baselines.a2c import utils
    from baselines.acer import acer_simple

    return acer_simple, utils


def policy_class(utils: types.ModuleType) -> type:
    """Makes the class that the original's `Model` builds its networks with."""

    class MlpPolicy:
        def __init__(self, sess: Any, _: Any, ac_space: Any, nenv: int, nsteps: int, nstack: int, reuse: bool) -> None:
            rows = nenv * nsteps
            self.X = tf.placeholder(tf.uint8, [rows, 1, 1, nstack])
            with tf.variable_scope("model", reuse=reuse):
                hidden = tf.reshape(tf.cast(self.X, tf.float32), [rows, nstack])
                for name in ("fc1", "fc2"):
                    hidden = tf.tanh(utils.fc(hidden, name, 64, init_scale=np.sqrt(2)))
                logits = utils.fc(hidden, "pi", ac_space.n, init_scale=0.01)
                self.pi, self.q = tf.nn.softmax(logits), utils.fc(hidden, "q", ac_space.n)
            action = utils.sample(logits)
            self.initial_state: list[float] = []
            self.step = lambda ob, **_: (*sess.run([action, self.pi], {self.X: ob}), [])

    return MlpPolicy


def milliseconds(call: Callable[[], object]) -> float:
    """Measures a call; the median over the rounds."""
    call()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS_PER_ROUND):
            call()
        times.append(1e3 * (time.perf_counter() - start) / CALLS_PER_ROUND)
    return float(np.median(times))


def measure(folder: Path, seconds: float) -> dict[str, float]:
    """Measures a train call and the loop, at learn()'s defaults with replay active."""
    acer_simple, utils = import_original(folder)
    env = CartPoles()
    model = acer_simple.Model(
        policy_class(utils), env.observation_space, env.action_space, NENVS, NSTEPS, NSTACK, num_procs=1,
        ent_coef=0.01, q_coef=0.5, gamma=0.99, max_grad_norm=10, lr=7e-4, rprop_alpha=0.99, rprop_epsilon=1e-5,
        total_timesteps=80e6, lrschedule="linear", c=10.0, trust_region=True, alpha=0.99, delta=1,
    )  # fmt: skip
    buffer = acer_simple.Buffer(env=env, nsteps=NSTEPS, nstack=NSTACK)
    # What it stacks frames with takes numpy a while, and CartPole has none to stack: left out, in its favour.
    buffer.decode = lambda enc_obs, dones: np.zeros((NENVS, NSTEPS + 1, 1, 1, NSTACK), np.uint8)
    runner = acer_simple.Runner(env=env, model=model, nsteps=NSTEPS, nstack=NSTACK)
    acer = acer_simple.Acer(runner, model, buffer, log_interval=10**9)
    acer.tstart = time.time()

    def loop(until: float) -> int:
        steps = 0
        while time.perf_counter() < until:
            acer.steps = steps + 1  # never a multiple of its log_interval
            acer.call(on_policy=True)
            for _ in range(np.random.poisson(4)):
                acer.call(on_policy=False)
            steps += runner.nbatch
        return steps

    loop(time.perf_counter() + WARM_UP_SECONDS)
    start = time.perf_counter()
    steps_per_second = loop(start + seconds) / (time.perf_counter() - start)
    obs, actions, rewards, mus, dones, _ = (array.reshape(-1, *array.shape[2:]) for array in buffer.get())
    return {
        "train_call_ms": milliseconds(lambda: model.train(obs, actions, rewards, dones, mus, [], None, 0)),
        "env_steps_per_s": steps_per_second,
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), float(sys.argv[2]))))
