"""Suggests a preset for an environment: `acer suggest LunarLander-v3`."""

import dataclasses
import json
import math
import shlex
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.configs.presets import load_preset
from acer_tf.configs.tasks import MINUTES, Task, Traits, kinds, nearest, tasks
from acer_tf.envs.closing import closing
from acer_tf.envs.conventions import reported_episodes
from acer_tf.envs.ids import check_env_id, is_atari, typed_env_id
from acer_tf.envs.make import make_training_env
from acer_tf.envs.same_spaces import EnvSpaces
from acer_tf.envs.wrappers.action_masks import MASKS, possible_actions
from acer_tf.errors import InputError, environment_errors
from acer_tf.system.command_line import program
from acer_tf.system.console import counted, say

SECONDS = 3
"""Duration of random play, unless no episode has ended by then."""
LONGEST = 10
"""Longest duration of random play, in seconds."""
NETWORKS = {"vectors": "mlp", "small images": "cnn_minatar", "images": "cnn"}
"""Network by kind of observations, for presets of another kind."""


@dataclasses.dataclass(frozen=True)
class Suggest:
    """Plays an environment at random for a few seconds and suggests the preset of the most similar task.

    It compares with the tasks in docs/results, which has their learning curves.
    """

    env: Positional[str]
    """Environment id, module:id if a module registers it, or the name of an Atari game."""
    env_kwargs: Mapping[str, Any] | None = None
    """Arguments of the environment, such as gravity:5.0."""

    def show(self) -> None:
        """Describes the environment and the most similar task; prints what to expect, and the command.

        Raises:
            InputError: the environment cannot be trained on; the message says why.
            EnvironmentFailedError: it raised an error.
        """
        env_id = typed_env_id(self.env)
        check_env_id(env_id)
        envs = make_training_env(env_id, 1, num_workers=0, env_kwargs=self.env_kwargs)
        with closing(envs) as env, environment_errors():
            traits = random_play(env)
        known = tasks()
        task = next((task for task in known if task.env == env_id), None) or nearest(traits, known)
        arguments = [f"{name}:{json.dumps(value)}" for name, value in (self.env_kwargs or {}).items()]
        trainer = program("acer_tf.run_atari" if is_atari(env_id) else "acer_tf.run")
        words = ["--preset", task.preset, "--env", self.env, *["--env_kwargs"] * bool(arguments), *arguments]
        words += ["--network", NETWORKS[traits.observations]] if traits.observations != task.traits.observations else []
        is_normalized = load_preset(task.preset).command.get("normalize_observations", False)
        words += ["--no_normalize_observations"] if is_normalized and "images" in traits.observations else []
        say(f"{env_id}: {described(traits)}.\n{reason(env_id, task, traits, has_arguments=bool(arguments))}")
        say(f"\n    {trainer} {shlex.join(words)}\n\n{expectation(task)}")


def random_play(env: VectorEnv[Any, Any, Any]) -> Traits:
    """Plays at random.

    Args:
        env: one environment, in the wrappers of training.

    Raises:
        InputError: a reward is not a finite number, or images have their channels first.
    """
    space = env.single_action_space
    space.seed(0)
    _, infos = env.reset(seed=0)
    lengths, returns, steps = list[int](), list[float](), 0
    start = time.perf_counter()
    while (seconds := time.perf_counter() - start) < (SECONDS if lengths else LONGEST):
        mask = possible_actions(infos, 1, EnvSpaces.of(env).action_space)[0].astype(np.int8) if MASKS in infos else None
        _, rewards, _, _, infos = env.step(np.asarray([space.sample(mask)]))
        if not np.isfinite(rewards).all():
            raise InputError("environment 0 gave a reward that is not a finite number.")
        steps += 1
        for _, returned, length in reported_episodes(infos):
            lengths.append(length)
            returns.append(returned)
    observations, actions = kinds(env.single_observation_space, space)
    episode = float(np.mean(lengths)) if lengths else float(steps)
    return Traits(observations, actions, episode, 1e6 * seconds / steps, float(np.mean(returns or [math.nan])))


def described(traits: Traits) -> str:
    """Describes a task in words."""
    returned = "" if math.isnan(traits.returned) else f" and returns {traits.returned:.4g}"
    length = f"lasts {traits.episode:,.0f} steps" if returned else f"is not over after {traits.episode:,.0f} steps"
    return (
        f"{traits.observations}, {traits.actions} actions, {traits.microseconds:,.0f} µs a step; "
        f"an episode of random play {length}{returned}"
    )


def reason(env_id: str, task: Task, traits: Traits, has_arguments: bool = False) -> str:
    """Says why it suggests a task's preset; arguments may make the environment differ from the preset's."""
    if task.env == env_id:
        return f"The preset {task.preset} has been trained on it{', without these arguments' if has_arguments else ''}."
    likeness = f"The nearest task with results is {task.env}: {described(task.traits)}."
    if traits.observations == task.traits.observations:
        return likeness
    return f"{likeness} No preset has learned {traits.actions} actions from {traits.observations}."


def expectation(task: Task) -> str:
    """Says what a preset reached in a task, and when."""
    after = [
        f"{value:.4g} after {counted(minutes, 'minute')}"
        for minutes, value in zip(MINUTES, task.after, strict=True)
        if not math.isnan(value)
    ]
    duration = f"{task.minutes:.3g} minutes" if task.minutes >= 1 else f"{60 * task.minutes:.0f} seconds"
    end = f"{task.score:.4g} at the end, after {duration}"
    return (
        f"On {task.env}, where random play returns {task.traits.returned:.4g}, it reached {', '.join([*after, end])} "
        f"on two cores (docs/results/{task.results})."
    )


main = command("acer_tf.suggest", Suggest, Suggest.show)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
