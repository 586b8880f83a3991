import pytest

from benchmarks import throughput
from benchmarks.emulation import emulated_steps_per_second


def test_the_limit_is_products_and_the_emulator_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "emulated_steps_per_second", {"space_invaders": 2000.0}.get)
    numbers = {"matmul_gflops": 100.0, "env_steps_per_s": 250.0}
    found = throughput.limit(numbers, 1.5e8, "SpaceInvadersNoFrameskip-v4")
    assert found["emulated_steps_per_s"] == 2000
    assert found["times_its_limit"] == pytest.approx(0.004 / (0.0015 + 0.0005))


def test_the_emulator_alone_makes_steps() -> None:
    assert emulated_steps_per_second("pong") > 0
