import math
from typing import Any

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.experiments.results import Result, Returns
from benchmarks.beside_others import (
    CLASSIC,
    DOCS,
    GOALS,
    NAME,
    OTHERS,
    OURS,
    Goal,
    by_minutes,
    by_steps,
    curve,
    iqm_rows,
    minute_rows,
    page,
    picture,
    read_runs,
    side_by_side,
    so_far,
    traits,
    verdict,
)


def run(levels: list[float], seconds: float, steps: int = 1000, trained: int = 1000, seed: int = 60) -> Result:
    """A run whose bins have these returns, evenly over its time and the steps that it was trained."""
    places = np.arange(1, len(levels) + 1) / len(levels)
    returns = Returns(places * trained, np.array(levels), np.ones(len(levels)), places * seconds)
    facts: dict[str, Any] = {"seed": seed, "steps": steps, "trained": trained, "seconds": seconds}
    return Result({**facts, "commit": "abc", "processor": "P"}, returns)


def runs(**of_cartpole: list[Result]) -> dict[str, dict[str, list[Result]]]:
    none: dict[str, list[Result]] = {name: [] for name in (OURS, *OTHERS)}
    return {**dict.fromkeys((*CLASSIC, "Ant-v5"), none), "CartPole-v1": {**none, **of_cartpole}}


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (1, 10.0),  # a single bin of 60 s
        (5, 50.0),  # from 240 to 300 s: 50
        (10, 95.0),  # from 480 to 600 s: 90 and 100
        (20, 95.0),  # the run has ended
    ],
)
def test_scores_after_minutes(minutes: int, expected: float) -> None:
    assert by_minutes(minutes)(run([10.0 * i for i in range(1, 11)], 600)) == expected


def test_where_bins_are_wide_the_last_one_before_counts() -> None:
    wide = run([10.0, 20.0, 30.0, 40.0], 600)  # a bin of 250 steps
    assert [by_steps(steps)(wide) for steps in (500, 700, 740)] == [20, 20, 20]
    assert math.isnan(by_steps(240)(wide))


def test_a_run_that_was_cut_has_no_score_after_it() -> None:
    cut = run([10.0 * i for i in range(1, 11)], 600, steps=2000)
    assert by_minutes(10)(cut) == 95
    assert math.isnan(by_minutes(20)(cut))
    assert by_steps(1000)(cut) == 95 and math.isnan(by_steps(2000)(cut))
    within = Result({**cut.facts, "trained": 950}, cut.training)  # whose last bin would have ended at 1,000
    assert by_steps(950)(within) == 90  # 80, 90 and 100


def test_a_run_that_has_done_all_of_its_steps_keeps_its_last_score() -> None:
    whole = run([10.0 * i for i in range(1, 11)], 600)
    assert [by_steps(steps)(whole) for steps in (500, 1000, 2000)] == [50, 95, 95]


def thrice(level: float, trained: int = 1000) -> list[Result]:
    return [run([level], 60, trained=trained, seed=seed) for seed in (60, 61, 62)]


def test_goals_are_reached_missed_or_open() -> None:
    goal = Goal("", ("ppo", "a2c", "sac"), 1, minutes=1)  # SAC does not suit discrete actions
    ahead = runs(acer=thrice(10), ppo=thrice(9), a2c=thrice(8))
    assert verdict(ahead, goal) == "reached: 1 of 1 tasks"
    behind_one = runs(acer=thrice(10), ppo=thrice(9), a2c=thrice(11))
    assert verdict(behind_one, goal) == "open: ahead in 0 of 1 tasks, 1 are wanted; 4 of 5 tasks are incomplete"
    assert verdict(behind_one, goal._replace(tasks=CLASSIC[:1])) == "missed: ahead in 0 of 1 tasks, 1 are wanted"


@pytest.mark.parametrize("a2c", [[], [run([8.0], 60)]])
def test_a_task_with_an_algorithm_left_out_or_with_few_runs_does_not_count(a2c: list[Result]) -> None:
    goal = Goal("", ("ppo", "a2c"), 1, minutes=1)
    part = runs(acer=thrice(10), ppo=thrice(9), a2c=a2c)
    assert verdict(part, goal) == "open: ahead in 0 of 0 tasks, 1 are wanted; 5 of 5 tasks are incomplete"
    assert so_far(part, goal) == ("1 of 1" if a2c else "0 of 0")


def test_minutes_of_a_seed_are_those_of_one_processor() -> None:
    goal = Goal("", ("ppo",), 1, minutes=1, tasks=CLASSIC[:1])
    mixed = runs(acer=thrice(10), ppo=[*thrice(9)[:2], elsewhere(thrice(9)[2])])
    assert verdict(mixed, goal) == "open: ahead in 0 of 0 tasks, 1 are wanted; 1 of 1 tasks are incomplete"
    assert verdict(mixed, goal._replace(minutes=None)) == "reached: 1 of 1 tasks"
    assert list(minute_rows(side_by_side(mixed), 1)) == [["CartPole-v1", "**10 (2)**", "9 (2)", "", "", "", "", ""]]
    both = runs(acer=[*thrice(10)[:2], elsewhere(thrice(10)[2])], ppo=mixed["CartPole-v1"]["ppo"])
    assert verdict(both, goal) == "reached: 1 of 1 tasks"
    assert "* Processors: P (CartPole-v1), Q (CartPole-v1).\n" in page(both)


def elsewhere(run: Result) -> Result:
    return Result({**run.facts, "processor": "Q"}, run.training)


def test_equal_steps_are_those_of_the_others_shortest_run() -> None:
    goal = Goal("", ("ppo",), 1, tasks=CLASSIC[:1])
    ours = [run([1.0, 9.0], 60, seed=seed) for seed in (60, 61, 62)]
    assert verdict(runs(acer=ours, ppo=thrice(3, trained=500)), goal).startswith("missed")  # 1 after 500 steps
    assert verdict(runs(acer=ours, ppo=thrice(3)), goal).startswith("reached")  # 9 after 1,000


def test_the_page_marks_the_best_and_names_where_others_are_ahead() -> None:
    found = runs(acer=[run([10.0], 60, seed=s) for s in (60, 61, 62)], ppo=[run([9.0], 60)], dqn=[run([12.0], 60)])
    assert list(minute_rows(found, 1)) == [["CartPole-v1", "10", "9 (1)", "", "**12 (1)**", "", "", ""]]
    text = page(found)
    minutes = "; ".join(f"DQN 12 after {m} (ACER 10)" for m in ("1 minute", "5 minutes", "20 minutes"))
    assert f"* CartPole-v1: {minutes}; DQN 12 after 1,000 steps (ACER 10)\n\n" in text
    none = "ACER 0, PPO 0, A2C 0, DQN 0, QR-DQN 0"
    assert (
        f"* CartPole-v1: PPO 1, A2C 0, DQN 1, QR-DQN 0\n* Acrobot-v1, MountainCar-v0, LunarLander-v3: {none}\n" in text
    )
    assert "* Ant-v5: ACER 0, PPO 0, A2C 0, SAC 0, TD3 0\n" in text
    assert "| CartPole-v1 | DQN | 1,000 |  |  | 10 | 12 (1) |" in text


def test_the_page_is_what_the_command_writes() -> None:
    """Else run it: `python -m benchmarks.beside_others`."""
    assert (DOCS / f"{NAME}.md").read_text(encoding="utf-8") == page(read_runs())


def test_scores_over_tasks_are_interquartile_means_between_random_play_and_the_best() -> None:
    low = traits("CartPole-v1").returned
    ours = [run([low + level], 60, seed=seed) for seed, level in enumerate((30.0, 40.0, 50.0, 80.0))]  # 50 on average
    cartpole = runs(acer=ours, ppo=[run([low + 25], 60)], dqn=[run([low + 100], 300)])
    low = traits("Ant-v5").returned
    ant = {
        **cartpole["Acrobot-v1"],
        "acer": [run([low + 10], 60)],
        "ppo": [run([low + 5], 60)],
        "sac": [run([low], 60)],
    }
    assert list(iqm_rows({**cartpole, "Ant-v5": ant}, 5)) == [
        ["5 minutes", "PPO", "2", "0.57", "0.38"],  # the middle of .3, .4, .5, .8, 1; .25 and .5
        ["5 minutes", "DQN", "1", "0.45", "1.00"],
        ["5 minutes", "SAC", "1", "1.00", "0.00"],
    ]


def test_a_task_where_a_run_was_cut_before_is_left_out() -> None:
    cut = runs(acer=thrice(10), ppo=[run([9.0], 60, steps=2000)])
    assert [row[0] for minutes in (1, 5) for row in iqm_rows(cut, minutes)] == ["1 minute"]


def test_curves_go_on_for_twenty_minutes_and_are_drawn_for_each_algorithm() -> None:
    drawn = curve(run([1.0, 2.0, 3.0, 4.0], 2400), "CartPole-v1", "qrdqn")
    assert (drawn.setting, drawn.env) == ("QR-DQN", "CartPole-v1")
    assert list(drawn.x) == [10, 20] and list(drawn.mean) == [1, 2]
    assert picture(runs(acer=thrice(10), ppo=[run([9.0], 60)])).startswith(b"\x89PNG")


def test_a_task_without_a_measure_of_random_play_is_refused() -> None:
    with pytest.raises(InputError, match=r"^Chess-v0 is not in tasks\.csv; run python -m benchmarks\.tasks once"):
        traits("Chess-v0")


def test_readme_tells_what_the_page_tells() -> None:
    found = read_runs()
    after_minutes, after_steps = (so_far(found, goal) for goal in GOALS[:2])
    readme = " ".join((DOCS.parent / "README.md").read_text(encoding="utf-8").split())
    assert f"ahead of all that suit a task in {after_minutes}, and after equal steps" in readme
    assert f"ahead of PPO and A2C in {after_steps}." in readme
