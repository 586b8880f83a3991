"""Times the original's ACER on an environment; `benchmarks.original` runs it in another process.

baselines 0.1.5 runs as it is on TensorFlow's v1 layer and on gymnasium. Its ACER knows images only, so that an
observation of CartPole is one pixel of which four are stacked: as many numbers as CartPole's, in the two layers of 64
units that later releases give it. MinAtar has the network `cnn_minatar` out of the original's own layers, Breakout the
original's own network. The games are this package's, which emulate what its wrappers do.
"""

import json
import sys
import time
import types
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import tensorflow.compat.v1 as tf
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from acer_tf.envs.conventions import environment_seeds, reported_episodes
from acer_tf.envs.make import make_vec_env

NSTEPS = 20
SLOTS = 50
"""Segments in replay, as more would only take memory."""
WARM_UP_SECONDS = 2
ROUNDS = 9
ROUND_SECONDS = 0.3
"""Shortest duration of a round of train calls."""

Episode = tuple[int, float]
"""Agent steps of all environments at an episode's end, and its return."""
Torso = Callable[[types.ModuleType, Any], Any]
"""Makes features of images from layers in the original's `utils`."""


class CartPoles:
    """Steps environments one after the other, like baselines' `DummyVecEnv`, which 0.1.5 cannot run on gymnasium."""

    observation_space = spaces.Box(0, 255, (1, 1, 1), np.uint8)
    action_space = spaces.Discrete(2)
    remotes = (None,)  # the original uses as many threads

    def __init__(self, num_env: int) -> None:
        """Makes the environments."""
        self.num_envs = num_env
        self._envs = [gymnasium.make("CartPole-v1", disable_env_checker=True) for _ in range(num_env)]

    def reset(self) -> np.ndarray:
        """Starts new episodes."""
        for seed, env in enumerate(self._envs):
            env.reset(seed=seed)
        return np.zeros((self.num_envs, 1, 1, 1), np.uint8)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps each environment, and resets it where its episode ended."""
        obs, rewards = np.zeros((self.num_envs, 1, 1, 1), np.uint8), np.zeros(self.num_envs, np.float32)
        dones = np.zeros(self.num_envs, np.bool_)
        for i, (env, action) in enumerate(zip(self._envs, actions.tolist(), strict=True)):
            state, rewards[i], terminated, truncated, _ = env.step(action)
            dones[i] = terminated or truncated
            obs[i] = (env.reset()[0] if dones[i] else state)[2] > 0
        return obs, rewards, dones, {}

    def close(self) -> None:
        """Ends them."""
        for env in self._envs:
            env.close()


class Games:
    """This package's environments, as the original's vector environment, which stacks frames itself.

    Attributes:
        steps: agent steps of all environments.
        episodes: those that have ended, where the environments report them.
    """

    def __init__(self, env: VectorEnv, seed: int, processes: int) -> None:
        """Takes the environments; the original takes as many threads as it believes there are processes."""
        self._env, self._seed = env, seed
        self.num_envs, self.remotes = env.num_envs, (None,) * processes
        self.observation_space, self.action_space = env.single_observation_space, env.single_action_space
        self.steps, self.episodes = 0, list[Episode]()

    def reset(self) -> np.ndarray:
        """Starts new episodes."""
        return np.asarray(self._env.reset(seed=environment_seeds(self._env, self._seed))[0])

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps the games."""
        obs, rewards, terminations, truncations, infos = self._env.step(actions)
        self.steps += self.num_envs
        self.episodes += [(self.steps, score) for _, score, _ in reported_episodes(infos)]
        return obs, rewards, terminations | truncations, infos

    def close(self) -> None:
        """Ends them."""
        self._env.close()


def import_original(folder: Path) -> types.SimpleNamespace:
    """Imports `acer_simple`, `policies` and `a2c.utils`; others stand in for what they import and ACER does not use."""
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    common = types.ModuleType("baselines.common")  # the real ones import much that ACER does not use
    common.set_global_seeds = lambda seed: None  # type: ignore[attr-defined]
    distributions = types.ModuleType("baselines.common.distributions")
    distributions.make_pdtype = None  # type: ignore[attr-defined]
    sys.modules.update(
        {
            "tensorflow": tf,
            "gym": gymnasium,
            "gym.spaces": spaces,
            "baselines.common": common,
            "baselines.common.distributions": distributions,
        }
    )
    sys.path.insert(0, str(folder))
    from baselines.a2c import utils
    from baselines.acer import acer_simple, policies

    return types.SimpleNamespace(acer_simple=acer_simple, policies=policies, utils=utils)


def mlp(utils: types.ModuleType, images: Any) -> Any:
    """Returns the features of `mlp`, two layers of 64 units."""
    hidden = tf.reshape(tf.cast(images, tf.float32), [images.shape[0], -1])
    for name in ("fc1", "fc2"):
        hidden = tf.tanh(utils.fc(hidden, name, 64, init_scale=np.sqrt(2)))
    return hidden


def cnn_minatar(utils: types.ModuleType, images: Any) -> Any:
    """Returns the features of `cnn_minatar`."""
    hidden, gain = tf.cast(images, tf.float32) / 255.0, np.sqrt(2)
    hidden = tf.nn.relu(utils.conv(hidden, "c1", nf=16, rf=3, stride=1, init_scale=gain))
    flat = tf.reshape(hidden, [images.shape[0], int(np.prod(hidden.shape[1:]))])
    return tf.nn.relu(utils.fc(flat, "fc1", 128, init_scale=gain))


def policy_class(utils: types.ModuleType, torso: Torso) -> type:
    """Makes the class that the original's `Model` builds its networks with."""

    class Policy:
        def __init__(self, sess: Any, ob: Any, ac_space: Any, nenv: int, nsteps: int, nstack: int, reuse: bool) -> None:
            *size, channels = ob.shape
            self.X = tf.placeholder(tf.uint8, [nenv * nsteps, *size, channels * nstack])
            with tf.variable_scope("model", reuse=reuse):
                hidden = torso(utils, self.X)
                logits = utils.fc(hidden, "pi", ac_space.n, init_scale=0.01)
                self.pi, self.q = tf.nn.softmax(logits), utils.fc(hidden, "q", ac_space.n)
            action = utils.sample(logits)
            self.initial_state: list[float] = []
            self.step = lambda obs, **_: (*sess.run([action, self.pi], {self.X: obs}), [])

    return Policy


def unstacked(buffer: Any, enc_obs: np.ndarray, dones: np.ndarray) -> np.ndarray:
    """Takes the place of the method of the original's `Buffer` that knows stacks of four frames only."""
    return enc_obs


def milliseconds(call: Callable[[], object]) -> float:
    """Measures a call; the median over the rounds."""
    call()
    start = time.perf_counter()
    call()
    calls = max(1, round(ROUND_SECONDS / (time.perf_counter() - start)))
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append(1e3 * (time.perf_counter() - start) / calls)
    return float(np.median(times))


def timed(owner: Any, method: str, spent: dict[str, float], part: str) -> None:
    """Sums up the time that a method takes from here on."""
    original = getattr(owner, method)

    def call(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            spent[part] += time.perf_counter() - start

    setattr(owner, method, call)


def make(original: types.SimpleNamespace, env_id: str, num_env: int, threads: int | None) -> Any:
    """Makes the original's `Acer` at learn()'s defaults.

    Args:
        original: its modules.
        env_id: environment id.
        num_env: environments.
        threads: of TensorFlow; None takes as many as the original does.
    """
    simple = original.acer_simple
    env: CartPoles | Games
    nstack = 1 if env_id.startswith("MinAtar/") else 4
    if env_id == "CartPole-v1":
        env, policy = CartPoles(num_env), policy_class(original.utils, mlp)
        # What it stacks frames with takes numpy a while, and CartPole has none to stack: left out, in its favour.
        simple.Buffer.decode = lambda *_: np.zeros((num_env, NSTEPS + 1, 1, 1, nstack), np.uint8)
    else:
        env, policy = Games(make_vec_env(env_id, num_env).unwrapped, 0, num_env), original.policies.AcerCnnPolicy
        if nstack == 1:
            policy = policy_class(original.utils, cnn_minatar)
            simple.Buffer.decode = unstacked
    model = simple.Model(
        policy, env.observation_space, env.action_space, num_env, NSTEPS, nstack, num_procs=threads or len(env.remotes),
        ent_coef=0.01, q_coef=0.5, gamma=0.99, max_grad_norm=10, lr=7e-4, rprop_alpha=0.99, rprop_epsilon=1e-5,
        total_timesteps=80e6, lrschedule="linear", c=10.0, trust_region=True, alpha=0.99, delta=1,
    )  # fmt: skip
    buffer = simple.Buffer(env=env, nsteps=NSTEPS, nstack=nstack, size=SLOTS * NSTEPS)
    runner = simple.Runner(env=env, model=model, nsteps=NSTEPS, nstack=nstack)
    acer = simple.Acer(runner, model, buffer, log_interval=10**9)
    acer.tstart = time.time()
    return acer


def train(acer: Any, seconds: float) -> float:
    """Trains for a while, with replay; returns agent steps per second."""
    steps, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        acer.steps = steps + 1  # never a multiple of its log_interval
        acer.call(on_policy=True)
        for _ in range(4):  # the mean of its Poisson draws, as in `benchmarks.loop`
            acer.call(on_policy=False)
        steps += acer.runner.nbatch
    return steps / elapsed


def measure(folder: Path, env_id: str, num_env: int, seconds: float, threads: int | None) -> dict[str, Any]:
    """Measures a train call and the loop.

    Args:
        folder: where baselines 0.1.5 was unpacked.
        env_id: environment id.
        num_env: environments.
        seconds: how long the loop runs.
        threads: as of `make`.
    """
    acer = make(import_original(folder), env_id, num_env, threads)
    model, buffer = acer.model, acer.buffer
    train(acer, WARM_UP_SECONDS)
    spent: dict[str, float] = defaultdict(float)
    parts = ((acer.runner.env, "step", "emulation"), (model, "step", "acting"), (model, "train", "training"))
    for owner, method, part in (*parts, (buffer, "put", "replay"), (buffer, "get", "replay")):
        timed(owner, method, spent, part)
    start = time.perf_counter()
    speed = train(acer, seconds)
    elapsed = time.perf_counter() - start
    share = {part: value / elapsed for part, value in spent.items()}
    acer.runner.env.close()
    obs, actions, rewards, mus, dones, masks = (array.reshape(-1, *array.shape[2:]) for array in buffer.get())
    return {
        "train_call_ms": milliseconds(lambda: model.train(obs, actions, rewards, dones, mus, [], masks, 0)),
        "env_steps_per_s": speed,
        "share": share | {"rest": 1 - sum(share.values())},
    }


def main(argv: list[str]) -> None:
    """Prints the numbers as JSON; arguments: baselines' folder, environment id, environments, seconds, threads or 0."""
    folder, env_id, num_env, seconds, threads = argv
    print(json.dumps(measure(Path(folder), env_id, int(num_env), float(seconds), int(threads) or None)))


if __name__ == "__main__":
    main(sys.argv[1:])
