import math

import pytest
from ale_py import roms

from acer_tf.envs.atari.human_scores import HUMAN_SCORES, human_normalized


def test_there_are_57_games_and_all_can_be_played() -> None:
    assert len(HUMAN_SCORES) == 57
    assert set(HUMAN_SCORES) <= set(roms.get_all_rom_ids())
    assert all(human > random for random, human in HUMAN_SCORES.values())


def test_random_play_is_0_and_a_human_1() -> None:
    assert human_normalized("PongNoFrameskip-v4", -20.7) == 0
    assert human_normalized("PongNoFrameskip-v4", 14.6) == 1
    assert math.isclose(human_normalized("BreakoutNoFrameskip-v4", 419.1) or 0, (419.1 - 1.7) / 28.8)


def test_normalised_scores_are_those_that_papers_report() -> None:
    # Median over 57 games of a human's scores is 1 by definition; these are DQN's per-game scores of the paper's table.
    assert human_normalized("SpaceInvadersNoFrameskip-v4", 1976.0) == pytest.approx(1.202, abs=1e-3)
    assert human_normalized("VideoPinballNoFrameskip-v4", 42684.0) == pytest.approx(18.73, abs=1e-2)


def test_a_game_without_reference_has_no_normalised_score() -> None:
    assert human_normalized("TetrisNoFrameskip-v4", 10.0) is None
    assert human_normalized("CartPole-v1", 10.0) is None
