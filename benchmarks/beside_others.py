"""Writes docs/beside-others.md and its plot from the results of `beside-others`: `python -m benchmarks.beside_others`.

The goals below were written before the first run, for 20 tasks; two tasks were added later.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from acer_tf.configs.tasks import FILE, MINUTES, Traits, tasks
from acer_tf.errors import InputError
from acer_tf.experiments.reading import load_experiment
from acer_tf.experiments.results import Floats, Result, Returns, read
from acer_tf.plots.curves import Curve, mean_curve, run_curve
from acer_tf.plots.figures import View, figure_of_curves
from acer_tf.plots.statistics import iqm
from acer_tf.plots.style import rendered, styled
from acer_tf.storage.durable import replace
from acer_tf.system.console import counted

NAME = "beside-others"
DOCS = Path(__file__).parents[1] / "docs"
OURS = "acer"
OTHERS = {"ppo": "PPO", "a2c": "A2C", "dqn": "DQN", "qrdqn": "QR-DQN", "sac": "SAC", "td3": "TD3"}
"""Names of the algorithms of `benchmarks.peers`, in results and on the page."""
NAMES = {OURS: "ACER", **OTHERS}
"""Names of all algorithms."""
SUITED = {"discrete": ("ppo", "a2c", "dqn", "qrdqn"), "continuous": ("ppo", "a2c", "sac", "td3")}
"""Algorithms by the kind of actions that they support."""
WINDOW = 0.8
"""Beginning of the part before a time or step whose episodes count, as a fraction of it."""
SEEDS = 3
"""Seeds of each algorithm; tables give the number if there are fewer, and goals leave such tasks out."""

Runs = Mapping[str, Mapping[str, Sequence[Result]]]
"""Results by environment and variation."""
Score = Callable[[Result], float]
Row = list[str]


class Goal(NamedTuple):
    """A goal: a higher mean over the seeds than every other algorithm that suits a task.

    Attributes:
        name: the goal in words.
        others: algorithms to beat.
        wins: number of tasks in which to beat them.
        minutes: time after which to compare; None for equal steps, those of the other algorithm in the zoo.
        steps: number of steps after which to compare instead.
        tasks: the tasks that count; empty for all.
    """

    name: str
    others: tuple[str, ...]
    wins: int
    minutes: int | None = None
    steps: int | None = None
    tasks: tuple[str, ...] = ()


CLASSIC = ("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "LunarLander-v3")
GOALS = (
    Goal("ahead of every other after 5 minutes", tuple(OTHERS), 19, minutes=5),
    Goal("ahead of PPO and A2C at equal steps", ("ppo", "a2c"), 19),
    Goal("ahead of DQN after 50,000 steps of classic tasks", ("dqn",), 4, steps=50_000, tasks=CLASSIC),
    Goal("ahead of DQN after 100,000 steps of classic tasks", ("dqn",), 4, steps=100_000, tasks=CLASSIC),
)


def by_steps(steps: float) -> Score:
    """Returns a function that scores a run by the episodes that ended shortly before a number of agent steps.

    A run that has done all its steps keeps its last score; one that was cut before has none.
    """

    def score(run: Result) -> float:
        if not run.is_whole and steps > run.facts["trained"]:
            return math.nan
        ends = np.minimum(run.training.steps, run.facts["trained"])  # a cut run ends within a bin
        return before(min(steps, run.facts["steps"]), ends, run.training)

    return score


def by_minutes(minutes: float) -> Score:
    """Returns a function that scores a run by the episodes that ended shortly before a time; see also `by_steps`."""

    def score(run: Result) -> float:
        until, seconds = 60 * minutes, run.training.seconds
        if until > seconds[-1]:
            if not run.is_whole and until > run.facts["seconds"]:
                return math.nan
            until = seconds[-1]
        return before(until, seconds, run.training)

    return score


def before(until: float, places: Floats, returns: Returns) -> float:
    """Returns the mean of the episodes in bins that end in the last fifth before a place; nan before the first bin.

    If bins are wider than that, as at the beginning, it is the mean of the last bin before the place.
    """
    inside = (places > WINDOW * until) & (places <= until)
    if not inside.any():
        inside = places == max(places[places <= until], default=math.nan)
    return float(np.average(returns.mean[inside], weights=returns.episodes[inside])) if inside.any() else math.nan


def mean(runs: Sequence[Result], score: Score) -> float:
    """Returns the mean over the seeds, or nan if a run has no score."""
    return float(np.mean([score(run) for run in runs])) if runs else math.nan


def traits(env_id: str) -> Traits:
    """Returns a task's traits as known to `acer suggest`.

    Raises:
        InputError: it does not know the task yet.
    """
    for task in tasks():
        if task.env == env_id:
            return task.traits
    raise InputError(f"{env_id} is not in {FILE.name}; run python -m benchmarks.tasks once its preset has a whole run.")


def suited(env_id: str) -> tuple[str, ...]:
    """Returns the algorithms that support the actions of a task."""
    return SUITED[traits(env_id).actions]


def pair(runs: Mapping[str, Sequence[Result]], other: str, goal: Goal) -> tuple[float, float]:
    """Returns the scores of this package and of another algorithm that a goal compares, or nan without runs."""
    score = by_minutes(goal.minutes) if goal.minutes else by_steps(goal.steps or zoo_steps(runs[other]))
    return mean(runs[OURS], score), mean(runs[other], score)


def zoo_steps(runs: Sequence[Result]) -> int:
    """Returns the steps of an algorithm's runs, or of the shortest if a run was cut."""
    return min((min(int(run.facts["steps"]), int(run.facts["trained"])) for run in runs), default=0)


def verdict(runs: Runs, goal: Goal) -> str:
    """Judges a goal by the tasks in which every algorithm has all its runs."""
    wins, played = standing(runs, goal, SEEDS)
    considered = len(goal.tasks or runs)
    rest = f"; {considered - played} of {considered} tasks are incomplete" if played < considered else ""
    if wins >= goal.wins:
        return f"reached: {wins} of {played} tasks"
    state = "missed" if wins + considered - played < goal.wins else "open"
    return f"{state}: ahead in {wins} of {played} tasks, {goal.wins} are wanted{rest}"


def so_far(runs: Runs, goal: Goal) -> str:
    """Counts the tasks in which every algorithm has a run."""
    return "{} of {}".format(*standing(runs, goal, 1))


def standing(runs: Runs, goal: Goal, seeds: int) -> tuple[int, int]:
    """Returns in how many tasks this package is ahead, and how many tasks can be judged.

    These are the tasks in which every algorithm in the goal that suits their actions has runs with that many seeds.
    """
    runs = side_by_side(runs) if goal.minutes else runs
    wins, played = 0, 0
    for env in goal.tasks or runs:
        others = [other for other in suited(env) if other in goal.others]
        groups = [runs[env][name] for name in (OURS, *others)]
        if min(map(len, groups)) < seeds:
            continue
        pairs = [pair(runs[env], other, goal) for other in others]
        if not np.isnan(pairs).any():
            played += 1
            wins += all(ours > theirs for ours, theirs in pairs)
    return wins, played


def side_by_side(runs: Runs) -> Runs:
    """Returns the runs with comparable times: those of a task's seeds that all ran on one processor."""
    return {
        env: {name: [run for run in results if is_on_one(run, group)] for name, results in group.items()}
        for env, group in runs.items()
    }


def is_on_one(run: Result, group: Mapping[str, Sequence[Result]]) -> bool:
    """Whether all algorithms' runs with the same seed were timed on the same processor."""
    others = [other.facts for results in group.values() for other in results]
    return {f["processor"] for f in others if f["seed"] == run.facts["seed"]} == {run.facts["processor"]}


def cell(runs: Sequence[Result], score: Score) -> str:
    """Returns a score for a table, with the number of seeds if they are few."""
    value = mean(runs, score)
    if math.isnan(value):
        return ""
    return f"{value:.4g}" + (f" ({len(runs)})" if len(runs) < SEEDS else "")


def minute_rows(runs: Runs, minutes: int) -> Iterator[Row]:
    """Yields the scores after a time: a row for each task, the best in bold."""
    for env, group in runs.items():
        values = {name: mean(group[name], by_minutes(minutes)) for name in NAMES}
        best = max((value for value in values.values() if not math.isnan(value)), default=math.nan)
        cells = [cell(group[name], by_minutes(minutes)) for name in NAMES]
        marked = [f"**{text}**" if text and values[n] == best else text for n, text in zip(NAMES, cells, strict=True)]
        if len([text for text in cells if text]) > 1:
            yield [env, *marked]


def step_rows(runs: Runs) -> Iterator[Row]:
    """Yields the scores at equal steps: a row for each task and algorithm."""
    for env, group in runs.items():
        for other, name in OTHERS.items():
            if not group[other] or not group[OURS]:
                continue
            budget = zoo_steps(group[other])
            cells = [cell(group[who], by_steps(share * budget)) for share in (0.1, 1) for who in (OURS, other)]
            yield [env, name, f"{budget:,}", *cells]


def seed_rows(runs: Runs, minutes: int) -> Iterator[Row]:
    """Yields the score of each seed after a time: a row for each task in which every algorithm has all its runs."""
    for env, group in runs.items():
        if min(len(group[name]) for name in (OURS, *suited(env))) >= SEEDS:
            scores = ([by_minutes(minutes)(run) for run in group[name]] for name in NAMES)
            yield [env, *(", ".join(f"{score:.4g}" for score in of_one) for of_one in scores)]


def speeds(runs: Runs) -> str:
    """Returns how much an algorithm's steps per second differ between the seeds of a task, on one processor."""
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for env, group in runs.items():
        for name, results in group.items():
            for run in results:
                key = NAMES[name], env, run.facts["processor"]
                found[key].append(run.facts["trained"] / run.facts["seconds"])
    (algorithm, env, _), rates = max(found.items(), key=lambda item: max(item[1]) / min(item[1]))
    return f"up to a factor of {max(rates) / min(rates):.1f} ({algorithm}, {env})"


def behind(timed: Runs, runs: Runs) -> Iterator[str]:
    """Yields the tasks in which other algorithms are ahead, and after which minutes and which of their steps."""
    for env, group in runs.items():
        found = [*behind_in_minutes(timed[env]), *behind_in_steps(group)]
        if found:
            yield f"{env}: {'; '.join(found)}"


def behind_in_minutes(group: Mapping[str, Sequence[Result]]) -> Iterator[str]:
    """Yields the times at which other algorithms are ahead in a task, with what they reached."""
    for minutes in MINUTES:
        ours, *theirs = (mean(group[name], by_minutes(minutes)) for name in NAMES)
        ahead = sorted((v, name) for v, name in zip(theirs, OTHERS.values(), strict=True) if v > ours)
        if ahead:
            others = ", ".join(f"{name} {value:.4g}" for value, name in reversed(ahead))
            yield f"{others} after {counted(minutes, 'minute')} (ACER {ours:.4g})"


def behind_in_steps(group: Mapping[str, Sequence[Result]]) -> Iterator[str]:
    """Yields the algorithms that are ahead in a task after their own steps, with what they reached."""
    for other, name in OTHERS.items():
        steps = zoo_steps(group[other])
        ours, theirs = (mean(group[who], by_steps(steps)) for who in (OURS, other))
        if theirs > ours:
            yield f"{name} {theirs:.4g} after {steps:,} steps (ACER {ours:.4g})"


def iqm_rows(runs: Runs, minutes: int) -> Iterator[Row]:
    """Yields the scores after a time over all tasks: a row for each other algorithm, over the tasks that both have run.

    In each task, 0 is random play, and 1 the highest mean of an algorithm after any of `MINUTES`.
    """
    for other, name in OTHERS.items():
        both = [env for env, group in runs.items() if group[OURS] and group[other]]
        scores = [[normalized(runs[env], who, traits(env).returned, minutes) for who in (OURS, other)] for env in both]
        known = [pair for pair in scores if not np.isnan(np.concatenate(pair)).any()]
        if known:
            means = [iqm(np.concatenate(runs_of_one)[:, None]) for runs_of_one in zip(*known, strict=True)]
            yield [counted(minutes, "minute"), name, str(len(known)), *(f"{float(value):.2f}" for value in means)]


def normalized(group: Mapping[str, Sequence[Result]], algorithm: str, low: float, minutes: int) -> Floats:
    """Returns the scores of an algorithm's runs after a time: 0 is the return of random play, 1 the task's best."""
    scores = np.array([by_minutes(minutes)(run) for run in group[algorithm]])
    return (scores - low) / (best(group) - low)


def best(group: Mapping[str, Sequence[Result]]) -> float:
    """Returns the highest mean of an algorithm in a task, after any of `MINUTES`."""
    return float(np.nanmax([mean(results, by_minutes(m)) for results in group.values() for m in MINUTES if results]))


def picture(runs: Runs) -> bytes:
    """Draws the training returns of all algorithms over minutes, up to the last of `MINUTES`, as a PNG."""
    groups = [(env, name, group[name]) for env, group in runs.items() for name in NAMES]
    found = [mean_curve([curve(run, env, name) for run in results]) for env, name, results in groups if results]
    with styled():
        return rendered(figure_of_curves(found, View(axis="minutes")), ".png")


def curve(run: Result, env: str, algorithm: str) -> Curve:
    """Returns the curve of a run over minutes."""
    returns = run.training
    minutes = returns.seconds / 60
    shown = minutes <= MINUTES[-1]
    return run_curve(env, NAMES[algorithm], minutes[shown], returns.mean[shown], returns.episodes[shown])


def missing(runs: Runs) -> Iterator[str]:
    """Yields the missing runs, with tasks that lack the same runs in one line."""
    lacking: dict[str, list[str]] = defaultdict(list)
    for env, group in runs.items():
        few = [f"{NAMES[name]} {len(group[name])}" for name in (OURS, *suited(env)) if len(group[name]) < SEEDS]
        if few:
            lacking[", ".join(few)].append(env)
    for few_runs, envs in lacking.items():
        yield f"{', '.join(envs)}: {few_runs}"


def page(runs: Runs) -> str:
    """Returns the page."""
    facts = [run.facts for group in runs.values() for results in group.values() for run in results]
    timed = side_by_side(runs)
    minutes = "\n\n".join(
        f"### After {counted(m, 'minute')}\n\n{table(['task', *NAMES.values()], rows)}"
        for m in MINUTES
        if (rows := list(minute_rows(timed, m)))
    )
    by_processor: dict[str, list[str]] = defaultdict(list)
    for env, group in runs.items():
        for name in sorted({str(run.facts["processor"]) for results in group.values() for run in results}):
            by_processor[name].append(env)
    over = [row for m in MINUTES for row in iqm_rows(timed, m)]
    header = ["task", "other", "its steps", "ACER, a tenth", "other, a tenth", "ACER", "other"]
    return TEMPLATE.format(
        goals=table(
            ["goal", "result", "with any seeds"],
            [[goal.name, verdict(runs, goal), so_far(runs, goal)] for goal in GOALS],
        ),
        minutes=minutes,
        over=table(["after", "other", "tasks", "ACER", "other"], over),
        each=table(["task", *NAMES.values()], list(seed_rows(timed, GOALS[0].minutes or 0))),
        speeds=speeds(timed),
        steps=table(header, list(step_rows(runs))),
        behind=bullets(behind(timed, runs)),
        missing=bullets(missing(runs)),
        commits=", ".join(sorted({str(f["commit"]) for f in facts if "commit" in f})),
        processors=", ".join(f"{name} ({', '.join(envs)})" for name, envs in sorted(by_processor.items())),
        seeds=", ".join(map(str, sorted({f["seed"] for f in facts}))),
    )


def table(header: Sequence[str], rows: Sequence[Row]) -> str:
    """Returns a table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def bullets(lines: Iterable[str]) -> str:
    """Returns a list in Markdown."""
    return "\n".join(f"* {line}" for line in lines) or "Nothing."


TEMPLATE = """# Beside PPO, A2C, DQN, QR-DQN, SAC and TD3

You have a task and two cores: should you take ACER, or one of the algorithms of
[Stable-Baselines3](https://stable-baselines3.readthedocs.io)? Here both train, this package with its
[presets](training.md#presets), Stable-Baselines3 with rl-zoo3's settings: two runs at a time, each with one thread,
so that minutes are those of one core. A score is the mean raw return of the training episodes that ended in the last
fifth of the time or steps until then, averaged over three seeds; the number of seeds stands in parentheses where
there are fewer. A run that has done all of its steps keeps its last score, one that was cut has none after it.
MinAtar's games are not in rl-zoo3: there the others have its settings for Atari, with a network for flat
observations, and none of them was tuned; nor are the control suite's tasks, where they have its defaults. QR-DQN's
replay of Breakout and Pong holds 100,000 steps, as DQN's does, not a million, which take 26 GiB. Contact forces are
among the ant's observations, as v5 gives them, but not among those that this package's preset takes.

## What was to be reached

The goals were set before the first run, as 17 of about 20 tasks; of the 22 that there are now, the same share is 19.
Two rules came later, too: a run that is done keeps its last score at later steps (after DQN's runs of classic tasks;
its own steps of CartPole are 50,000), and minutes are compared only among seeds whose runs were all on one processor
(with the second machine). A task counts if all algorithms that suit its actions have three runs, and as ahead if the
mean is higher than that of every other; the last column counts tasks with one seed or two as well.

{goals}

Hardly anything has been learned of Pong and Breakout after five minutes: the order there is chance.

## At equal minutes

{minutes}

### The seeds

After five minutes, of the tasks in which every algorithm has three runs.

{each}

### Over the tasks

Interquartile means over the runs of those tasks that this package and another algorithm have both run: 0 is random
play, 1 the highest mean of a task in the tables above.

{over}

![Mean raw return over minutes of training](beside-others.png)

## At equal steps

Of each algorithm, after its steps in rl-zoo3 (or where its shortest run was cut), and after a tenth of them.

{steps}

## Where to take something else

{behind}

## What has not been run

Algorithms with fewer than three runs, and how many they have.

{missing}

## Runs

    acer reproduce beside-others --workers 2
    python -m benchmarks.peers CartPole-v1 --algorithm ppo --seeds 3 --first_seed 60 --minutes 20 --evaluations 4
    python -m benchmarks.peers MinAtar/Asterix-v1 --algorithm ppo --first_seed 60 --minutes 5 --evaluations 4
    python -m benchmarks.beside_others

* Commits of this package: {commits}.
* Seeds: {seeds}; no search had them. But the presets of CartPole and Acrobot replaced others that had fallen back, or
  were behind, with these seeds, and the pendulum's has stayed because a new one was behind it with them
  ([how](results/searches.md#few-steps)): what these three show is optimistic. The others' runs of CartPole were then
  repeated with the same seeds, on the processor that had run its new preset.
* Processors: {processors}.
* Machines of one processor were not equally fast, nor equally busy: between the seeds of a task, the steps per second
  of an algorithm differ by {speeds}.
* Every number here follows from [seeds.csv](results/beside-others/seeds.csv) and
  [curves.csv](results/beside-others/curves.csv).
"""


def read_runs() -> Runs:
    """Reads the results, in the order of the experiment's tasks."""
    found: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for (variation, env, _), result in sorted(read(DOCS / "results" / NAME).items()):
        found[env, variation].append(result)
    return {env.id: {name: found[env.id, name] for name in NAMES} for env in load_experiment(NAME).envs}


def main() -> int:
    """Writes the page and its plot."""
    runs = read_runs()
    replace(DOCS / f"{NAME}.md", page(runs).encode())
    replace(DOCS / f"{NAME}.png", picture(side_by_side(runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
