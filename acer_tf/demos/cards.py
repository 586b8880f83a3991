"""Finds the agents that ship with the package, and reads their cards."""

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

FOLDER = Path(__file__).parent


class Card(NamedTuple):
    """Facts about an agent.

    Attributes:
        env: id of the environment.
        command: the command that trained it.
        seed: seed of the run.
        steps: agent steps from which it has learned.
        mean: mean return of `episodes` episodes with actions sampled from the policy.
        std: standard deviation of these returns.
        episodes: number of episodes.
        date: day of the run.
        versions: versions of the packages with which it was trained.
        licence: licence of the agent.
        note: further remarks.
    """

    env: str
    command: str
    seed: int
    steps: int
    mean: float
    std: float
    episodes: int
    date: datetime.date
    versions: Mapping[str, str]
    licence: str
    note: str = ""


def demo_names() -> list[str]:
    """Returns the names of the agents."""
    return sorted(file.stem for file in FOLDER.glob("*.yml"))


def demo_file(name: str) -> Path:
    """Returns the agent's file, one of `demo_names()`."""
    return FOLDER / f"{name}.zip"


def read_card(name: str) -> Card:
    """Returns the card of an agent, one of `demo_names()`."""
    return Card(**yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8")))
