"""Draws the agents that ship with the package, and writes the page that shows them: `python -m benchmarks.gallery`."""

import contextlib
import dataclasses
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import VectorEnv
from PIL import Image

from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.cli.trained import find_trained
from acer_tf.demos.cards import Card, demo_file, demo_names, read_card
from acer_tf.errors import InputError
from acer_tf.evaluation.episodes import Predictor, play
from acer_tf.experiments import results
from acer_tf.experiments.collecting import BINS
from acer_tf.plots.curves import Curve, mean_curve, run_curve
from acer_tf.plots.figures import View, figure_of_curves
from acer_tf.plots.references import level
from acer_tf.plots.style import save, styled
from acer_tf.schema import Seed
from acer_tf.storage.durable import writing
from acer_tf.suggestions import suggestion
from acer_tf.system.console import say

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = "gallery"
"""Folder of the pictures, beside the page."""
SECONDS = 5
"""Length of an animation, at the environment's own speed."""
MOST_FRAMES_PER_SECOND = 25
SIZE = (240, 240)
"""Largest width and height of an animation, in pixels."""
QUALITY = 75
"""Quality of WebP's compression, from 0 to 100."""
HEAD = """# Gallery

The [agents that ship with the package](demos.md) at play, and how such agents learn. Each animation shows the first
seconds of an episode at the environment's own speed, with actions drawn from the policy; `acer enjoy NAME` shows
complete episodes. The curve below it is the mean of published runs with other seeds, and its band their standard
deviation; the dashed line is the agent's own score.

One command makes this page; it needs `pip install -e ".[plots,video,mujoco,box2d,minatar]"`:

    python -m benchmarks.gallery
"""
SECTION = """
## {name}

{env} after {steps:,} agent steps: 100 returns of {mean:g} ± {std:g}. Trained with

    {command}

![{env}: the agent at play]({pictures}/{name}.webp)

![{env}: learning curves]({pictures}/{name}.png)

Curves: seeds {seeds} of [{experiment}](results/{experiment}/README.md), {relation}.
"""


class Published(NamedTuple):
    """Published runs whose curves represent the training of an agent.

    Attributes:
        experiment: folder of docs/results.
        variation: variation of the experiment.
        relation: how their settings relate to the agent's.
    """

    experiment: str
    variation: str = "preset"
    relation: str = "the same settings"


PUBLISHED = {
    "cartpole": Published("zoo", "zoo"),
    "halfcheetah": Published("presets-mujoco"),
    "lunarlander": Published("presets-classic"),
    "minatar-breakout": Published("presets-minatar"),
    "pendulum": Published("ablation", "complete"),
    "pong": Published("presets-atari", relation="the same preset in bfloat16, with its own, larger network"),
}


@dataclasses.dataclass(frozen=True)
class Gallery:
    """Draws the agents that ship with the package playing, and learning curves; writes the page that shows them."""

    names: Positional[tuple[str, ...]] = ()
    """Agents to draw; by default all."""
    seed: Seed = 0
    """Seed of the environments."""
    out: Path = DOCS
    """Folder for gallery.md and its pictures."""

    def make(self) -> None:
        """Draws the pictures and writes the page.

        Raises:
            InputError: there is no such agent, its environment is not installed or cannot be rendered, or a file cannot
                be written.
        """
        if unknown := [name for name in self.names if name not in demo_names()]:
            raise InputError(f"no agent {unknown[0]} ships with the package{suggestion(unknown[0], demo_names())}.")
        folder = self.out / PICTURES
        with writing(self.out):
            folder.mkdir(parents=True, exist_ok=True)
            for name in self.names or demo_names():
                animate(name, folder / f"{name}.webp", self.seed)
                draw_curves(name, folder / f"{name}.png")
                say(f"drew {name}")
            (self.out / f"{PICTURES}.md").write_text(page(), encoding="utf-8")


def page() -> str:
    """Returns the page, with a section for each agent."""
    return HEAD + "".join(_section(name, read_card(name)) for name in demo_names())


def _section(name: str, card: Card) -> str:
    published = PUBLISHED[name]
    seeds = ", ".join(str(run.facts["seed"]) for run in _runs(name))
    facts = {**card._asdict(), **published._asdict()}
    return SECTION.format(**facts, name=name, seeds=seeds, pictures=PICTURES)


def animate(name: str, path: Path, seed: int) -> None:
    """Plays the beginning of an episode and writes an animated WebP file, which replaces an existing one."""
    trained = find_trained(demo_file(name), read_card(name).env)
    with contextlib.closing(trained.make_env(1, "rgb_array")) as env:
        fps = env.metadata["render_fps"]
        stride = -(-fps // MOST_FRAMES_PER_SECOND)
        frames = _frames(trained.load(env), env, SECONDS * fps, seed)[::stride]
    frames[0].save(
        path,
        save_all=True,
        append_images=frames[1:],
        duration=round(1000 * stride / fps),
        loop=0,
        quality=QUALITY,
        method=6,
    )


def _frames(agent: Predictor, env: VectorEnv[Any, Any, Any], steps: int, seed: int) -> list[Image.Image]:
    """Returns pictures of the first steps of an episode, one before each step."""
    frames: list[Image.Image] = []

    def see(_: object) -> None:
        (picture,) = env.render() or ()
        frames.append(Image.fromarray(np.asarray(picture)))
        frames[-1].thumbnail(SIZE)

    for _ in play(agent, env, 1, False, see, seed, max_episode_steps=steps):
        pass
    return frames


def draw_curves(name: str, path: Path) -> None:
    """Draws the mean of the published runs, and the agent's own level."""
    card, runs = read_card(name), _runs(name)
    curve = mean_curve([_curve(run) for run in runs])
    bins = max(run.facts["steps"] for run in runs) / BINS
    reached = level(card.env, f"{name}, {card.episodes} episodes", card.mean)
    with styled():
        save(figure_of_curves([curve], View(widths=(bins,)), [reached]), path)


def _runs(name: str) -> list[results.Result]:
    published, env = PUBLISHED[name], read_card(name).env
    found = results.read(DOCS / "results" / published.experiment)
    return [run for key, run in found.items() if key[:2] == (published.variation, env)]


def _curve(run: results.Result) -> Curve:
    return run_curve(run.facts["environment"], "training", *run.training[:3])


main = command("benchmarks.gallery", Gallery, Gallery.make)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
