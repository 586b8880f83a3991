import pytest

from acer_tf.agent import ACER
from tests.small_agents import tiny


@pytest.fixture(scope="module")
def agent() -> ACER:
    """One that has learned a little; a test must leave it as it was."""
    return tiny().learn(60, log_interval=1)
