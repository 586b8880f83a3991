"""Reads pickles without executing them: a virtual machine for their opcodes that builds only plain data and arrays.

It neither imports names nor makes calls; an `Inert` object takes their place. It does not use Python's own unpickler,
which decides class by class what may be looked up: here nothing can be looked up at all. The standard library's
`pickletools` decodes the opcodes and their arguments.
"""

import io
import pickletools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from acer_tf.importers.objects import Inert, built, called

MOST_OPCODES = 10**5
LONGEST_NAME = 250
LONGEST_NUMBER = 2**10
"""Most bits of a whole number."""
LARGEST_KEY = 2**32
"""Bound on whole numbers as keys: beyond it, any number of them may share a hash."""
_DAMAGED = "the pickle is incomplete or damaged"
_KEYS = str | bytes | float | None | Inert


def read_pickle(data: bytes) -> Any:
    """Returns the content of a pickle; sets become lists, and keys that are costly to hash (containers, and numbers
    beyond `LARGEST_KEY`) become `Inert`.

    Arrays and bytes together take at most twice as much memory as the pickle, so a small file cannot exhaust memory.

    Args:
        data: a pickle of any protocol, or of joblib, which writes arrays between the opcodes. Python 2's protocol 0 is
            supported only if all text and arrays are ASCII.

    Raises:
        ValueError: the pickle is not complete and valid, or has more than `MOST_OPCODES` opcodes.
    """
    try:
        return _Machine(data).run()
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, UnicodeError) as error:
        if isinstance(error, UnicodeDecodeError) and error.encoding == "ascii":  # from pickletools
            raise ValueError(
                f"{_DAMAGED}, or Python 2 wrote it with protocol 0; save it there with protocol 2"
            ) from error
        raise ValueError(_DAMAGED) from error


class _Machine:
    """The unpickler's state: its stack, the stacks below each mark, and the memo (`_kept`)."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)
        self._bytes_left = 2 * len(data)  # protocols 0 to 2 make the bytes of an array, then the array
        self._stack: list[Any] = []
        self._below_marks: list[list[Any]] = []
        self._kept: dict[int, Any] = {}

    def run(self) -> Any:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(self._file)):
            if count == MOST_OPCODES:
                raise ValueError(f"it has more than {MOST_OPCODES} opcodes")
            self._do(opcode.name, argument)
        return self._stack.pop()

    def _do(self, opcode: str, argument: Any) -> None:
        if opcode in _CONSTANTS:
            self._push(_CONSTANTS[opcode]())
        elif opcode in _ACTIONS:
            _ACTIONS[opcode](self, argument)
        else:  # a number, text or bytes
            if isinstance(argument, int) and argument.bit_length() > LONGEST_NUMBER:
                raise ValueError(f"a number in it has {argument.bit_length():,} bits")
            self._push(bytes(argument) if isinstance(argument, bytearray) else argument)

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _mark(self) -> None:
        self._below_marks.append(self._stack)
        self._stack = []

    def _to_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._below_marks.pop()
        return items

    def _pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._to_mark()

    def _last(self, count: int) -> tuple[Any, ...]:
        items = [self._stack.pop() for _ in range(count)]
        return tuple(reversed(items))

    def _extend(self, items: Sequence[Any]) -> None:
        if not isinstance(self._stack[-1], Inert):
            self._stack[-1].extend(items)

    def _set(self, items: Sequence[Any]) -> None:
        if not isinstance(self._stack[-1], Inert):
            self._stack[-1].update(_dict(items))

    def _keep(self, key: int) -> None:
        if not _is_key(key):
            raise ValueError("it is not a valid pickle: a key in its memo is not a small number")
        value = self._kept[key] = self._stack[-1]
        if isinstance(value, Inert):
            value.key = key

    def _name(self, module: Any, name: Any) -> None:
        if not isinstance(module, str) or not isinstance(name, str) or len(module) + len(name) > LONGEST_NAME:
            raise ValueError("it is not a valid pickle: a name in it is not text")
        self._push(Inert(f"{module}.{name}"))

    def _call(self, function: Any, arguments: Any) -> None:
        if not isinstance(function, Inert) or not isinstance(arguments, tuple):
            raise ValueError("it is not a valid pickle: it calls something that is not a function")
        self._push(self._counted(called(function.name, arguments)))

    def _call_to_mark(self) -> None:
        function, *arguments = self._to_mark()
        self._call(function, tuple(arguments))

    def _call_named(self, words: str) -> None:
        arguments = tuple(self._to_mark())
        self._name(*words.split(" ", 1))
        self._call(self._stack.pop(), arguments)

    def _build(self) -> None:
        instance, state = self._last(2)
        value = instance
        if isinstance(instance, Inert):
            value = self._counted(built(instance, state, self._file))
            if instance.key is not None:
                self._kept[instance.key] = value
        self._push(value)

    def _counted(self, value: Any) -> Any:
        if isinstance(value, np.ndarray | bytes):
            self._bytes_left -= value.nbytes if isinstance(value, np.ndarray) else len(value)
        if self._bytes_left < 0:
            raise ValueError("its arrays are larger than the pickle")
        return value


def _dict(items: Sequence[Any]) -> dict[Any, Any]:
    pairs = zip(items[::2], items[1::2], strict=True)
    return {key if _is_key(key) else Inert("key"): value for key, value in pairs}


def _is_key(value: Any) -> bool:
    return abs(value) < LARGEST_KEY if isinstance(value, int) else isinstance(value, _KEYS)


_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_SET": list,  # elements of a set may have no hash here
    "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": dict,
    "NEXT_BUFFER": lambda: Inert("buffer"),
}
_ACTIONS: dict[str, Callable[[_Machine, Any], object]] = {
    "MARK": lambda m, _: m._mark(),
    "POP": lambda m, _: m._pop(),
    "POP_MARK": lambda m, _: m._to_mark(),
    "DUP": lambda m, _: m._push(m._stack[-1]),
    "LIST": lambda m, _: m._push(m._to_mark()),
    "FROZENSET": lambda m, _: m._push(m._to_mark()),
    "TUPLE": lambda m, _: m._push(tuple(m._to_mark())),
    "TUPLE1": lambda m, _: m._push(m._last(1)),
    "TUPLE2": lambda m, _: m._push(m._last(2)),
    "TUPLE3": lambda m, _: m._push(m._last(3)),
    "DICT": lambda m, _: m._push(_dict(m._to_mark())),
    "APPEND": lambda m, _: m._extend(m._last(1)),
    "APPENDS": lambda m, _: m._extend(m._to_mark()),
    "ADDITEMS": lambda m, _: m._extend(m._to_mark()),
    "SETITEM": lambda m, _: m._set(m._last(2)),
    "SETITEMS": lambda m, _: m._set(m._to_mark()),
    "MEMOIZE": lambda m, _: m._keep(len(m._kept)),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), lambda m, key: m._keep(key)),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda m, key: m._push(m._kept[key])),
    "GLOBAL": lambda m, words: m._name(*words.split(" ", 1)),
    "STACK_GLOBAL": lambda m, _: m._name(*m._last(2)),
    "REDUCE": lambda m, _: m._call(*m._last(2)),
    "NEWOBJ": lambda m, _: m._call(*m._last(2)),
    "NEWOBJ_EX": lambda m, _: m._call(*m._last(3)[:2]),
    "OBJ": lambda m, _: m._call_to_mark(),
    "INST": lambda m, words: m._call_named(words),
    "BUILD": lambda m, _: m._build(),
    "PERSID": lambda m, _: m._push(Inert("persistent id")),
    "BINPERSID": lambda m, _: m._push(Inert("persistent id", m._last(1))),
    **dict.fromkeys(("EXT1", "EXT2", "EXT4"), lambda m, code: m._push(Inert("extension code"))),
    **dict.fromkeys(("PROTO", "FRAME", "READONLY_BUFFER", "STOP"), lambda m, _: None),
}
