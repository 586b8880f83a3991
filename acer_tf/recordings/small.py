"""Compares single functions: schedules, Retrace, entropy, initial weights, episode statistics."""

from collections.abc import Iterator

import numpy as np

from acer_tf.episode_stats import EpisodeStats
from acer_tf.maths.diagnostics import explained_variance, mean_row_norm
from acer_tf.maths.discrete import entropy, select
from acer_tf.maths.retrace import retrace
from acer_tf.maths.schedules import learning_rate
from acer_tf.networks.layers import orthogonal
from acer_tf.recordings.comparison import ARRAY, DOUBLE, EXACT, SCALAR, Quantity
from acer_tf.recordings.recorded import Recorded


def compare_schedules(recorded: Recorded) -> Iterator[Quantity]:
    """Compares learning rates at the recorded steps, and over calls that divide training evenly."""
    lr, total = recorded.setting("v"), recorded.setting("nvalues")
    for name, values in recorded.group("value_steps").items():
        ours = [learning_rate(lr, name, step / total) for step in recorded["steps"].tolist()]
        yield DOUBLE(f"value_steps/{name}", ours, values)
    for name, values in recorded.group("value").items():
        ours = [learning_rate(lr, name, call / (len(values) - 1)) for call in range(len(values))]
        yield DOUBLE(f"value/{name}", ours, values)


def compare_explained_variance(recorded: Recorded) -> Iterator[Quantity]:
    """Compares the explained variance that ACER logs; baselines' numpy helper has no counterpart here."""
    for j in recorded.indices("ev/"):
        ours = explained_variance(recorded[f"ev/{j}/pred"], recorded[f"ev/{j}/target"])
        yield SCALAR(f"ev/{j}/tf", ours, recorded[f"ev/{j}/tf"])


def compare_small_math(recorded: Recorded) -> Iterator[Quantity]:
    """Compares Retrace, entropy, selection and norms. `strip` is a slice here, tested with the models."""
    for j in recorded.indices("retrace/"):
        case = recorded.setting("retrace")[j]
        rewards, dones, q_i, v, rho_i = (
            recorded[f"retrace/{j}/{name}"].reshape(case["nenvs"], -1) for name in ("R", "D", "q_i", "v", "rho_i")
        )
        ours = retrace(rewards, 1.0 - dones, q_i, v, rho_i, case["gamma"])
        yield ARRAY(f"retrace/{j}/qret", ours, recorded[f"retrace/{j}/qret"])
    if "small/p" in recorded:
        p, idx = recorded["small/p"], recorded["small/idx"]
        yield ARRAY("small/cat_entropy_softmax", entropy(p), recorded["small/cat_entropy_softmax"])
        yield ARRAY("small/get_by_index", select(p[np.newaxis], idx[np.newaxis]), recorded["small/get_by_index"])
        yield SCALAR("small/avg_norm", mean_row_norm(p), recorded["small/avg_norm"])


def compare_ortho_init(recorded: Recorded) -> Iterator[Quantity]:
    """Compares orthogonal weights drawn from the recorded seeds."""
    for j in recorded.indices():
        case = recorded.setting("cases")[j]
        ours = orthogonal(tuple(case["shape"]), case["scale"], np.random.RandomState(case["np_seed"]))
        yield EXACT(f"{j}/w", ours, recorded[f"{j}/w"])


def compare_episode_stats(recorded: Recorded) -> Iterator[Quantity]:
    """Compares `EpisodeStats` on the recorded segments."""
    stats = EpisodeStats(recorded["rewards"].shape[1])
    lengths, rewards = [], []
    for segment_rewards, dones in zip(recorded["rewards"], recorded["dones"], strict=True):
        stats.feed(segment_rewards, dones)
        lengths.append(stats.mean_length())
        rewards.append(stats.mean_reward())
    recorded_lengths, recorded_rewards = recorded["mean_length_reward"].T
    yield DOUBLE("mean_length", lengths, recorded_lengths)
    yield ARRAY("mean_reward", rewards, recorded_rewards)
