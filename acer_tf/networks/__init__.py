"""Torsos, recurrent cores and heads in Keras, with baselines' layers and initialisers."""
