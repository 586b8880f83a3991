import os
import signal

import pytest

from acer_tf.training.interrupt import stop_on_interrupt


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_first_interrupt_is_a_request(capfd: pytest.CaptureFixture[str]) -> None:
    with stop_on_interrupt() as stopped:
        assert not stopped()
        press()
        assert stopped()
    assert stopped()
    assert "press Ctrl-C again" in capfd.readouterr().err


def test_second_interrupt_raises() -> None:
    with stop_on_interrupt():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_earlier_handler_is_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError):
        with stop_on_interrupt():
            raise RuntimeError
    assert signal.getsignal(signal.SIGINT) is before
