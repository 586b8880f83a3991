"""Stable Baselines' class on this package's engine."""

from acer_tf.agent.acer_class import ACER

__all__ = ["ACER"]
