"""Collectors on Ray, measured on this machine: `python -m benchmarks.collectors --mode waiting` and `--mode atari`.

Each configuration runs in its own process, all of them in turn. What counts are the ratios.
"""

import dataclasses
import functools
import sys
import time
from collections.abc import Callable
from typing import Any, Literal

from acer_tf.cli.command import command
from acer_tf.errors import require
from acer_tf.schema import Count, CountOrZero, Positive, Weight
from acer_tf.storage.usage import processor_seconds
from benchmarks import CountsOrZero, Output, in_turns, medians, prepare

WARM_UP = 5
"""Segments of every collector before the clock starts, while functions are traced."""


@dataclasses.dataclass(frozen=True)
class Collectors(Output):
    """Measures agent steps per second, and processor time per segment of learner, collectors and Ray together."""

    mode: Literal["waiting", "atari"] = "waiting"
    """Environments whose steps wait, with several numbers of collectors; or Atari, compared with a single process."""
    actors: CountsOrZero = ()
    """Numbers of collectors, 0 for the loop of one process; by default 1 2 4 8, and for Atari 0 1 2."""
    env: str = "BreakoutNoFrameskip-v4"
    """Atari game."""
    num_env: CountOrZero = 0
    """Environments per collector; 0 takes 1 that waits, or 16 games."""
    wait_ms: Weight = 20.0
    """Duration of a step, in seconds."""
    replay_ratio: Weight = 4.0
    """Updates from replay for each on-policy update."""
    actor_depth: Count = 1
    """Orders per collector."""
    seconds: Positive = 60.0
    """How long each configuration is measured, each time."""
    repeats: Count = 3
    """Number of rounds in which all configurations are measured; results are medians."""


def measure(flags: Collectors, actors: int) -> dict[str, float]:
    """Measures one configuration; to be called in a new process."""
    prepare("cnn" if flags.mode == "atari" else "mlp")
    from acer_tf.agent import ACER
    from acer_tf.envs.make import make_vec_env
    from acer_tf.logs.logger import Logger
    from benchmarks.waiting import waiting_envs

    number = flags.num_env or (16 if flags.mode == "atari" else 1)
    make_env: Callable[[], Any] = functools.partial(waiting_envs, number, flags.wait_ms / 1e3)
    settings: dict[str, Any] = {"policy_kwargs": {"num_layers": 2, "num_hidden": 64}}
    if flags.mode == "atari":
        make_env = functools.partial(make_vec_env, flags.env, number, **({"num_workers": 0} if actors else {}))
        settings = {}
    agent = ACER(
        "cnn" if flags.mode == "atari" else "mlp",
        make_env if actors else make_env(),
        replay_ratio=flags.replay_ratio,
        replay_start=20,
        buffer_size=2000,
        seed=0,
        **settings,
        **({"actors": actors, "actor_depth": flags.actor_depth} if actors else {}),
    )
    loop = agent.begin(Logger())
    first: dict[int, int] = {}  # collectors that have delivered, by first environment

    def is_warm() -> bool:
        source = loop._source.first_env
        first[source] = first.get(source, 0) + 1
        return len(first) >= max(actors, 1) and min(first.values()) >= WARM_UP

    loop.learn(is_warm, end=10**9, log_interval=10**9)
    steps, start, used = loop.steps, time.monotonic(), processor_seconds()
    loop.learn(lambda: time.monotonic() - start > flags.seconds, end=10**9, log_interval=10**9)
    seconds, segments = time.monotonic() - start, (loop.steps - steps) / loop.nbatch
    numbers = {
        "steps_per_s": (loop.steps - steps) / seconds,
        "cpu_s_per_segment": (processor_seconds() - used) / segments,
    }
    numbers |= {name: value for name, value in loop._source.metrics().items() if "staleness" in name or "idle" in name}
    agent.close()
    return numbers


def run(flags: Collectors) -> None:
    """Runs the measurement."""
    require("ray", "collectors need", "ray")
    actors = flags.actors or ((0, 1, 2) if flags.mode == "atari" else (1, 2, 4, 8))
    found = in_turns(functools.partial(measure, flags), actors, flags.repeats)
    middle = {number: medians(runs) for number, runs in found.items()}
    base = middle[actors[0]]
    print("actors   steps/s   ratio  efficiency   CPU-s a segment   ratio   staleness   learner idle")
    for number, numbers in middle.items():
        ratio, cpu = numbers["steps_per_s"] / base["steps_per_s"], numbers["cpu_s_per_segment"]
        efficiency = ratio / number * actors[0] if actors[0] else float("nan")
        print(
            f"{number:6} {numbers['steps_per_s']:9.1f} {ratio:7.2f} {efficiency:11.2f} {cpu:17.3f}"
            f" {cpu / base['cpu_s_per_segment']:7.2f} {numbers.get('actors_staleness_mean', 0):11.1f}"
            f" {numbers.get('actors_idle_share', 0):14.0%}"
        )
    flags.write({"medians": middle, "runs": found})


main = command("benchmarks.collectors", Collectors, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
