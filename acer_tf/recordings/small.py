"""Compares single functions: schedules, Retrace, entropy, initial weights, episode statistics."""

import numpy as np

from acer_tf.episode_stats import EpisodeStats
from acer_tf.maths.diagnostics import explained_variance, mean_row_norm
from acer_tf.maths.discrete import entropy, select
from acer_tf.maths.retrace import retrace
from acer_tf.maths.schedules import learning_rate
from acer_tf.networks.initializers import orthogonal
from acer_tf.recordings.comparison import ARRAY, DOUBLE, SCALAR, Quantity, exact, relative, scalar
from acer_tf.recordings.recorded import Recorded


def compare_schedules(recorded: Recorded) -> list[Quantity]:
    """Compares learning rates at the recorded steps, and over calls that divide the training evenly."""
    lr, total = recorded.setting("v"), recorded.setting("nvalues")
    quantities = []
    for name, values in recorded.group("value_steps").items():
        ours = [learning_rate(lr, name, int(step) / total) for step in recorded["steps"]]
        quantities.append(Quantity(f"value_steps/{name}", relative(ours, values), DOUBLE))
    for name, values in recorded.group("value").items():
        ours = [learning_rate(lr, name, call / (len(values) - 1)) for call in range(len(values))]
        quantities.append(Quantity(f"value/{name}", relative(ours, values), DOUBLE))
    return quantities


def compare_explained_variance(recorded: Recorded) -> list[Quantity]:
    """Compares the explained variance that ACER logs; baselines' numpy helper has no counterpart here."""
    quantities = []
    for j in recorded.indices("ev/"):
        ours = explained_variance(recorded[f"ev/{j}/pred"], recorded[f"ev/{j}/target"])
        quantities.append(Quantity(f"ev/{j}/tf", scalar(ours, recorded[f"ev/{j}/tf"]), SCALAR))
    return quantities


def compare_small_math(recorded: Recorded) -> list[Quantity]:
    """Compares Retrace, entropy, selection and norms. `strip` is a slice here, tested with the models."""
    quantities = [_retrace(recorded, j) for j in recorded.indices("retrace/")]
    if "small/p" in recorded:
        p = recorded["small/p"]
        entropies = relative(entropy(p), recorded["small/cat_entropy_softmax"])
        selected = relative(select(p[np.newaxis], recorded["small/idx"][np.newaxis]), recorded["small/get_by_index"])
        norm = scalar(mean_row_norm(p), recorded["small/avg_norm"])
        quantities += [
            Quantity("small/cat_entropy_softmax", entropies, ARRAY),
            Quantity("small/get_by_index", selected, ARRAY),
            Quantity("small/avg_norm", norm, SCALAR),
        ]
    return quantities


def compare_ortho_init(recorded: Recorded) -> list[Quantity]:
    """Compares orthogonal weights drawn from the recorded seeds."""
    quantities = []
    for j in recorded.indices():
        case = recorded.setting("cases")[j]
        ours = orthogonal(tuple(case["shape"]), case["scale"], np.random.RandomState(case["np_seed"]))
        quantities.append(Quantity(f"{j}/w", exact(ours, recorded[f"{j}/w"]), 0.0))
    return quantities


def compare_episode_stats(recorded: Recorded) -> list[Quantity]:
    """Compares `EpisodeStats` on the recorded segments."""
    stats = EpisodeStats(recorded["rewards"].shape[1])
    lengths, rewards = [], []
    for segment_rewards, dones in zip(recorded["rewards"], recorded["dones"], strict=True):
        stats.feed(segment_rewards, dones)
        lengths.append(stats.mean_length())
        rewards.append(stats.mean_reward())
    recorded_lengths, recorded_rewards = recorded["mean_length_reward"].T
    return [
        Quantity("mean_length", relative(lengths, recorded_lengths), DOUBLE),
        Quantity("mean_reward", relative(rewards, recorded_rewards), ARRAY),
    ]


def _retrace(recorded: Recorded, j: int) -> Quantity:
    case = recorded.setting("retrace")[j]
    arrays = {
        name: recorded[f"retrace/{j}/{name}"].reshape(case["nenvs"], -1) for name in ("R", "D", "q_i", "v", "rho_i")
    }
    ours = retrace(arrays["R"], 1.0 - arrays["D"], arrays["q_i"], arrays["v"], arrays["rho_i"], case["gamma"])
    return Quantity(f"retrace/{j}/qret", relative(ours, recorded[f"retrace/{j}/qret"]), ARRAY)
