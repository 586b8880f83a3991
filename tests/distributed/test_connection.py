import pytest

from acer_tf.distributed.connection import connected, require_ray
from acer_tf.errors import InputError


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'^Ray is not installed; install it with: pip install -e "\.\[ray\]"\.$'):
        require_ray()


def test_a_bad_address_is_refused_before_ray_is_imported() -> None:
    with pytest.raises(InputError, match="expected HOST:PORT"), connected("ray://head:10001"):
        pass
