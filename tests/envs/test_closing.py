import pytest

from acer_tf.envs.closing import close_quietly, closing
from acer_tf.errors import InputError


class Closable:
    """Raises an error when it is closed, if it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [AttributeError("no viewer"), InputError("no viewer")])
def test_an_error_of_close_is_a_warning(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    close_quietly(Closable(error))
    out, err = capsys.readouterr()
    assert not out and err.startswith("warning: the environments could not be closed: ") and "no viewer" in err


def test_what_was_wrong_before_stays_what_is_raised() -> None:
    env = Closable(AttributeError("no viewer"))
    with pytest.raises(ZeroDivisionError), closing(env):
        raise ZeroDivisionError
    assert env.is_closed
