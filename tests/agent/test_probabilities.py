import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from scipy import stats

from acer_tf.agent.probabilities import distribution, likelihood
from acer_tf.agent.translation import Translation
from acer_tf.errors import InputError

OBS = Box(-1, 1, (4,), np.float32)
DISCRETE = Translation(OBS, Discrete(3), False)
BOX = Translation(OBS, Box(np.array([-1.0, 0.0]), np.array([3.0, 0.5]), dtype=np.float64), False)
P = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], np.float32)
MEANS = np.array([[0.5, -1.0], [0.0, 0.2]], np.float32)


def test_probabilities_of_choices() -> None:
    assert distribution(P, 0.3, DISCRETE) is P
    chosen = likelihood(P, 0.3, DISCRETE, [2, 0], logp=False)
    assert chosen.shape == (2, 1)
    np.testing.assert_allclose(chosen, [[0.5], [1]])
    np.testing.assert_allclose(likelihood(P, 0.3, DISCRETE, [2, 1], logp=True), [[np.log(0.5)], [-np.inf]])


@pytest.mark.parametrize("is_learned", [False, True])
def test_densities_in_the_environments_units(is_learned: bool) -> None:
    sigma = np.array([[0.3, 0.3], [0.3, 0.3]]) if not is_learned else np.array([[0.1, 0.4], [0.2, 0.5]])
    f = MEANS if not is_learned else np.concatenate([MEANS, np.log(sigma)], axis=1).astype(np.float32)
    given = None if is_learned else 0.3
    mean, deviation = distribution(f, given, BOX)
    np.testing.assert_allclose(mean, [[2, 0], [1, 0.3]], rtol=1e-6)
    np.testing.assert_allclose(deviation, sigma * [2, 0.25], rtol=1e-6)
    actions = np.array([[1.5, 0.1], [0.0, 0.5]])
    expected = stats.norm.pdf(actions, mean, deviation).prod(axis=1, keepdims=True)
    np.testing.assert_allclose(likelihood(f, given, BOX, actions, logp=False), expected, rtol=1e-5)
    np.testing.assert_allclose(likelihood(f, given, BOX, actions, logp=True), np.log(expected), rtol=1e-5)


def test_one_action_for_each_observation() -> None:
    with pytest.raises(InputError, match="there are 3 actions for 2 observations; expected one for each"):
        likelihood(P, 0.3, DISCRETE, [0, 1, 2], logp=False)
