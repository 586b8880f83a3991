"""Pickles as data: what is plain comes back, what is code does nothing."""

import codecs
import collections
import copyreg
import io
import os
import pickle
import pickletools
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acer_tf.importers.objects import Inert
from acer_tf.importers.pickled import LARGEST_KEY, MOST_OPCODES, read_pickle
from tests.memory import at_most

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
VALUES = {
    "numbers": [0, -5, 255, 70000, 1 << 70, 1.5, float("inf"), True, False, None],
    "texts": ["", "ä\n", b"\xff\x00"],
    "nested": ([{}, {"a": (1, 2, (3, [4]))}], (), [[]]),
    3: {b"x": 1, None: 2},
}
ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(4, dtype=">i2"),
    np.array(2.5),
    np.zeros((0, 3), np.uint8),
    np.array([True, False]),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_plain_data_comes_back(protocol: int) -> None:
    assert read_pickle(pickle.dumps(VALUES, protocol)) == VALUES


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays_come_back_in_the_byte_order_of_the_machine(array: np.ndarray, protocol: int) -> None:
    first, second, size = read_pickle(pickle.dumps([array, array, np.float32(0.5)], protocol))
    np.testing.assert_array_equal(first, array)
    assert (first.dtype, first.shape, size) == (array.dtype.newbyteorder("="), array.shape, 0.5)
    assert second is first


@pytest.mark.parametrize("core", [b"numpy.core", b"numpy._core"])
def test_numpy_is_known_by_its_old_and_its_new_module(core: bytes) -> None:
    ours = b"numpy._core" if b"numpy._core" in pickle.dumps(ARRAYS[0], 2) else b"numpy.core"
    np.testing.assert_array_equal(read_pickle(pickle.dumps(ARRAYS[0], 2).replace(ours, core)), ARRAYS[0])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_containers_other_than_lists_and_dicts(protocol: int) -> None:
    value = [collections.OrderedDict(b=1, a=2), {1, 2}, frozenset({3})]
    ordered, some, one = read_pickle(pickle.dumps(value, protocol))
    assert list(ordered.items()) == [("b", 1), ("a", 2)]
    assert (sorted(some), one) == ([1, 2], [3])


def test_keys_that_are_containers_are_inert() -> None:
    """Their hash takes as long as they are large, and each level of them may hold the one below twice."""
    (key,) = read_pickle(pickle.dumps({(1, (2, 3)): "value"}))
    assert isinstance(key, Inert)


def test_large_numbers_as_keys_are_inert() -> None:
    """Any number of them have the same hash, such as the multiples of 2**61 - 1: a dict of 30,000 takes ten seconds."""
    small, large = [LARGEST_KEY - 1, 1 - LARGEST_KEY], [k * (2**61 - 1) for k in range(1, 30_000)]
    items = b"".join(pickle.dumps(key, 2)[2:-1] + b"N" for key in (*small, *large, -LARGEST_KEY))
    before = time.process_time()
    keys = list(read_pickle(b"\x80\x02}(" + items + b"u."))
    assert time.process_time() - before < 2
    assert keys[:2] == small
    assert len(keys) == 30_002 and all(isinstance(key, Inert) for key in keys[2:])


@pytest.mark.parametrize("key", [LARGEST_KEY, 2**61 - 1, -LARGEST_KEY])
def test_the_memo_has_no_large_numbers_as_keys(key: int) -> None:
    assert read_pickle(b"I5\np%d\n." % (LARGEST_KEY - 1)) == 5
    with pytest.raises(ValueError, match="a key in its memo is not a small number"):
        read_pickle(b"I5\np%d\n." % key)


@pytest.mark.parametrize("axes", [32, 33])
def test_arrays_have_no_more_axes_than_numpy_1_allows(axes: int) -> None:
    data = pickle.dumps(np.zeros((1,) * 32, np.int8))
    ours, theirs = b"K\x01" * 32 + b"t", b"K\x01" * axes + b"t"
    assert data.count(ours) == 1
    data = data.replace(ours, theirs)
    data = data[:3] + (len(data) - 11).to_bytes(8, "little") + data[11:]  # the length of the frame
    if axes == 32:
        assert read_pickle(data).ndim == 32
    else:
        with pytest.raises(ValueError, match="has no shape"):
            read_pickle(data)


def test_text_of_python_2_is_the_bytes_of_an_array() -> None:
    """As Python 2 wrote it: the opcode of a byte string, U, where Python 3 has one of bytes, C."""
    data = pickle.dumps(np.array([1.0, -2.0]), 3).replace(b"C\x10", b"U\x10")
    np.testing.assert_array_equal(read_pickle(data), [1.0, -2.0])


def test_protocol_0_of_python_2_is_named() -> None:
    """Its opcode of a byte string, S, of which pickletools takes ASCII only."""
    assert read_pickle(b"S'text'\n.") == "text"
    with pytest.raises(
        ValueError, match=r"damaged, or Python 2 wrote it with protocol 0; save it there with protocol 2$"
    ):
        read_pickle(b"S'\\x80\\xff'\n.")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80\x04K\x05)R.", "^it is not a valid pickle: it calls something that is not a function$"),
        (b"\x80\x04K\x05a.", "^the pickle is incomplete or damaged$"),
        (b"X\x02\x00\x00\x00\xff\xff.", "^the pickle is incomplete or damaged$"),
    ],
)
def test_what_is_no_pickle_is_told(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_pickle(data)


@pytest.mark.parametrize(("length", "is_read"), [(2**20, True), (2**20 + 1, False)])
def test_an_empty_array_has_no_huge_axis(length: int, is_read: bool) -> None:
    """It has no bytes, but a network may be built for its axes."""
    data = pickle.dumps(np.zeros((0, length), np.uint8))
    if is_read:
        assert read_pickle(data).shape == (0, length)
    else:
        with pytest.raises(ValueError, match=r"an array in it has the shape \(0, 1048577\), which is too large"):
            read_pickle(data)


def test_an_object_is_its_name_and_state() -> None:
    path = read_pickle(pickle.dumps([Path, pytest.approx(3)]))
    assert isinstance(path[0], Inert)
    assert (path[0].name.endswith(".Path"), path[0].short_name, path[0].arguments) == (True, "Path", None)
    assert (path[1].short_name, path[1].state["expected"]) == ("ApproxScalar", 3)


class Call:
    """Pickles as a call."""

    def __init__(self, function: object, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[object, ...]:
        return self.call


class WithState:
    """Pickles as an object whose state is a call."""

    def __init__(self, state: object) -> None:
        self.state = state


class Extended:
    """Pickles as a number that stands for it in a registry of the process."""


def evil(trace: Path) -> dict[str, bytes]:
    """Pickles that make a folder when Python reads them, or would if they could."""
    make = f"__import__('os').mkdir({str(trace)!r})"
    objects = np.empty(2, object)
    objects[:] = [Call(os.mkdir, str(trace)), {}]
    copyreg.add_extension(__name__, "Extended", 240)
    try:
        extended = pickle.dumps([Extended, Call(os.mkdir, str(trace))], 2)
    finally:
        copyreg.remove_extension(__name__, "Extended", 240)
    text, whole = _text(str(trace)), str(trace).encode()
    attribute = b"cbuiltins\ngetattr\n"
    module = attribute + b"cos\npath\n" + _text("os") + b"\x86R"
    return {
        "mkdir": pickle.dumps(Call(os.mkdir, str(trace))),
        "system": pickle.dumps(Call(os.system, f"mkdir '{trace}'"), 2),
        "eval": pickle.dumps(Call(eval, make)),
        "exec": pickle.dumps(Call(exec, make)),
        "in state": pickle.dumps(WithState(Call(os.mkdir, str(trace)))),
        "in an array": pickle.dumps(objects),
        "as a key": pickle.dumps({Call(os.mkdir, str(trace)): 1}),
        "instance": b"(S'" + whole + b"'\nios\nmkdir\n.",
        "object": b"(cos\nmkdir\nS'" + whole + b"'\no.",
        "dotted": b"\x80\x04" + _text("shutil") + _text("os.mkdir") + b"\x93" + text + b"\x85R.",
        "getattr": b"\x80\x04" + attribute + module + _text("mkdir") + b"\x86R" + text + b"\x85R.",
        "methodcaller": b"\x80\x04coperator\nmethodcaller\n" + _text("mkdir") + text + b"\x86R" + module + b"\x85R.",
        "setstate": f"\x80\x04c{__name__}\nWithState\n)\x81}}".encode("latin-1")
        + _text("__setstate__") + b"cos\nmkdir\nsb" + text + b"b.",
        "extension": extended,
        "persistent": b"Pmkdir\n.",
        "codec": pickle.dumps(Call(codecs.encode, make, "rot13")),
    }  # fmt: skip


def _text(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode()


KINDS = list(evil(Path("x")))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_run(tmp_path: Path, kind: str) -> None:
    data = evil(tmp_path / "trace")[kind]
    pickletools.dis(data, io.StringIO())
    value = read_pickle(data)
    assert not (tmp_path / "trace").exists()
    assert value is not None


@pytest.mark.parametrize("kind", KINDS[:-3])
def test_the_malicious_files_are_malicious(tmp_path: Path, kind: str) -> None:
    pickle.loads(evil(tmp_path / "trace")[kind])  # noqa: S301  (what this package never does)
    assert (tmp_path / "trace").exists()


def test_no_module_is_imported() -> None:
    sys.modules.pop("this", None)
    assert read_pickle(b"cthis\ns\n.").name == "this.s"
    assert "this" not in sys.modules


def test_arrays_of_objects_stay_inert() -> None:
    assert isinstance(read_pickle(pickle.dumps(np.array([{}, []], dtype=object))), Inert)
    assert isinstance(read_pickle(pickle.dumps(np.zeros(2, [("a", "f4")]))), Inert)


DEEP = 40_000


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04" + b"]" * DEEP + b"a" * (DEEP - 1) + b".",
        b"\x80\x04)" + b"\x85" * DEEP + b".",
        b"(" * DEEP + b"l" * DEEP + b".",
        b"\x80\x04)" + b"\x85" * DEEP + b"N\x86.",
        b"\x80\x04}" + b")" + b"\x85" * DEEP + b"Ns.",  # a key whose hash would be as deep
    ],
    ids=["lists", "tuples", "marks", "pair", "key"],
)
def test_deep_nesting_is_no_trouble(data: bytes) -> None:
    read_pickle(data)


def test_a_list_may_hold_itself() -> None:
    assert len(read_pickle(b"\x80\x04]\x94h\x00a.")) == 1


LARGE = 10**6


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(np.zeros(3, np.uint8)).replace(b"K\x03\x85", b"J\xff\xff\xff\x7f\x85"),
        b"\x80\x04\x8e" + (2**62).to_bytes(8, "little") + b"x.",
        b"\x80\x04\x8b" + (2**31 - 1).to_bytes(4, "little") + b"x.",
        # A large text kept once, encoded or made a name again and again.
        b"\x80\x04X" + LARGE.to_bytes(4, "little") + b"a" * LARGE + b"\x94" + b"c_codecs\nencode\n\x94"
        + b"h\x01h\x00\x8c\x06latin1\x86R" * 5000 + b".",
        b"\x80\x04X" + LARGE.to_bytes(4, "little") + b"a" * LARGE + b"\x94" + b"h\x00h\x00\x93" * 5000 + b".",
        b"\x80\x04" + b"]" * (MOST_OPCODES + 1) + b".",
        pickle.dumps(1 << 20000),
    ],
    ids=["shape", "bytes", "long", "encode", "name", "opcodes", "number"],
)  # fmt: skip
def test_a_small_pickle_takes_no_large_memory(data: bytes) -> None:
    with pytest.raises(ValueError), at_most(20e6):
        read_pickle(data)


def test_shared_parts_cost_nothing() -> None:
    """Forty lists of twice the one before: 2^40 entries, were they counted out."""
    read_pickle(b"\x80\x04]\x94" + b"".join(b"]h%ch%ce\x94".replace(b"]", b"](") % (i, i) for i in range(40)) + b".")


def test_shared_arguments_cost_nothing() -> None:
    """Ten thousand calls with the same fifty thousand arguments."""
    arguments = b"(" + b"N" * 50_000 + b"t\x94"
    with at_most(20e6):
        assert isinstance(
            read_pickle(b"\x80\x04" + arguments + b"cos\nsystem\n\x94" + b"h\x01h\x00R" * 10_000 + b"."), Inert
        )


def test_every_truncation_is_refused() -> None:
    data = pickle.dumps([VALUES, ARRAYS])
    for length in range(len(data)):
        with pytest.raises(ValueError):
            read_pickle(data[:length])


@given(st.binary(max_size=200), st.integers(0, 400), st.integers(0, 255))
def test_garbage_is_refused_or_read_as_something(garbage: bytes, place: int, byte: int) -> None:
    data = bytearray(pickle.dumps([VALUES, ARRAYS[0], {1}]))
    data[place % len(data)] = byte
    for changed in (garbage, bytes(data)):
        try:
            read_pickle(changed)
        except ValueError:
            pass
