import os
import signal

import pytest

from acer_tf.cluster.connection import connected, require_ray
from acer_tf.errors import InputError


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'^Ray is not installed; install it with: pip install "acer_tf\[ray\]"\.$'):
        require_ray()


def test_a_bad_address_is_refused_before_ray_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="expected HOST:PORT"), connected("ray://head:10001"):
        pass


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_starts_ray_with_a_token_joins_it_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    handler = signal.getsignal(signal.SIGTERM)
    with connected(cpus=1) as ray:
        address = ray.get_runtime_context().gcs_address
        assert signal.getsignal(signal.SIGTERM) is handler
        assert ray.cluster_resources()["CPU"] == 1
        assert ray.get(ray.remote(lambda: os.environ.get("RAY_AUTH_TOKEN")).remote()) == os.environ["RAY_AUTH_TOKEN"]
        with connected(address) as again:
            assert again is ray
        assert ray.is_initialized()
        monkeypatch.setenv("RAY_AUTH_TOKEN", "wrong")
        with pytest.raises(InputError, match="does not accept the token"), connected(address):
            pass
        folder = ray._private.worker._global_node.get_temp_dir_path()
        assert os.path.isdir(folder)
    assert not os.path.exists(folder)
    assert not {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_USAGE_STATS_ENABLED"} & os.environ.keys()
    monkeypatch.setenv("RAY_AUTH_TOKEN", "any")
    with pytest.raises(InputError, match="no Ray cluster answers"), connected(address):
        pass
