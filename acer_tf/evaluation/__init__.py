"""Playing complete episodes with a trained agent."""

from acer_tf.evaluation.episodes import Played, Predictor, Summary, evaluate_policy, play, summarize

__all__ = ["Played", "Predictor", "Summary", "evaluate_policy", "play", "summarize"]
