import functools
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from numpy.typing import NDArray

import acer_tf.envs.atari.pool
from acer_tf.buffer import stack_obs
from acer_tf.envs.atari.game import AtariGame
from acer_tf.envs.atari.pool import AtariPool, next_seed
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.errors import EnvironmentFailedError
from acer_tf.learning import learn
from acer_tf.logs.logger import Logger, Sink
from acer_tf.runner import Runner
from acer_tf.segment import Action
from tests.envs.atari.test_workers import workers
from tests.faults.faulty_games import FaultyGames

FREEWAY = "FreewayNoFrameskip-v4"
SEED = 5

Trigger = Callable[[str, str, int], None]


def kill(*which: int) -> None:
    all_workers = workers()  # asked for once: it leaves out those that are dead
    for worker in which:
        os.kill(all_workers[worker].pid, signal.SIGKILL)


@pytest.fixture
def fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trigger:
    """Makes the games of pools faulty; returns what triggers a fault, given its name, a command and the first env."""
    monkeypatch.setattr(acer_tf.envs.atari.pool, "Games", functools.partial(FaultyGames, tmp_path))
    return lambda fault, command, env: (tmp_path / f"{fault}-{command}-envs-{env}").touch()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert workers() == []


def make_pool(num_env: int = 2, num_workers: int = 2, **kwargs: Any) -> AtariPool:
    pool = AtariPool(FREEWAY, num_env, num_workers=num_workers, **kwargs)
    pool.reset(seed=SEED)
    return pool


class Twin:
    """The game of one environment as it must go on, whatever happens to others."""

    def __init__(self, env: int) -> None:
        self.seed = int(np.random.SeedSequence(SEED).generate_state(env + 1, np.uint64)[env])
        self.frame = np.zeros((84, 84, 1), np.uint8)
        self.start()

    def start(self) -> None:
        self.game = AtariGame("freeway", self.seed)
        self.game.reset(self.frame)

    def start_another(self) -> None:
        self.seed = next_seed(self.seed)
        self.start()

    def step(self) -> None:
        self.game.step(1, self.frame)


@pytest.mark.slow
@pytest.mark.timeout(300)  # nine processes are started
def test_failed_workers_are_replaced_and_the_other_games_go_on(
    fail: Trigger, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = make_pool(timeout=1.0)
    first, second = Twin(0), Twin(1)
    faults: dict[str, tuple[Callable[[], None], str]] = {
        "died with exit code -9": (lambda: kill(1), ""),
        "died with exit code -9 ": (lambda: fail("kill", "step", 1), ""),
        "gave no answer for 1 s": (lambda: os.kill(workers()[1].pid, signal.SIGSTOP), ""),
        "gave no answer for 1 s ": (lambda: fail("hang", "step", 1), ""),
        "raised an exception": (lambda: fail("raise", "step", 1), "TwoArgumentsError: one and a lambda that gives 2"),
        "raised an exception ": (lambda: fail("exit", "step", 1), "SystemExit: 3"),
    }
    try:
        for count, (what, (fault, last_line)) in enumerate(faults.items(), 1):
            fault()
            obs, rewards, terminations, truncations, infos = pool.step([1, 1])
            first.step()
            second.start_another()
            np.testing.assert_array_equal(infos["worker_replaced"], [False, True])
            np.testing.assert_array_equal(truncations, [False, True])
            assert not terminations.any() and rewards[1] == 0
            for _ in range(3):
                np.testing.assert_array_equal(obs, [first.frame, second.frame])
                obs, *_, infos = pool.step([1, 1])
                assert infos == {}
                first.step()
                second.step()
            assert pool.replacements == count
            warning, *report = capsys.readouterr().err.splitlines()
            expected = f"the worker of environments 1 to 1 {what.strip()}; replaced it ({count} of at most 10)"
            assert warning == f"warning: {expected}"
            assert (report[0] if report else "") == ("Traceback (most recent call last):" if last_line else "")
            assert (report[-1] if report else "").endswith(last_line)
        kill(0, 1)
        obs, *_, infos = pool.step([1, 1])
        first.start_another()
        second.start_another()
        np.testing.assert_array_equal(obs, [first.frame, second.frame])
        assert infos["worker_replaced"].all()
    finally:
        pool.close()


def test_faults_in_resets_and_beyond_the_limit(fail: Trigger, capsys: pytest.CaptureFixture[str]) -> None:
    fail("raise", "start", 0)
    pool = make_pool(num_env=1, num_workers=1, max_restarts=2)
    fail("exit", "reset", 0)
    obs, _ = pool.reset()
    twin = Twin(0)
    twin.start_another()
    twin.start_another()
    np.testing.assert_array_equal(obs, [twin.frame])
    assert pool.step([0])[4] == {}
    assert capsys.readouterr().err.count("replaced it") == 2
    fail("raise", "step", 0)
    message = r"environments 0 to 0 raised an exception; no more than 2 workers are replaced\.\nTraceback "
    with pytest.raises(EnvironmentFailedError, match=rf"(?s){message}.*TwoArgumentsError: one"):
        pool.step([0])
    assert workers() == []
    for call in (pool.reset, lambda: pool.step([0])):
        with pytest.raises(RuntimeError, match="it is closed"):
            call()
    pool.close()


def test_close_ends_while_a_worker_hangs_and_one_is_stopped(fail: Trigger) -> None:
    pool = make_pool()
    pids = [worker.pid for worker in workers()]
    os.kill(pids[0], signal.SIGSTOP)
    fail("hang", "step", 1)
    assert pool._workers is not None
    pool._workers.send("step")  # not answered
    pool.close()
    pool.close()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def leftovers() -> tuple[int, int, set[str]]:
    return len(os.listdir("/proc/self/fd")), len(workers()), set(os.listdir("/dev/shm"))


def open_and_close(times: int) -> None:
    for i in range(times):
        pool = make_pool(num_workers=1)
        pool.step([0, 0])
        if i % 2 == 1:
            kill(0)
        pool.close()


@pytest.mark.parametrize("times", [2, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])])
def test_nothing_is_left_after_many_pools(times: int) -> None:
    open_and_close(2)  # Python keeps shared memory for later, and the server that starts processes
    before = leftovers()
    open_and_close(times)
    assert leftovers() == before


class Noop:
    """An actor that waits."""

    def initial_state(self, nenvs: int) -> None:
        pass

    def act(self, obs: NDArray[Any], state: None, mask: NDArray[np.bool_]) -> Action:
        return Action(np.zeros(len(obs), np.int64), np.full((len(obs), 3), 1 / 3, np.float32), None)


def test_segments_are_whole_and_as_the_agent_saw_them(fail: Trigger) -> None:
    env = FrameStack(AtariPool(FREEWAY, 2, num_workers=2), 4)
    try:
        runner = Runner(env, Noop(), 6, SEED)
        runner.run()
        fail("raise", "step", 1)
        for lost in ([False, True], [False, False]):
            segment = runner.run()
            np.testing.assert_array_equal(segment.masks[:, 0], lost)
            assert not segment.masks[:, 1:].any()  # whole games of Freeway are longer
            assert not segment.obs[lost, 0, ..., :3].any()
            np.testing.assert_array_equal(stack_obs(segment.enc_obs, segment.dones), segment.obs)
    finally:
        env.close()


class Saboteur(Sink):
    """Does one thing to the workers after each iteration, and counts the iterations; notes what rows tell of it."""

    def __init__(self, *actions: Callable[[], None]) -> None:
        self.actions = list(actions)
        self.steps: list[int] = []
        self.replaced: list[float] = []

    def write(self, values: Mapping[str, float]) -> None:
        self.replaced.append(values["workers_replaced"])

    def progress(self, steps: int) -> None:
        self.steps.append(steps)
        if self.actions:
            self.actions.pop(0)()


def test_a_run_in_which_workers_fail_ends_with_the_right_number_of_steps(
    fail: Trigger, capsys: pytest.CaptureFixture[str]
) -> None:
    sink = Saboteur(lambda: kill(0), lambda: fail("hang", "step", 0), lambda: fail("raise", "step", 0))
    pool = AtariPool(FREEWAY, 2, num_workers=1, timeout=1.0)
    try:
        learn(
            lambda inputs: keras.layers.Flatten()(inputs[:, ::8, ::8]),
            FrameStack(pool, 4),
            seed=0,
            nsteps=5,
            total_timesteps=60,
            buffer_size=50,
            replay_start=10,
            log_interval=5,
            logger=Logger([sink]),
        )
    finally:
        pool.close()
    assert sink.steps == [10, 20, 30, 40, 50, 60]
    assert pool.replacements == 3
    assert sink.replaced == [0, 3]
    error = capsys.readouterr().err
    assert [error.count(what) for what in ("exit code -9", "gave no answer for 1 s", "TwoArgumentsError: one")] == [
        1
    ] * 3
