import contextlib
import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acer_tf.storage.lock import locked
from acer_tf.trials import scheduler as module
from acer_tf.trials.scheduler import LocalEngine, LockedTrials, Trial, TrialQueue, run_trials


def python(code: str) -> tuple[str, ...]:
    """Runs code once, as a command after `python -m`."""
    return ("timeit", "-n1", "-r1", code)


def trial(folder: Path, name: str, *command: str) -> Trial:
    return Trial(name, 0, folder / name / "seed-0", command)


def noted(
    trials: list[Trial], workers: int = 1, stop: Callable[[list[str]], bool] = lambda seen: False
) -> list[tuple[str, str]]:
    """What `run_trials` reports."""
    seen: list[tuple[str, str]] = []
    run_trials(
        TrialQueue(trials),
        LocalEngine(workers),
        lambda: stop([s for _, s in seen]),
        lambda t, status: seen.append((t.name, status)),
    )
    return seen


def test_a_failing_trial_does_not_stop_the_rest(tmp_path: Path) -> None:
    trials = [
        trial(tmp_path, "bad", "json.tool", "missing.json"),
        trial(tmp_path, "killed", *python("import os; os.kill(os.getpid(), 9)")),
        trial(tmp_path, "good", *python("print('all well')")),
    ]
    assert noted(trials) == [
        ("bad", "running"),
        ("bad", "failed"),
        ("killed", "running"),
        ("killed", "failed"),
        ("good", "running"),
        ("good", "done"),
    ]
    bad, killed, good = (t.log.read_text() for t in trials)
    assert "missing.json" in bad
    assert killed.strip() == "ended by SIGKILL"
    assert good.startswith("all well")


def test_without_room_nothing_starts_and_then_the_same_trial_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A search would ask for other settings meanwhile."""
    monkeypatch.setattr(module, "WITHOUT_ROOM_SECONDS", 0.1)
    asked, start_module = list[Path](), module.start_module

    def full_disk(command: tuple[str, ...], log: Path) -> Any:
        asked.append(log)
        if len(asked) < 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return start_module(command, log)

    monkeypatch.setattr(module, "start_module", full_disk)
    first, second = trial(tmp_path, "first", *python("pass")), trial(tmp_path, "second", *python("pass"))
    seen = noted([first, second])
    assert seen == [("first", "running"), ("first", "done"), ("second", "running"), ("second", "done")]
    assert asked == [first.log] * 3 + [second.log]
    message = "first seed 0 cannot start ([Errno 28] No space left on device); it will be tried again\n"
    assert capsys.readouterr().err == 2 * message


def test_a_trial_that_never_can_start_has_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = trial(tmp_path, "first", *python("pass")), trial(tmp_path, "second", *python("pass"))
    first.log.mkdir(parents=True)
    assert noted([first, second]) == [("first", "failed"), ("second", "running"), ("second", "done")]
    assert "first seed 0 cannot start ([Errno 21] Is a directory" in capsys.readouterr().err


def test_as_many_side_by_side_as_there_are_workers(tmp_path: Path) -> None:
    """Each waits for the other's file, which it can only see if both run."""
    meet = "import pathlib, time\nopen('{}', 'w')\nwhile not pathlib.Path('{}').exists(): time.sleep(0.05)"
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    trials = [trial(tmp_path, "a", *python(meet.format(a, b))), trial(tmp_path, "b", *python(meet.format(b, a)))]
    seen = noted([*trials, trial(tmp_path, "c", *python("pass"))], workers=2)
    assert seen[:2] == [("a", "running"), ("b", "running")]
    assert sorted(seen[2:]) == [("a", "done"), ("b", "done"), ("c", "done"), ("c", "running")]


@pytest.mark.parametrize("workers", [1, 2])
def test_told_to_stop_it_tells_the_running_and_starts_no_other(tmp_path: Path, workers: int) -> None:
    trials = [trial(tmp_path, name, *python("import time; time.sleep(600)")) for name in "ab"]
    seen = noted(trials, workers, stop=lambda statuses: "running" in statuses)
    assert seen == [("a", "running"), ("a", "stopped")]


def test_nothing_is_left_running_where_it_ends_at_once(tmp_path: Path) -> None:
    seen: list[Trial] = []

    def second_signal(told: Trial, status: str) -> None:
        seen.append(told)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        endless = trial(tmp_path, "a", *python("import time; time.sleep(600)"))
        run_trials(TrialQueue([endless]), LocalEngine(1), lambda: False, second_signal)
    assert len(seen) == 1  # and this test would last ten minutes if the trial went on


def test_a_signal_of_the_terminal_does_not_reach_a_trial(tmp_path: Path) -> None:
    """Ctrl-C goes to the terminal's session."""
    one = trial(tmp_path, "a", *python("import os; print('own', os.getsid(0) == os.getpid())"))
    assert noted([one])[-1] == ("a", "done")
    assert one.log.read_text().startswith("own True")


def test_a_trial_in_whose_folder_another_process_works_waits_for_it_after_all_others(tmp_path: Path) -> None:
    lock = (
        "import os; from pathlib import Path; from acer_tf.errors import LockedError; from acer_tf.storage.lock "
        "import locked\ntry:\n  with locked(Path('{}')): pass\nexcept LockedError: os._exit(69)"
    )
    busy, other = trial(tmp_path, "busy", "none"), trial(tmp_path, "other", *python("pass"))
    busy.folder.mkdir(parents=True)
    busy = busy._replace(command=python(lock.format(busy.folder)))
    seen: list[tuple[str, str]] = []
    with contextlib.ExitStack() as work:
        work.enter_context(locked(busy.folder))

        def note(told: Trial, status: str) -> None:
            seen.append((told.name, status))
            if (told.name, status) == ("other", "done"):
                work.close()

        run_trials(TrialQueue([busy, other]), LocalEngine(1), lambda: False, note)
    assert seen == [
        *[("busy", "running"), ("busy", "locked")],
        *[("other", "running"), ("other", "done")],
        *[("busy", "running"), ("busy", "done")],
    ]


def test_a_stop_ends_the_waiting_for_another_process(tmp_path: Path) -> None:
    busy = trial(tmp_path, "busy", *python("import os; os._exit(69)"))
    assert noted([busy], stop=lambda statuses: "locked" in statuses) == [("busy", "running"), ("busy", "locked")]


def test_a_locked_trial_waits_twice_as_long_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    locked_trials, one = LockedTrials(), trial(tmp_path, "a")
    for seconds in (2, 4, 8, 16, 32, 60, 60):
        locked_trials.add(one)
        now += seconds - 0.1
        assert locked_trials.take() is None
        assert len(locked_trials) == 1
        now += 0.2
        assert locked_trials.take() == one
        assert not locked_trials
    locked_trials.add(one)
    locked_trials.remove([one])
    assert not locked_trials


def test_superfluous_trials_are_stopped_and_others_go_on(tmp_path: Path) -> None:
    class Picky(TrialQueue):
        def superfluous(self) -> list[Trial]:
            return [endless]

    endless, short = trial(tmp_path, "a", *python("import time; time.sleep(600)")), trial(tmp_path, "b", *python("0"))
    seen = []
    run_trials(Picky([endless, short]), LocalEngine(2), lambda: False, lambda t, status: seen.append((t.name, status)))
    assert sorted(seen[2:]) == [("a", "stopped"), ("b", "done")]
