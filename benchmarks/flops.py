"""Counts the floating-point operations of an update."""

import keras
import numpy as np

from acer_tf.networks.actor_critic import ActorCritic
from acer_tf.networks.lstm import LSTM


def forward_flops(network: ActorCritic) -> list[int]:
    """Counts the multiplications and additions for one observation in each layer with matrices, in order."""
    return [flops for _, flops in layers_and_flops(network)]


def layers_and_flops(network: ActorCritic) -> list[tuple[keras.layers.Layer, int]]:
    """Returns the layers with matrices, in order, and the operations of each, as `forward_flops` counts them."""
    parts = [part for branch in network.trunk.branches for part in branch.parts] + network.heads
    layers = [layer for part in parts for layer in (part.layers if isinstance(part, keras.Model) else [part])]
    return [(layer, flops) for layer in layers if (flops := _layer_flops(layer))]


def _layer_flops(layer: keras.layers.Layer) -> int:
    if isinstance(layer, LSTM):
        return 2 * int(np.prod(layer.wx.shape)) + 2 * int(np.prod(layer.wh.shape))
    if not hasattr(layer, "kernel"):
        return 0
    return 2 * int(np.prod(layer.kernel.shape)) * int(np.prod(layer.output.shape[1:-1]))


def update_flops(network: ActorCritic, nenvs: int, nsteps: int) -> int:
    """Counts the operations of one ACER update.

    Every step, including bootstrap steps, passes forward through the network and through the average policy, which has
    no critic's head, and backward into every kernel and every layer's input except the observations. Policy and Q share
    one network.
    """
    forward = forward_flops(network)
    average = sum(forward[:-1])
    backward = 2 * sum(forward) - forward[0]
    return nenvs * (nsteps * (sum(forward) + average + backward) + sum(forward))
