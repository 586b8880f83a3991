"""Measures the speed of the Atari emulator alone, which bounds every training loop."""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor

import ale_py
import numpy as np
from ale_py import roms

from acer_tf.envs.atari.game import FRAMES_PER_STEP
from acer_tf.system.compute import cores

SECONDS = 2.0


def emulated_steps_per_second(game: str) -> float:
    """Measures how many agent steps of a game the emulator alone makes, with one process per core.

    Args:
        game: name of its ROM.
    """
    with ProcessPoolExecutor(cores(), multiprocessing.get_context("spawn")) as processes:
        return sum(processes.map(_emulate, [game] * cores()))


def _emulate(game: str) -> float:
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    rom = roms.get_rom_path(game)
    assert rom is not None
    ale.loadROM(rom)
    codes, random = ale.getMinimalActionSet(), np.random.default_rng(0)
    start = time.perf_counter()
    steps = 0
    while (elapsed := time.perf_counter() - start) < SECONDS:
        code = codes[random.integers(len(codes))]
        for _ in range(FRAMES_PER_STEP):
            ale.act(code)
        if ale.game_over():
            ale.reset_game()
        steps += 1
    return steps / elapsed
