import importlib

import pytest


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("packages", ["minigrd"], "minigrd is not a package to try; the nearest are minigrid, MinAtar"),
        ("throughput", ["--replay_ratio", "0"], "replay_ratio is 0.0; expected a finite number > 0."),
        ("original", ["folder", "--rounds", "0"], "rounds is 0; expected a whole number >= 1."),
        ("original", ["folder", "--threads", "0"], "threads is 0; expected a whole number >= 1, or None."),
        ("original", ["folder"], "folder does not hold baselines 0.1.5"),
        ("original_curves", ["folder"], "folder does not hold baselines 0.1.5"),
        ("growth", ["--lengths", "0"], "lengths is (0,); expected whole numbers >= 1."),
        ("collectors", ["--repeats", "0"], "repeats is 0; expected a whole number >= 1."),
        ("checkpoints", ["--steps_per_s", "0"], "steps_per_s is 0.0; expected a finite number > 0."),
        ("device", ["--num_envs", "0"], "num_envs is (0,); expected whole numbers >= 1."),
    ],
)
def test_flags_that_cannot_work_end_before_anything_is_measured(
    name: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert importlib.import_module(f"benchmarks.{name}").main(words) == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith(f"error: {message}")


def test_packages_that_are_missing_are_said_before_any_is_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import packages

    monkeypatch.setattr(packages, "PACKAGES", {"numpy": None, "no-such-package": None})
    assert packages.main([]) == 2
    assert capsys.readouterr() == (
        "",
        "error: no-such-package is not installed; install it with: pip install no-such-package.\n",
    )
