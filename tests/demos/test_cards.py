import contextlib
import dataclasses
import shlex
from pathlib import Path

import numpy as np
import pytest

from acer_tf import ACER
from acer_tf.demos.cards import FOLDER, demo_file, demo_names, read_card
from acer_tf.enjoy import main
from acer_tf.envs.ids import is_atari
from acer_tf.envs.make import make_vec_env
from acer_tf.evaluation import evaluate_policy
from acer_tf.run import read

LARGEST = 3 * 2**20
PAGE = Path(__file__).parents[2] / "docs" / "demos.md"


def difference(name: str, episodes: int, num_env: int, seed: int) -> float:
    """Of the mean return from that of the card, in standard errors."""
    card = read_card(name)
    with contextlib.closing(make_vec_env(card.env, num_env)) as env:
        agent = ACER.load(demo_file(name), env)
        returns, _ = evaluate_policy(agent, env, episodes, deterministic=False, return_episode_rewards=True, seed=seed)
    return float((np.mean(returns) - card.mean) / max(card.std / np.sqrt(episodes), 0.05))


def test_every_agent_has_a_card() -> None:
    assert {"cartpole", "halfcheetah", "lunarlander", "minatar-breakout", "pendulum"} <= set(demo_names())
    assert sorted(file.stem for file in FOLDER.glob("*.zip")) == demo_names()


@pytest.mark.parametrize("name", demo_names())
def test_the_card_is_that_of_the_agent(name: str) -> None:
    card = read_card(name)
    assert demo_file(name).stat().st_size < LARGEST
    agent = ACER.load(demo_file(name))
    assert (agent.num_timesteps, agent.settings.seed) == (card.steps, card.seed)
    assert card.episodes == 100 and card.licence == "MIT" and "tensorflow" in card.versions
    _, command, *argv = shlex.split(card.command)
    assert command == "run"
    job = read(argv)
    assert (job.environment.env, job.run.seed) == (card.env, card.seed)
    assert job.config.total_timesteps >= card.steps
    # The agent has no end of its own: `learn` gets it.
    assert dataclasses.replace(agent.settings.config, total_timesteps=job.config.total_timesteps) == job.config


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n == "pong" else n for n in demo_names()])
def test_a_few_episodes_are_as_the_card_says(name: str) -> None:
    assert abs(difference(name, 4, 4, seed=11)) < 4


@pytest.mark.slow
@pytest.mark.parametrize("name", demo_names())
def test_a_hundred_episodes_are_as_the_card_says(name: str) -> None:
    assert abs(difference(name, 100, 8, seed=12)) < 3.5


@pytest.mark.parametrize("name", demo_names())
def test_the_documentation_has_the_cards_numbers(name: str) -> None:
    card = read_card(name)
    (row,) = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}` |")]
    assert row.startswith(f"| `{name}` | {card.env} |")
    assert row.endswith(f"| {card.steps:,} | {card.mean:g} ± {card.std:g} |")


def test_the_documentation_says_whether_an_atari_game_is_among_them() -> None:
    has_atari = any(is_atari(read_card(name).env) for name in demo_names())
    assert ("No Atari game is among them" in PAGE.read_text(encoding="utf-8")) != has_atari


def test_agents_are_found_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["Pendulum", "--episodes", "1"]) == 0
    assert "pendulum: Pendulum-v1, stochastic actions, seed 0" in capsys.readouterr().out
    assert main(["cartpol"]) == 2
    assert "or an agent that ships with this package (cartpole, " in capsys.readouterr().err
