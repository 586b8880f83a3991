"""ACER's equations in plain float64 numpy, one step at a time: what the tests compare with."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
EPS = 1e-6


def retrace(
    rewards: Array, continues: Array, q_i: Array, v: Array, rho_i: Array, gamma: float, final_values: Any = None
) -> Array:
    """`final_values`, if any: of states in which a time limit cut an episode short, where it did; else 0."""
    nenvs, nsteps = rewards.shape
    q_ret = np.zeros((nenvs, nsteps))
    for env in range(nenvs):
        following = float(v[env, nsteps])
        for t in reversed(range(nsteps)):
            if final_values is not None and final_values[env, t] != 0:
                assert not continues[env, t]
                q_ret[env, t] = rewards[env, t] + gamma * final_values[env, t]
            else:
                q_ret[env, t] = rewards[env, t] + gamma * continues[env, t] * following
            following = min(1.0, rho_i[env, t]) * (q_ret[env, t] - q_i[env, t]) + v[env, t]
    return q_ret


def rmsprop(
    x: Array, mean_square: Array, gradient: Array, lr: float, decay: float, epsilon: float
) -> tuple[Array, Array]:
    mean_square = decay * mean_square + (1 - decay) * gradient**2
    return x - lr * gradient / np.sqrt(mean_square + epsilon), mean_square


def softmax(logits: Array, possible: Any = True) -> Array:
    """`possible`: bool, shaped as the logits; impossible actions have probability 0."""
    logits = np.where(possible, logits, -np.inf)
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Linear(NamedTuple):
    """A network without hidden layers: logits = x·w_pi + b_pi, q = x·w_q + b_q."""

    w_pi: Array
    b_pi: Array
    w_q: Array
    b_q: Array

    def f(self, obs: Array) -> Array:
        return softmax(obs @ self.w_pi + self.b_pi)

    def q(self, obs: Array) -> Array:
        return obs @ self.w_q + self.b_q


class Hyper(NamedTuple):
    gamma: float
    c: float
    delta: float
    trust_region: bool
    q_coef: float
    ent_coef: float
    max_grad_norm: float | None
    lr: float
    decay: float
    epsilon: float
    alpha: float
    final_values: Any = None


class State(NamedTuple):
    params: Linear
    averages: Linear
    mean_squares: Linear


def update(state: State, obs: Array, actions: Array, rewards: Array, mus: Array, dones: Array, h: Hyper) -> State:
    """One ACER update of a linear network, with every derivative written out."""
    gradient = linear_gradient(state, obs, actions, rewards, mus, dones, h)
    norm = np.sqrt(sum(np.sum(g**2) for g in gradient))
    scale = 1.0 if h.max_grad_norm is None else min(1.0, h.max_grad_norm / norm)
    stepped = [
        rmsprop(x, mean_square, scale * g, h.lr, h.decay, h.epsilon)
        for x, mean_square, g in zip(state.params, state.mean_squares, gradient, strict=True)
    ]
    params = Linear(*(x for x, _ in stepped))
    averages = (h.alpha * a + (1 - h.alpha) * p for a, p in zip(state.averages, params, strict=True))
    return State(params, Linear(*averages), Linear(*(mean_square for _, mean_square in stepped)))


def linear_gradient(
    state: State, obs: Array, actions: Array, rewards: Array, mus: Array, dones: Array, h: Hyper
) -> Linear:
    x = obs[:, :-1]
    d_logits, d_q = output_gradients(
        state.params.f(obs), state.params.q(obs), state.averages.f(x), actions, rewards, mus, dones, h
    )
    rows = x.reshape(actions.size, -1)
    d_logits, d_q = d_logits.reshape(actions.size, -1), d_q.reshape(actions.size, -1)
    return Linear(rows.T @ d_logits, d_logits.sum(axis=0), rows.T @ d_q, d_q.sum(axis=0))


def output_gradients(
    f: Array, q: Array, f_avg: Array, actions: Array, rewards: Array, mus: Array, dones: Array, h: Hyper
) -> tuple[Array, Array]:
    """Derivatives of the loss with respect to logits and q, [N, T, A] each; f and q are [N, T + 1, A]."""
    v = (f * q).sum(axis=-1)
    f, q = f[:, :-1], q[:, :-1]
    taken = np.eye(f.shape[-1])[actions]
    rho = f / (mus + EPS)
    rho_i, q_i, f_i = ((array * taken).sum(axis=-1) for array in (rho, q, f))
    q_ret = retrace(rewards, 1.0 - dones, q_i, v, rho_i, h.gamma, h.final_values)
    v = v[:, :-1]

    truncated = (np.minimum(h.c, rho_i) * (q_ret - v) / (f_i + EPS))[..., None] * taken
    correction = np.maximum(0, 1 - h.c / (rho + EPS)) * f * (q - v[..., None]) / (f + EPS)
    entropy = -np.log(f + EPS) - f / (f + EPS)
    g = truncated + correction + h.ent_coef * entropy
    if h.trust_region:
        k = -f_avg / (f + EPS)
        excess = np.maximum(0, (k * g).sum(axis=-1) - h.delta)
        g = g - (excess / ((k**2).sum(axis=-1) + EPS))[..., None] * k

    d_f = -g / actions.size
    d_logits = f * (d_f - (f * d_f).sum(axis=-1, keepdims=True))
    return d_logits, h.q_coef * (q_i - q_ret)[..., None] * taken / actions.size
