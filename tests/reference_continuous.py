"""ACER for continuous actions in plain float64 numpy, every derivative written out: what the tests compare with."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.reference import retrace

Array = NDArray[Any]
Params = dict[str, Array]


class Hyper(NamedTuple):
    gamma: float = 0.9
    c: float = 1.5
    delta: float = 0.1
    q_coef: float = 0.5
    ent_coef: float = 0.05
    trust_region: bool = True
    correction: bool = True
    q_lambda: float | None = None
    sigma: float = 0.3
    learn_sigma: bool = False
    dueling: bool = True
    use_q_opc: bool = True


class Batch(NamedTuple):
    """A segment, and the actions that were sampled while it was evaluated."""

    obs: Array
    actions: Array
    rewards: Array
    mus: Array
    dones: Array
    u: Array
    sampled: Array
    final_values: Any = None


def torso(params: Params, name: str, obs: Array) -> Array:
    """One hidden layer; the critic uses the policy's where it has none of its own."""
    name = name if f"{name}/mlp_fc0/kernel" in params else "pi"
    return np.tanh(obs @ params[f"{name}/mlp_fc0/kernel"] + params[f"{name}/mlp_fc0/bias"])


def statistics(params: Params, obs: Array) -> Array:
    mean = np.tanh(torso(params, "pi", obs) @ params["pi_head/kernel"] + params["pi_head/bias"])
    if "pi_sigma/log_sigma" not in params:
        return mean
    return np.concatenate([mean, np.broadcast_to(params["pi_sigma/log_sigma"], mean.shape)], axis=-1)


def value(params: Params, obs: Array) -> Array:
    return (torso(params, "vf", obs) @ params["v_head/kernel"] + params["v_head/bias"])[..., 0]


def hidden(params: Params, obs: Array, actions: Array) -> Array:
    of_features = torso(params, "vf", obs) @ params["a_features/kernel"] + params["a_features/bias"]
    return np.tanh(of_features[..., None, :] + actions @ params["a_actions/kernel"])


def advantage(params: Params, obs: Array, actions: Array) -> Array:
    """Of K actions for each observation: [N, T, K]."""
    return (hidden(params, obs, actions) @ params["a_head/kernel"] + params.get("a_head/bias", 0.0))[..., 0]


def split(f: Array, dimensions: int, h: Hyper) -> tuple[Array, Array]:
    """Mean and sigma."""
    mean = f[..., :dimensions]
    return mean, np.exp(f[..., dimensions:]) if h.learn_sigma else np.full_like(mean, h.sigma)


def density(x: Array, mean: Array, sigma: Array) -> Array:
    return np.prod(np.exp(-0.5 * ((x - mean) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi)), axis=-1)


def update(params: Params, averages: Params, batch: Batch, h: Hyper) -> dict[str, Any]:
    """Every quantity of one update up to the gradient of each parameter."""
    x, dimensions = batch.obs[:, :-1], batch.actions.shape[-1]
    steps = batch.rewards.size
    f = statistics(params, x)
    mean, sigma = split(f, dimensions, h)
    mu_mean, mu_sigma = split(batch.mus, dimensions, h)
    v, bootstrap_v = value(params, x), value(params, batch.obs[:, -1])

    sampled = batch.sampled[:, :, None]
    q_i, q_sampled = (advantage(params, x, a)[..., 0] for a in (batch.actions[:, :, None], sampled))
    if h.dueling:
        mean_advantage = advantage(params, x, batch.u).mean(axis=-1)
        q_i, q_sampled = v + q_i - mean_advantage, v + q_sampled - mean_advantage

    rho_i, rho_sampled = (
        density(a, mean, sigma) / density(a, mu_mean, mu_sigma) for a in (batch.actions, batch.sampled)
    )
    values = np.concatenate([v, bootstrap_v[:, None]], axis=1)
    continues = 1.0 - batch.dones
    trace = rho_i ** (1 / dimensions) if h.q_lambda is None else np.full_like(rho_i, h.q_lambda)
    q_ret = retrace(batch.rewards, continues, q_i, values, trace, h.gamma, batch.final_values)
    q_opc = q_ret
    if h.use_q_opc:
        q_opc = retrace(batch.rewards, continues, q_i, values, np.ones_like(rho_i), h.gamma, batch.final_values)
    v_target = np.minimum(1, rho_i) * (q_ret - (q_i if h.dueling else v)) + v

    truncated = np.minimum(h.c, rho_i) * (q_opc - v)
    correction = np.maximum(0, 1 - h.c / rho_sampled) * (q_sampled - v) * h.correction
    g = sum(
        weight[..., None] * score(a, mean, sigma, h)
        for weight, a in ((truncated, batch.actions), (correction, batch.sampled))
    )
    if h.learn_sigma:
        g = g + h.ent_coef * np.concatenate([np.zeros_like(mean), np.ones_like(mean)], axis=-1)
    k = divergence_gradient(statistics(averages, x), f, dimensions, h)
    z = g
    if h.trust_region:
        excess = np.maximum(0, (k * g).sum(axis=-1) - h.delta)
        z = g - (excess / ((k**2).sum(axis=-1) + 1e-6))[..., None] * k

    d_q = h.q_coef * (q_i - q_ret) / steps
    d_v = h.q_coef * (v - v_target) / steps
    gradient = backward(params, x, batch, -z / steps, d_q, d_v, h)
    return {
        "f": f, "v": v, "bootstrap_v": bootstrap_v, "q_i": q_i, "q_sampled": q_sampled, "rho_i": rho_i,
        "rho_sampled": rho_sampled, "q_ret": q_ret, "q_opc": q_opc, "v_target": v_target, "g": g, "k": k, "z": z,
        "gain_f": truncated * np.log(density(batch.actions, mean, sigma)),
        "gain_bc": correction * np.log(density(batch.sampled, mean, sigma)),
        "entropy": np.mean(np.log(sigma * np.sqrt(2 * np.pi * np.e)).sum(axis=-1)),
        "loss_q": 0.5 * np.mean((q_ret - q_i) ** 2 + (v_target - v) ** 2),
        "gradient": gradient,
    }  # fmt: skip


def score(a: Array, mean: Array, sigma: Array, h: Hyper) -> Array:
    """Gradient of the log-density with respect to the statistics."""
    by_mean = (a - mean) / sigma**2
    return np.concatenate([by_mean, (a - mean) ** 2 / sigma**2 - 1], axis=-1) if h.learn_sigma else by_mean


def divergence_gradient(f_avg: Array, f: Array, dimensions: int, h: Hyper) -> Array:
    (mean_avg, sigma_avg), (mean, sigma) = split(f_avg, dimensions, h), split(f, dimensions, h)
    by_mean = (mean - mean_avg) / sigma**2
    by_log_sigma = 1 - (sigma_avg**2 + (mean - mean_avg) ** 2) / sigma**2
    return np.concatenate([by_mean, by_log_sigma], axis=-1) if h.learn_sigma else by_mean


def backward(params: Params, x: Array, batch: Batch, d_f: Array, d_q: Array, d_v: Array, h: Hyper) -> Params:
    dimensions = batch.actions.shape[-1]
    gradient = {name: np.zeros_like(param) for name, param in params.items()}

    def add(name: str, inputs: Array, d_outputs: Array) -> Array:
        """A dense layer; returns the derivative with respect to its inputs."""
        rows, d_rows = inputs.reshape(-1, inputs.shape[-1]), d_outputs.reshape(-1, d_outputs.shape[-1])
        gradient[f"{name}/kernel"] += rows.T @ d_rows
        if f"{name}/bias" in params:
            gradient[f"{name}/bias"] += d_rows.sum(axis=0)
        return d_outputs @ params[f"{name}/kernel"].T

    actions, d_a = batch.actions[:, :, None], d_q[..., None]
    if h.dueling:
        n = batch.u.shape[2]
        actions = np.concatenate([actions, batch.u], axis=2)
        d_a = np.concatenate([d_a, np.repeat(-d_a / n, n, axis=2)], axis=2)
        d_v = d_v + d_q
    inner = hidden(params, x, actions)
    d_pre = add("a_head", inner, d_a[..., None]) * (1 - inner**2)
    add("a_actions", actions, d_pre)
    features = torso(params, "vf", x)
    d_features = add("a_features", features, d_pre.sum(axis=2)) + add("v_head", features, d_v[..., None])

    latent, mean = torso(params, "pi", x), statistics(params, x)[..., :dimensions]
    d_latent = add("pi_head", latent, d_f[..., :dimensions] * (1 - mean**2))
    if h.learn_sigma:
        gradient["pi_sigma/log_sigma"] += d_f[..., dimensions:].sum(axis=(0, 1))
    add("pi/mlp_fc0", x, d_latent * (1 - latent**2))
    add("vf/mlp_fc0" if "vf/mlp_fc0/kernel" in params else "pi/mlp_fc0", x, d_features * (1 - features**2))
    return gradient
