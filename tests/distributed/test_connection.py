import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import types

import pytest

from acer_tf.distributed.connection import connected
from acer_tf.errors import InputError

WITHOUT_RAY = r'^clusters and collectors need ray; install it with: pip install -e "\.\[ray\]"\.$'


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=WITHOUT_RAY), connected():
        pass


def test_ray_that_was_imported_without_authentication(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray reads its variables once, when it is imported."""
    imported = types.ModuleType("ray")
    imported.__spec__ = importlib.machinery.ModuleSpec("ray", None, origin="ray")
    imported.is_initialized = lambda: False  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", imported)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(InputError, match=r"^Ray was imported before .* set RAY_AUTH_MODE=token"), connected():
        pass
    assert "RAY_AUTH_MODE" not in os.environ


def test_a_bad_address_is_refused_before_ray_is_imported() -> None:
    with pytest.raises(InputError, match="expected HOST:PORT"), connected("ray://head:10001"):
        pass


USES = """
from contextlib import ExitStack
from acer_tf.distributed.connection import connected

first, second = ExitStack(), ExitStack()
ray = first.enter_context(connected(cpus=1))
assert second.enter_context(connected()) is ray
first.close()
print(ray.is_initialized(), ray.get(ray.put(3)))
second.close()
print(ray.is_initialized())
ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
with connected():
    pass
print(ray.is_initialized())
"""


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is an extra")
def test_the_last_user_ends_the_connection_and_nobody_the_users_own() -> None:
    done = subprocess.run([sys.executable, "-c", USES], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == ["True 3", "False", "True"], done.stderr
