"""Runs a function in a background thread."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """Calls a function in a daemon thread, starting at once."""

    def __init__(self, call: Callable[[], T], name: str) -> None:
        """Starts the thread."""
        self._call = call
        self._error: BaseException | None = None
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Waits until the call has returned or raised."""
        self._has_ended.wait()  # a Thread.join that Ctrl-C interrupts takes the thread for ended (bpo-45274)
        self._thread.join()

    def result(self) -> T:
        """Waits for the call; returns its result, or raises its exception."""
        self.join()
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._call()
        except BaseException as error:
            self._error = error
        finally:
            self._has_ended.set()
