"""The metrics that training reports, with group, unit and meaning; docs/metrics.md shows this table.

The printed table and progress.csv use the bare names, baselines' first; TensorBoard and progress.jsonl use full names.
"""

import re
from typing import NamedTuple

LAST_EPISODES = 100
"""Number of whole episodes whose mean return is a run's score so far."""


class Metric(NamedTuple):
    """A metric that training reports.

    Attributes:
        group: rollout, train, time, replay or actors.
        unit: unit of its values; 1 for dimensionless ones.
        meaning: one-line description.
        is_column: whether it is a column of progress.csv; others appear only in TensorBoard.
    """

    group: str
    unit: str
    meaning: str
    is_column: bool = True


def _parsed(group: str, lines: str, is_column: bool = True) -> dict[str, Metric]:
    """Parses lines of the form `name [unit] meaning`."""
    found = re.findall(r"^(\w+) \[(.+?)\] (.+)$", lines, flags=re.MULTILINE)
    return {name: Metric(group, unit, meaning, is_column) for name, unit, meaning in found}


_TIME = """
total_timesteps [agent step] agent steps of all environments before this iteration: the x axis
fps [agent step/s] agent steps per second since training began
"""
_EPISODES = """
mean_episode_length [agent step] mean length of the last 40 episodes as the agent sees them (Atari: one per life)
mean_episode_reward [reward] mean return of the same episodes, from rewards as the agent receives them (Atari: clipped)
"""
_LOSSES = """
loss [mixed] loss_policy + q_coef * loss_q - ent_coef * entropy
loss_q [return²] half the squared error of Q relative to the Retrace target; for continuous actions plus that of V
entropy [nat] entropy of the policy, mean over steps
loss_policy [return] loss_f + loss_bc
loss_f [return] the truncated importance-weighted policy loss
loss_bc [return] the bias correction of that truncation
explained_variance [1] share of the variance of the Retrace targets that Q explains; negative if worse than a constant
"""
_NORMS = """
norm_grads [1] global norm of the gradient before clipping
norm_grads_q [1] norm of the critic's part of it (with all norms below, absent without the trust region)
norm_grads_policy [1] norm of the policy's part of it
avg_norm_grads_f [1] norm of the gradient with respect to the statistics f, after the trust region, mean over steps
avg_norm_k [1] norm of k, the gradient of the divergence from the average policy, mean over steps
avg_norm_g [1] norm of g, the gradient with respect to f before the trust region, mean over steps
avg_norm_k_dot_g [1] absolute value of the inner product of k and g, mean over steps
avg_norm_adj [1] multiple of k that the trust region subtracts from g, mean over steps
"""
_RATIOS = """
mean_rho [1] importance ratio of the action taken, current over behaviour policy, mean over steps
truncated_share [1] share of steps whose importance ratio exceeds c, so that its weight is truncated
trust_region_share [1] share of steps where the trust region changes the gradient (absent without it)
average_kl [nat] KL(average policy ‖ current policy), mean over steps (absent without the trust region)
"""
_SPEED = """
recent_fps [agent step/s] agent steps per second since the previous row
workers_replaced [1] worker processes of the environments replaced since this process began
"""
_ACTORS = """
actors_alive [1] collectors that are at work (this and the following only with `--actors`)
actors_replaced [1] collectors that were lost and began anew since this process began
actors_staleness_mean [update] updates since the weights of a new segment, mean over those since the previous row
actors_staleness_p95 [update] the same, 95th percentile
actors_idle_share [1] share of the time since the previous row in which the learner waited for a segment
actors_segments_dropped [1] new segments that were older than `--max_staleness`, since this process began
"""
_REPLAY = """
replay_size [agent step] agent steps held in replay, over all environments
replay_updates [1] updates from replay so far
"""
_WHOLE_EPISODES = """
episode_return [reward] raw return of whole episodes, averaged over those that ended in the iteration
episode_length [agent step] length of the same episodes, averaged likewise
"""

METRICS: dict[str, Metric] = {
    **_parsed("time", _TIME),
    **_parsed("rollout", _EPISODES),
    **_parsed("train", _LOSSES + _NORMS + _RATIOS),
    "learning_rate": Metric("train", "1", "learning rate of this iteration's updates"),
    **_parsed("time", _SPEED),
    **{f"replay_{name}": metric for name, metric in _parsed("replay", _LOSSES + _RATIOS).items()},
    **_parsed("replay", _REPLAY),
    **_parsed("rollout", _WHOLE_EPISODES, is_column=False),
    "frames": Metric("time", "frame", "raw frames of the emulator so far, four per agent step (Atari only)", False),
    **_parsed("actors", _ACTORS),
}


def full_name(name: str) -> str:
    """Returns the name with its group, such as train/loss or replay/loss, or a name unchanged if it has no group."""
    if name not in METRICS:
        return name
    group = METRICS[name].group
    return f"{group}/{name.removeprefix(f'{group}_')}"
