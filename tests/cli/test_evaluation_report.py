import pytest

from acer_tf.cli.evaluation_report import Report
from acer_tf.cli.play import Trained
from acer_tf.evaluation.episodes import Played
from acer_tf.storage.saved_agents import SavedAgent


def lines(*returns: float) -> list[str]:
    trained = Trained(SavedAgent("model.zip", {}, {}), "CartPole-v1", None)
    return [*Report(trained, "stochastic", 0, [Played(0, r, 10) for r in returns]).lines()]


@pytest.mark.parametrize(
    ("returns", "line"),
    [
        ((7.0,), "raw return: 7.00 (a confidence interval needs 2 episodes)"),
        ((-0.001,), "raw return: 0.00 (a confidence interval needs 2 episodes)"),
        ((7.0, 7.0), "raw return: mean 7.00, 95 % confidence interval [7.00, 7.00], standard deviation 0.00"),
    ],
)
def test_an_interval_needs_two_episodes(returns: tuple[float, ...], line: str) -> None:
    assert lines(*returns)[1] == line
