import os
import signal
import time
from collections.abc import Iterator

import pytest

from acer_tf.training import signals
from acer_tf.training.signals import ECHO_SECONDS, stop_on_signals


@pytest.fixture(autouse=True)
def terminal() -> Iterator[None]:
    """SIGHUP as it is in a terminal, whatever started the tests: nohup has it ignored."""
    previous = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, previous)


SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("signum", "status"), SIGNALS)
def test_first_signal_is_a_request(signum: int, status: int, capfd: pytest.CaptureFixture[str]) -> None:
    with stop_on_signals() as stop:
        assert not stop()
        assert stop.status == 0
        os.kill(os.getpid(), signum)
        assert stop()
    assert stop()
    assert stop.status == status
    assert "once more stops at once" in capfd.readouterr().err


def test_second_interrupt_raises() -> None:
    with stop_on_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ECHO_SECONDS)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(("signum", "status"), SIGNALS)
def test_the_echo_of_a_signal_changes_nothing(signum: int, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "ECHO_SECONDS", 60.0)  # however busy the machine is
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signum)
        os.kill(os.getpid(), signum)
        os.kill(os.getpid(), signal.SIGTERM)
    assert stop.status == status


def test_a_closed_terminal_sends_two_and_the_second_changes_nothing() -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(ECHO_SECONDS)
        os.kill(os.getpid(), signal.SIGHUP)
    assert stop.status == 129


def test_under_nohup_a_closed_terminal_changes_nothing() -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
        assert not stop()
    finally:
        signal.signal(signal.SIGHUP, previous)


def test_the_hint_may_go_nowhere() -> None:
    kept = os.dup(2)
    try:
        with open("/dev/full", "w") as full, stop_on_signals() as stop:
            os.dup2(full.fileno(), 2)
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop()
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def test_second_sigterm_exits() -> None:
    with stop_on_signals():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(ECHO_SECONDS)
        with pytest.raises(SystemExit) as stop:
            os.kill(os.getpid(), signal.SIGTERM)
    assert stop.value.code == 143


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_earlier_handlers_are_back_afterwards(signum: int) -> None:
    before = signal.getsignal(signum)
    with pytest.raises(RuntimeError):
        with stop_on_signals():
            raise RuntimeError
    assert signal.getsignal(signum) is before


def test_signals_that_an_environment_took_are_taken_back() -> None:
    with stop_on_signals() as stop:
        signal.signal(signal.SIGINT, lambda *_: None)
        os.kill(os.getpid(), signal.SIGINT)
        assert not stop()
        stop.take_signals()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop() and stop.status == 130
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
