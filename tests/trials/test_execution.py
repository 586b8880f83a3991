from pathlib import Path

import pytest

from acer_tf.errors import InputError, SupersededError
from acer_tf.trials.execution import Execution
from acer_tf.trials.scheduler import Trial, TrialStatus


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"workers": 0}, "workers is 0; expected a whole number >= 1."),
        ({"slots": 2}, "--slots requires --engine ray."),
        ({"ray_address": "a:1"}, "--ray_address requires --engine ray."),
        ({"engine": "ray", "slots": 0}, "slots is 0; expected a whole number >= 1."),
        ({"engine": "ray", "workers": 2}, "--workers has no effect with --engine ray; expected --slots."),
        ({"engine": "ray", "ray_address": "head"}, "ray_address is 'head'; expected HOST:PORT"),
    ],
)
def test_flags_that_cannot_work(flags: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Execution(**flags).check()  # type: ignore[arg-type]


def test_a_trial_on_ray_has_as_many_threads_as_processors() -> None:
    pong, on_three = "PongNoFrameskip-v4", Execution(engine="ray", trial_cpus=3)
    assert Execution(engine="ray").shares(pong, {"num_workers"}) == ["--threads", "1"]
    assert on_three.shares(pong, set()) == ["--threads", "3", "--num_workers", "3"]
    assert on_three.shares("CartPole-v1", set()) == ["--threads", "3"]
    assert Execution().shares(pong, set()) == []


def test_the_line_of_a_trial_that_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = [Trial("Freeway", seed, tmp_path / str(seed), ("acer_tf.run",)) for seed in (0, 1)]
    for trial in trials:
        trial.folder.mkdir()
    (trials[1].folder / "episodes.csv").write_text("steps,return\n2500,3\n5000,4\n")
    with Execution().sweep(tmp_path) as sweep:
        for trial in trials:
            sweep.report(trial, TrialStatus.DONE)
    assert capsys.readouterr().out.splitlines() == [
        "done Freeway seed 0: no episode ended",
        "done Freeway seed 1: 5,000 steps, mean return 3.5 of the last 100",
    ]


def test_a_table_that_another_host_has_taken_over_is_left_alone(tmp_path: Path) -> None:
    """That of a process that was suspended for longer than a lease."""
    with Execution().sweep(tmp_path) as sweep:
        (tmp_path / ".lease").unlink()
        (tmp_path / ".holder").write_text("another token")
        with pytest.raises(SupersededError, match=r"taken .* over, because this one gave no sign of life"):
            sweep.report(Trial("Freeway", 0, tmp_path / "0", ("acer_tf.run",)), TrialStatus.DONE)
    assert not (tmp_path / "sweep.csv").exists()
