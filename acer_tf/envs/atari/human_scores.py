"""Human-normalised scores: the mean scores of random play and of a human in 57 Atari games.

With random no-op starts and at most 108,000 frames (Wang et al., "Dueling network architectures for deep reinforcement
learning", 2016; Video Pinball's random score, 0 there, is as later measured for DQN Zoo).
"""

from typing import NamedTuple

from acer_tf.envs.ids import atari_game, is_atari


class ScoreRange(NamedTuple):
    """Mean scores by which a game's scores are normalised.

    Attributes:
        random: score of uniformly random actions; normalised, it is 0.
        human: score of a professional game tester; normalised, it is 1.
    """

    random: float
    human: float


HUMAN_SCORES = {
    "alien": ScoreRange(227.8, 7127.7),
    "amidar": ScoreRange(5.8, 1719.5),
    "assault": ScoreRange(222.4, 742.0),
    "asterix": ScoreRange(210.0, 8503.3),
    "asteroids": ScoreRange(719.1, 47388.7),
    "atlantis": ScoreRange(12850.0, 29028.1),
    "bank_heist": ScoreRange(14.2, 753.1),
    "battle_zone": ScoreRange(2360.0, 37187.5),
    "beam_rider": ScoreRange(363.9, 16926.5),
    "berzerk": ScoreRange(123.7, 2630.4),
    "bowling": ScoreRange(23.1, 160.7),
    "boxing": ScoreRange(0.1, 12.1),
    "breakout": ScoreRange(1.7, 30.5),
    "centipede": ScoreRange(2090.9, 12017.0),
    "chopper_command": ScoreRange(811.0, 7387.8),
    "crazy_climber": ScoreRange(10780.5, 35829.4),
    "defender": ScoreRange(2874.5, 18688.9),
    "demon_attack": ScoreRange(152.1, 1971.0),
    "double_dunk": ScoreRange(-18.6, -16.4),
    "enduro": ScoreRange(0.0, 860.5),
    "fishing_derby": ScoreRange(-91.7, -38.7),
    "freeway": ScoreRange(0.0, 29.6),
    "frostbite": ScoreRange(65.2, 4334.7),
    "gopher": ScoreRange(257.6, 2412.5),
    "gravitar": ScoreRange(173.0, 3351.4),
    "hero": ScoreRange(1027.0, 30826.4),
    "ice_hockey": ScoreRange(-11.2, 0.9),
    "jamesbond": ScoreRange(29.0, 302.8),
    "kangaroo": ScoreRange(52.0, 3035.0),
    "krull": ScoreRange(1598.0, 2665.5),
    "kung_fu_master": ScoreRange(258.5, 22736.3),
    "montezuma_revenge": ScoreRange(0.0, 4753.3),
    "ms_pacman": ScoreRange(307.3, 6951.6),
    "name_this_game": ScoreRange(2292.3, 8049.0),
    "phoenix": ScoreRange(761.4, 7242.6),
    "pitfall": ScoreRange(-229.4, 6463.7),
    "pong": ScoreRange(-20.7, 14.6),
    "private_eye": ScoreRange(24.9, 69571.3),
    "qbert": ScoreRange(163.9, 13455.0),
    "riverraid": ScoreRange(1338.5, 17118.0),
    "road_runner": ScoreRange(11.5, 7845.0),
    "robotank": ScoreRange(2.2, 11.9),
    "seaquest": ScoreRange(68.4, 42054.7),
    "skiing": ScoreRange(-17098.1, -4336.9),
    "solaris": ScoreRange(1236.3, 12326.7),
    "space_invaders": ScoreRange(148.0, 1668.7),
    "star_gunner": ScoreRange(664.0, 10250.0),
    "surround": ScoreRange(-10.0, 6.5),
    "tennis": ScoreRange(-23.8, -8.3),
    "time_pilot": ScoreRange(3568.0, 5229.2),
    "tutankham": ScoreRange(11.4, 167.6),
    "up_n_down": ScoreRange(533.4, 11693.2),
    "venture": ScoreRange(0.0, 1187.5),
    "video_pinball": ScoreRange(16256.9, 17667.9),
    "wizard_of_wor": ScoreRange(563.5, 4756.5),
    "yars_revenge": ScoreRange(3092.9, 54576.9),
    "zaxxon": ScoreRange(32.5, 9173.3),
}
"""Scores by name of the ROM."""


def score_range(env_id: str) -> ScoreRange | None:
    """Returns the scores of an environment; None unless it is an Atari game for which they are known."""
    return HUMAN_SCORES.get(atari_game(env_id)) if is_atari(env_id) else None


def human_normalized(env_id: str, score: float) -> float | None:
    """Returns (score − random) / (human − random); None if these are not known.

    Args:
        env_id: id of an environment.
        score: raw score of whole games.
    """
    if (scores := score_range(env_id)) is None:
        return None
    return (score - scores.random) / (scores.human - scores.random)
