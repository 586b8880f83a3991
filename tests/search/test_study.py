"""The course of a study, with trainings that this test plays: it writes what they would have logged."""

import errno
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import optuna
import pytest

from acer_tf.errors import InputError
from acer_tf.search import study as module
from acer_tf.search.space import Parameter
from acer_tf.search.study import JOURNAL, RUNGS, Runs, StudyQueue, learning_curve, open_study
from acer_tf.trials.scheduler import Trial, TrialStatus
from tests.plots.samples import write_run

SPACE = [Parameter("x", low=0.0, high=1.0)]
STEPS = 100 * RUNGS
"""An episode of 100 steps ends with each part of a training."""


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.0)


class Play:
    """A queue, and what it was told to make."""

    def __init__(
        self, folder: Path, count: int = 3, seeds: int = 2, pruner: str = "none", done: set[Trial] | None = None
    ) -> None:
        self.values: dict[int, Mapping[str, object]] = {}
        self.told: list[int] = []
        self.refuse: Callable[[int], bool] = lambda number: False
        self.is_stopped = False
        self.study, left = open_study(folder, "random", pruner, lambda: self.is_stopped)  # type: ignore[arg-type]

        def make(number: int, values: Mapping[str, object]) -> Runs:
            if self.refuse(number):
                raise InputError("these do not fit each other.")
            self.values[number] = values
            runs = [Trial(f"trial-{number}", s, folder / f"{number}" / f"{s}", ("command",)) for s in range(seeds)]
            return Runs(runs, STEPS)

        self.queue = StudyQueue(self.study, left, SPACE, count, make, (done or set()).__contains__, self.told.append)

    def start(self) -> Trial:
        trial = self.queue.take()
        assert trial is not None
        self.queue.note(trial, TrialStatus.RUNNING)
        return trial

    def end(self, trial: Trial, returns: list[float], status: TrialStatus = TrialStatus.DONE) -> TrialStatus:
        write_run(trial.folder, returns)
        label = self.queue.label(trial, status)
        self.queue.note(trial, status)
        return label

    def states(self) -> list[str]:
        return [trial.state.name for trial in self.study.trials]


def test_a_trials_value_is_the_mean_over_its_seeds(tmp_path: Path) -> None:
    play = Play(tmp_path, count=1)
    first, second = play.start(), play.start()
    assert (first.name, first.seed, second.seed) == ("trial-0", 0, 1)
    assert play.queue.take() is None
    assert play.queue.is_exhausted()
    play.end(second, [3.0] * RUNGS)
    assert play.states() == ["RUNNING"]
    play.end(first, [1.0] * RUNGS)
    (trial,) = play.study.trials
    assert (trial.state.name, trial.value, trial.user_attrs["returns"]) == ("COMPLETE", 2.0, [1.0, 3.0])
    assert trial.intermediate_values == dict.fromkeys(range(1, RUNGS + 1), 2.0)
    assert play.told == [0]


def test_trials_are_asked_for_until_there_are_enough(tmp_path: Path) -> None:
    play = Play(tmp_path, count=3, seeds=1)
    trials = [play.start() for _ in range(3)]
    assert play.queue.take() is None
    assert len({values["x"] for values in play.values.values()}) == 3
    for trial in trials:
        play.end(trial, [1.0])
    assert play.states() == ["COMPLETE"] * 3


def test_a_trial_below_the_median_of_others_is_pruned_for_all_its_seeds(tmp_path: Path) -> None:
    play = Play(tmp_path, count=7, pruner="median")
    for _ in range(5):
        for trial in (play.start(), play.start()):
            play.end(trial, [10.0] * RUNGS)
    bad, good = [play.start(), play.start()], [play.start(), play.start()]
    for trial, value in zip([*bad, *good], [20.0, -5.0, 20.0, 5.0], strict=True):  # means 7.5 and 12.5
        write_run(trial.folder, [value] * (RUNGS // 2))
    assert set(play.queue.superfluous()) == set(bad)
    assert play.states() == ["COMPLETE"] * 5 + ["PRUNED", "RUNNING"]
    pruned = play.study.trials[5]
    assert pruned.value == 7.5
    assert max(pruned.intermediate_values) == RUNGS // 4  # no earlier
    assert play.queue.label(bad[0], TrialStatus.STOPPED) == TrialStatus.PRUNED
    for trial in bad:
        play.queue.note(trial, TrialStatus.STOPPED)
    assert not play.queue.superfluous()
    assert play.queue.label(good[0], TrialStatus.STOPPED) == TrialStatus.STOPPED


def test_nothing_is_pruned_before_all_seeds_have_begun(tmp_path: Path) -> None:
    play = Play(tmp_path, count=6, pruner="median")
    for _ in range(5):
        for trial in (play.start(), play.start()):
            play.end(trial, [10.0] * RUNGS)
    first = play.start()
    write_run(first.folder, [0.0] * (RUNGS - 1))
    assert not play.queue.superfluous()
    second = play.start()
    assert not play.queue.superfluous()
    write_run(second.folder, [0.0] * (RUNGS - 1))
    assert set(play.queue.superfluous()) == {first, second}


def test_hyperband_prunes(tmp_path: Path) -> None:
    play = Play(tmp_path, count=20, seeds=1, pruner="hyperband")
    for number in range(20):
        trial = play.start()
        write_run(trial.folder, [float(-number)] * (RUNGS - 1))
        if play.queue.superfluous():
            play.queue.note(trial, TrialStatus.STOPPED)
        else:
            play.queue.note(trial, TrialStatus.DONE)
    assert set(play.states()) == {"COMPLETE", "PRUNED"}
    assert play.study.best_trial.number == 0


def test_a_failed_seed_ends_its_trial(tmp_path: Path) -> None:
    play = Play(tmp_path, count=2, seeds=3)
    first, second = play.start(), play.start()
    play.end(first, [1.0], TrialStatus.FAILED)
    assert play.states() == ["FAIL"]
    assert play.queue.superfluous() == [second]
    assert play.queue.label(second, TrialStatus.STOPPED) == TrialStatus.STOPPED, "not pruned"
    assert play.start().name == "trial-1"  # the third seed does not start
    play.queue.put_back(second)
    assert not play.queue._locked


def test_a_trial_without_an_episode_fails(tmp_path: Path) -> None:
    play = Play(tmp_path, count=1, seeds=1)
    play.queue.note(play.start(), TrialStatus.DONE)
    assert play.states() == ["FAIL"]


def test_settings_that_do_not_fit_each_other_count_and_the_next_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = Play(tmp_path, count=2, seeds=1)
    play.refuse = lambda number: number == 0
    assert play.start().name == "trial-1"
    assert "trial 0 cannot work: these do not fit each other." in capsys.readouterr().err
    assert play.states() == ["FAIL", "RUNNING"]
    assert play.queue.is_exhausted()


def test_after_a_kill_running_trials_go_on_with_the_same_settings_and_none_counts_twice(tmp_path: Path) -> None:
    before = Play(tmp_path, count=3)
    done, half, left, _ = (before.start() for _ in range(4))
    before.end(done, [1.0] * RUNGS)
    before.end(half, [3.0] * RUNGS)
    before.end(left, [5.0] * RUNGS)
    asked = optuna.trial.TrialState.RUNNING
    assert before.states() == ["COMPLETE", "RUNNING"]
    before.study._storage.create_new_trial(before.study._study_id)  # killed between asking and suggesting
    with (tmp_path / JOURNAL).open("a") as file:
        file.write('{"op_code":4,"worker')  # and while it was writing
    (tmp_path / f"{JOURNAL}.lock").symlink_to(tmp_path / JOURNAL)

    after = Play(tmp_path, count=3, done={left})
    assert after.values[1] == before.values[1]
    assert len(after.study.trials) == 3
    (again,) = [after.start()]
    assert (again.name, again.seed) == ("trial-1", 1)
    after.end(again, [7.0] * RUNGS)
    assert after.study.trials[1].value == 6.0
    for trial in (after.start(), after.start()):
        assert trial.name == "trial-2"
        after.end(trial, [1.0] * RUNGS)
    assert after.queue.take() is None
    assert after.states() == ["COMPLETE"] * 3
    assert not after.study.get_trials(states=[asked])
    assert len({values["x"] for values in (*before.values.values(), after.values[2])}) == 3


def test_what_was_reported_before_a_kill_is_not_reported_again(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    before = Play(tmp_path, count=1, seeds=1)
    trial = before.start()
    write_run(trial.folder, [1.0] * 4)
    before.queue.superfluous()
    assert list(before.study.trials[0].intermediate_values) == [1, 2, 3, 4]
    after = Play(tmp_path, count=1, seeds=1)
    trial = after.start()
    with (trial.folder / "episodes.csv").open("a") as file:
        file.write("500,6,100,0\n")
    after.queue.superfluous()
    assert after.study.trials[0].intermediate_values == {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 2.0}
    assert not recwarn.list


def test_a_trial_that_had_ended_when_the_search_was_killed_is_told_at_once(tmp_path: Path) -> None:
    before = Play(tmp_path, count=1)
    trials = {before.start(), before.start()}
    for trial in trials:
        write_run(trial.folder, [2.0] * RUNGS)
    after = Play(tmp_path, count=1, done=trials)
    assert after.states() == ["COMPLETE"]
    assert after.queue.is_exhausted()


def test_a_curve_goes_as_far_as_episodes_have_ended(tmp_path: Path) -> None:
    """Episodes end every 100 steps; a part has 150 steps."""
    run = write_run(tmp_path / "run", [1.0, 2.0, 3.0, 4.0])
    assert learning_curve(run, 150 * RUNGS, is_done=False) == [1.0, 2.0]  # over by step 400: those of 150 and 300
    assert learning_curve(run, 150 * RUNGS, is_done=True) == [1.0, 2.0] + [2.5] * (RUNGS - 2)


def test_before_the_first_episode_there_is_no_value(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [7.0])
    values = learning_curve(run, 40 * RUNGS, is_done=False)
    assert len(values) == 2 and all(map(math.isnan, values))
    assert learning_curve(tmp_path / "none", 100, is_done=False) == []
    assert len(learning_curve(tmp_path / "none", 100, is_done=True)) == RUNGS


def test_a_journal_that_cannot_be_written_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play = Play(tmp_path, count=2, seeds=1)
    failures = 0
    write = optuna.storages.journal.JournalFileBackend.append_logs

    def on_a_full_disk(self: object, logs: list[dict[str, object]]) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            with (tmp_path / JOURNAL).open("ab") as file:
                file.write(b'{"op_c')
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, logs)  # type: ignore[arg-type]

    monkeypatch.setattr(optuna.storages.journal.JournalFileBackend, "append_logs", on_a_full_disk)
    first = play.start()
    failures = 3
    play.end(first, [1.0] * RUNGS)
    assert failures == 0 and play.states() == ["COMPLETE"]
    assert capsys.readouterr().out.count("cannot be written (No space left on device)") == 1
    assert Play(tmp_path, count=2, seeds=1).states() == ["COMPLETE"]
    failures = 1
    play.is_stopped = True
    with pytest.raises(InputError, match=r"search.journal cannot be written \(No space left on device\)"):
        play.start()
    play.is_stopped = False
    assert Play(tmp_path, count=2, seeds=1).states() == ["COMPLETE"]


@pytest.mark.parametrize("line", ["garbage", "{}", "[1]", "7", '"op_code"x', "[" * 100_000])
def test_a_damaged_journal_is_one_sentence(tmp_path: Path, line: str) -> None:
    Play(tmp_path, count=1)
    text = (tmp_path / JOURNAL).read_text()
    (tmp_path / JOURNAL).write_text(f"{text}{line}\n{text}")
    number = text.count("\n") + 1
    with pytest.raises(InputError, match=f"line {number} of .*search.journal is damaged; choose another"):
        Play(tmp_path, count=1)


@pytest.mark.parametrize("content", ["{}\ncut", None])
def test_a_journal_that_is_a_link_is_refused_and_its_target_is_left(tmp_path: Path, content: str | None) -> None:
    target = tmp_path / "target"
    if content is not None:
        target.write_text(content)
    (tmp_path / "search.journal").symlink_to(target)
    with pytest.raises(InputError, match=r"search.journal is not a file; choose another folder"):
        open_study(tmp_path, "random", "none")
    assert (target.read_text() if target.exists() else None) == content


def test_a_journal_that_optuna_does_not_understand_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text('{"op_code": 4}\n')
    with pytest.raises(InputError, match=r"search.journal is damaged \(KeyError.*\); choose another folder"):
        Play(tmp_path, count=1)


def test_the_last_part_is_over_when_the_training_is(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0] * 20)
    assert len(learning_curve(run, 100 * RUNGS, is_done=False)) == RUNGS - 1
    assert len(learning_curve(run, 100 * RUNGS, is_done=True)) == RUNGS


def test_only_the_last_hundred_episodes_count(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1000.0] * 50 + [1.0] * 100)
    assert learning_curve(run, 15_000, is_done=True)[-1] == pytest.approx(1.0)
