import dataclasses
import errno
import os
import signal
import time

import pytest

from acer_tf.cli.command import command, guarded
from acer_tf.errors import EnvironmentFailedError, InputError, StoppedError


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (InputError("no such thing."), 2, "error: no such thing.\n"),
        (InputError("no \x1b[31m."), 2, "error: no \\x1b[31m.\n"),
        (
            OSError(errno.EMFILE, "Too many open files"),
            2,
            "error: more files are open than the system allows; raise its limit (ulimit -n).\n",
        ),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_errors_become_a_line_and_a_status(
    error: BaseException, status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @guarded
    def main(argv: object) -> int:
        raise error

    assert main([]) == status
    assert capsys.readouterr().err == line


def test_sigterm_ends_a_command_after_its_cleanup(capsys: pytest.CaptureFixture[str]) -> None:
    cleaned, handler = list[bool](), signal.getsignal(signal.SIGTERM)

    @guarded
    def main(argv: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(30)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)  # as `timeout` sends it twice
            cleaned.append(True)
        return 0

    with pytest.raises(StoppedError) as stopped:
        main([])
    assert (stopped.value.code, cleaned, capsys.readouterr().err) == (143, [True], "terminated\n")
    assert signal.getsignal(signal.SIGTERM) is handler


def test_other_errors_pass() -> None:
    @guarded
    def main(argv: object) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        main([])


@dataclasses.dataclass(frozen=True)
class Repeat:
    times: int = 1


@pytest.mark.parametrize(("returned", "status"), [(None, 0), (0, 0), (1, 1)])
def test_a_command_runs_with_its_flags(returned: int | None, status: int) -> None:
    seen: list[Repeat] = []

    def run(flags: Repeat) -> int | None:
        seen.append(flags)
        return returned

    assert command("acer_tf.some", Repeat, run)(["--times", "3"]) == status
    assert seen == [Repeat(3)]


def test_a_command_turns_errors_into_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    def run(flags: Repeat) -> None:
        raise EnvironmentFailedError("it broke.")

    assert command("acer_tf.some", Repeat, run)([]) == 1
    assert capsys.readouterr().err == "error: it broke.\n"
