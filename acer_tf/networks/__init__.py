"""Torsos, recurrent cores and heads in Keras, with the layers and initialisers of baselines."""
