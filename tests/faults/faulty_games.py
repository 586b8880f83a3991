"""Real games that fail on demand, in a worker process."""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from acer_tf.envs.atari.games import Games, Rows


class TwoArgumentsError(Exception):
    """Cannot be made again from its message, and not every pipe would carry it."""

    def __init__(self, first: str, second: Callable[[], int]) -> None:
        super().__init__(f"{first} and a lambda that gives {second()}")
        self.second = second


def _raise() -> NoReturn:
    raise TwoArgumentsError("one", lambda: 2)


FAULTS: dict[str, Callable[[], None]] = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "raise": _raise,
    "exit": lambda: sys.exit(3),
    "hang": lambda: time.sleep(1000),
}


class FaultyGames(Games):
    """Fails once, as soon as there is a file `<fault>-<command>-<name of the process>`."""

    def __init__(
        self, folder: Path, game: str, max_episode_frames: int | None, rows: Rows, display_screen: bool = False
    ) -> None:
        super().__init__(game, max_episode_frames, rows, display_screen)
        self._folder = folder

    def start(self) -> None:
        self._fail("start")
        super().start()

    def reset(self) -> None:
        self._fail("reset")
        super().reset()

    def step(self) -> None:
        self._fail("step")
        super().step()

    def _fail(self, command: str) -> None:
        for name, fault in FAULTS.items():
            try:
                (self._folder / f"{name}-{command}-{multiprocessing.current_process().name}").unlink()
            except FileNotFoundError:
                continue
            fault()
