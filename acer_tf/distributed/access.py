"""Access to a Ray cluster: its token, and a check that the cluster requires and accepts it before Ray connects."""

import os
import re
import secrets
from pathlib import Path

from acer_tf.errors import InputError

MODE, TOKEN, TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
"""Ray's environment variables for the authentication of processes and nodes."""
DEFAULT_TOKEN_PATH = Path(".ray") / "auth_token"
"""Ray's default file for the token, below the home directory."""
PROBE_SECONDS = 5.0
TOKEN_HINT = (
    "start every node with RAY_AUTH_MODE=token and the same token, which `ray get-auth-token --generate` writes to "
    "~/.ray/auth_token (or set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to a file)"
)

_CHECK_ALIVE = "/ray.rpc.NodeInfoGcsService/CheckAlive"
_ADDRESS = re.compile(r"([^\s:/\[\]]+|\[[0-9a-fA-F:.]+\]):\d{1,5}")


def token_variables(is_new: bool) -> dict[str, str]:
    """Returns the environment variables that a process needs to authenticate itself.

    Args:
        is_new: whether a new cluster starts, for which a missing token is made.

    Raises:
        InputError: the user has disabled authentication, or there is no token for an existing cluster.
    """
    if os.environ.get(MODE, "token").lower() != "token":
        raise InputError(
            f"{MODE} is '{os.environ[MODE]}', so anybody who can reach Ray's ports could run code here; "
            f"expected {MODE}=token or no such variable."
        )
    token = _token() or (secrets.token_hex(32) if is_new else "")
    if not token:
        raise InputError(f"there is no token for the Ray cluster: {TOKEN_HINT}.")
    return {MODE: "token", TOKEN: token}


def check_address(address: str) -> None:
    """Raises InputError unless an address has the form HOST:PORT."""
    if not _ADDRESS.fullmatch(address):
        raise InputError(f"ray_address is '{address}'; expected HOST:PORT of a cluster's head, such as 10.0.0.1:6379.")


def check_access(address: str, token: str) -> None:
    """Checks within milliseconds that a cluster answers, requires a token, and accepts this one.

    Ray itself would keep trying for long. The token is not sent to a cluster that does not require one.

    Raises:
        InputError: it does not.
    """
    import grpc

    def answer(metadata: tuple[tuple[str, str], ...]) -> grpc.StatusCode:
        try:
            channel.unary_unary(_CHECK_ALIVE)(b"", metadata=metadata, timeout=PROBE_SECONDS)
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        status = answer(())
        if status == grpc.StatusCode.OK:
            raise InputError(
                f"the Ray cluster at {address} requires no token, so anybody who can reach its ports can run code "
                f"on it; {TOKEN_HINT}."
            )
        if status == grpc.StatusCode.UNAUTHENTICATED:
            status = answer((("authorization", f"Bearer {token}"),))
            if status == grpc.StatusCode.UNAUTHENTICATED:
                place = TOKEN if TOKEN in os.environ else _token_path()
                raise InputError(
                    f"the Ray cluster at {address} does not accept the token of this process ({place}); "
                    "expected the one with which the cluster was started."
                )
        if status != grpc.StatusCode.OK:
            raise InputError(f"no Ray cluster answers at {address} ({status.name}); expected HOST:PORT of its head.")


def _token() -> str:
    if TOKEN in os.environ:
        return os.environ[TOKEN].strip()
    path = _token_path()
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the token of the Ray cluster cannot be read from {path} ({error}).") from error


def _token_path() -> Path:
    return Path(os.environ.get(TOKEN_PATH) or Path.home() / DEFAULT_TOKEN_PATH)
