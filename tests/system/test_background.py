import threading

import pytest

from acer_tf.system.background import Background


def test_a_result_and_an_error() -> None:
    there = Background(lambda: threading.current_thread().name, "there")
    assert there.result() == there.result() == "there"
    failed = Background(lambda: 1 // 0, "failed")
    failed.join()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            failed.result()


def test_the_call_goes_on_meanwhile_and_does_not_keep_python_alive() -> None:
    begin, seen = threading.Event(), list[bool]()
    waiting = Background(lambda: seen.append(begin.wait(60)), "waiting")
    assert not seen
    assert next(thread for thread in threading.enumerate() if thread.name == "waiting").daemon
    begin.set()
    waiting.join()
    assert seen == [True]
