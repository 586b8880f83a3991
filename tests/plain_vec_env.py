"""A vector environment with the methods of Stable Baselines', where that package is not installed."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np


class PlainVecEnv:
    """Steps environments one after the other; it has only what each of Stable Baselines' vector environments has."""

    def __init__(self, make: Sequence[Callable[[], gymnasium.Env[Any, Any]]]) -> None:
        self.envs = [one() for one in make]
        self.num_envs = len(self.envs)
        self.observation_space, self.action_space = self.envs[0].observation_space, self.envs[0].action_space
        self.seeds: list[int | None] = [None] * self.num_envs
        self.is_closed = False

    def seed(self, seed: int) -> None:
        self.seeds = [seed + i for i in range(self.num_envs)]

    def reset(self) -> Any:
        seeds, self.seeds = self.seeds, [None] * self.num_envs
        return np.stack([env.reset(seed=seed)[0] for env, seed in zip(self.envs, seeds, strict=True)])

    def step_async(self, actions: Any) -> None:
        self.actions = actions

    def step_wait(self) -> Any:
        obs, rewards, dones, infos = [], [], [], list[dict[str, Any]]()
        for env, action in zip(self.envs, self.actions, strict=True):
            observation, reward, terminated, truncated, info = env.step(action)
            info = info | {"TimeLimit.truncated": truncated and not terminated}
            if terminated or truncated:
                info["terminal_observation"] = observation
                observation, _ = env.reset()
            obs.append(observation)
            rewards.append(reward)
            dones.append(terminated or truncated)
            infos.append(info)
        return np.stack(obs), np.array(rewards, np.float32), np.array(dones), infos

    def close(self) -> None:
        self.is_closed = True
