import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from acer_tf.distributed.access import check_access, check_address, token_variables
from acer_tf.errors import InputError


class Head(grpc.GenericRpcHandler):
    """A server that wants a token as Ray's does, and remembers what it was sent."""

    def __init__(self, token: str | None) -> None:
        self.token = token
        self.seen: list[str | None] = []

    def service(self, details: Any) -> Any:
        assert details.method == "/ray.rpc.NodeInfoGcsService/CheckAlive"
        sent = dict(details.invocation_metadata).get("authorization")
        self.seen.append(sent)

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            if self.token is not None and sent != f"Bearer {self.token}":
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken")
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)


@contextlib.contextmanager
def serving(head: Head) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(1), handlers=[head])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_the_right_token_is_accepted_and_sent_only_when_it_is_wanted() -> None:
    head = Head("right")
    with serving(head) as address:
        check_access(address, "right")
    assert head.seen == [None, "Bearer right"]


def test_a_cluster_without_authentication_is_refused_and_does_not_see_the_token() -> None:
    head = Head(None)
    with serving(head) as address, pytest.raises(InputError, match=r"requires no token.*RAY_AUTH_MODE=token"):
        check_access(address, "secret")
    assert head.seen == [None]


def test_a_wrong_token_is_named_by_its_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with serving(Head("right")) as address:
        with pytest.raises(InputError, match=rf"does not accept the token .*\({tmp_path}/.ray/auth_token\)"):
            check_access(address, "wrong")
        monkeypatch.setenv("RAY_AUTH_TOKEN", "wrong")
        with pytest.raises(InputError, match=r"of this process \(RAY_AUTH_TOKEN\)"):
            check_access(address, "wrong")


def test_nobody_at_the_address() -> None:
    with pytest.raises(InputError, match=r"no Ray cluster answers at 127\.0\.0\.1:1 "):
        check_access("127.0.0.1:1", "x")


@pytest.mark.parametrize("address", ["head:6379", "10.0.0.1:6379", "[fe80::1]:6379"])
def test_addresses(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize("address", ["", "head", "ray://head:10001", "head:", "head:x", "auto", "fe80::1:6379"])
def test_bad_addresses(address: str) -> None:
    with pytest.raises(InputError, match="expected HOST:PORT"):
        check_address(address)


def test_where_the_token_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no token for the Ray cluster: start every node with"):
        token_variables(is_new=False)
    made = token_variables(is_new=True)
    assert len(made["RAY_AUTH_TOKEN"]) == 64
    assert made != token_variables(is_new=True)

    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("from-home\n")
    assert token_variables(is_new=True) == {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "from-home"}
    (tmp_path / "mine").write_text("from-file")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "mine"))
    assert token_variables(is_new=False)["RAY_AUTH_TOKEN"] == "from-file"
    monkeypatch.setenv("RAY_AUTH_TOKEN", "from-variable")
    assert token_variables(is_new=False)["RAY_AUTH_TOKEN"] == "from-variable"

    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(InputError, match="RAY_AUTH_MODE is 'disabled'"):
        token_variables(is_new=True)
