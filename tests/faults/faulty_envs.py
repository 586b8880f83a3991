"""CartPole with faults that only a process of its own survives; `tests.faults.faulty_envs:<id>` registers them."""

import ctypes
import sys
from typing import Any

import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv


def hang() -> None:
    """Never returns, and holds the interpreter's lock as badly written C code does."""
    while True:
        ctypes.PyDLL(None).sleep(1000)


class Faulty(CartPoleEnv):
    """Does what it is told `at` the step of this number, or in `init`, `reset` or `close`."""

    def __init__(self, fault: str, at: int | str, render_mode: str | None = None) -> None:
        super().__init__(render_mode=render_mode)
        self._fault, self._at, self._steps = fault, at, 0
        self._fail_at("init")

    def reset(self, **kwargs: Any) -> Any:
        self._fail_at("reset")
        return super().reset(**kwargs)

    def step(self, action: Any) -> Any:
        self._steps += 1
        self._fail_at(self._steps)
        return super().step(action)

    def close(self) -> None:
        self._fail_at("close")
        super().close()

    def _fail_at(self, moment: int | str) -> None:
        if moment == self._at:
            {"hang": hang, "exit": sys.exit, "raise": self._window_is_gone}[self._fault]()

    def _window_is_gone(self) -> None:
        raise OSError("the window is gone")


for name, fault, at in [
    ("HangsInInit", "hang", "init"),
    ("HangsInReset", "hang", "reset"),
    ("HangsInClose", "hang", "close"),
    ("ExitsInStep", "exit", 150),
    ("RaisesInClose", "raise", "close"),
]:
    gymnasium.register(f"{name}-v0", Faulty, kwargs={"fault": fault, "at": at}, max_episode_steps=500)
