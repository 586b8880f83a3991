"""One call in a thread of its own."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """Makes a call at once, in a thread that Python does not wait for when it ends."""

    def __init__(self, call: Callable[[], T], name: str) -> None:
        """Starts the thread."""
        self._call = call
        self._error: BaseException | None = None
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Waits until the call has ended, however it did."""
        self._has_ended.wait()  # a Thread.join that Ctrl-C interrupts takes the thread for ended (bpo-45274)
        self._thread.join()

    def result(self) -> T:
        """Waits, and returns what the call returned, or raises what it raised."""
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
