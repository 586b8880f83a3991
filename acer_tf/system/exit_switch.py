"""A way to end this process from outside even while its interpreter is blocked."""

import ctypes
import functools
import os
import sys


class _Event(ctypes.Structure):
    """`struct sigevent` of the C library."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("rest", ctypes.c_char * 32),
    )


class _Request(ctypes.Structure):
    """`struct aiocb` of the C library, as Linux has it."""

    _fields_ = (
        ("descriptor", ctypes.c_int),
        ("operation", ctypes.c_int),
        ("priority", ctypes.c_int),
        ("buffer", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("event", _Event),
        ("rest", ctypes.c_char * 256),
    )


_CALL_IN_A_THREAD = 2  # SIGEV_THREAD


@functools.cache
def exit_switch(status: int) -> int:
    """Returns a descriptor of a pipe; as soon as anybody writes to it, this process exits with the status.

    The C library reads from the pipe in a thread of its own and then calls `_exit`. Neither needs the interpreter's
    lock, which an environment that hangs in C may hold for ever. Outside of Linux, writing to the pipe does nothing.
    """
    reading, writing = os.pipe()
    if sys.platform == "linux":
        libc = _c_library()
        exit_function = ctypes.cast(libc._exit, ctypes.c_void_p).value
        event = _Event(value=status, notify=_CALL_IN_A_THREAD, function=exit_function)
        buffer = ctypes.create_string_buffer(1)
        request = _Request(descriptor=reading, buffer=ctypes.addressof(buffer), count=1, event=event)
        _PENDING.append((buffer, request))
        libc.aio_read(ctypes.byref(request))
    return writing


def _c_library() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "aio_read") else ctypes.CDLL("librt.so.1")  # where it was before glibc 2.34


_PENDING: list[object] = []
"""What the C library writes to; it must outlive the call."""
