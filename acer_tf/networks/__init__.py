"""Torsos, heads and initialisers, as baselines has them, in Keras."""
