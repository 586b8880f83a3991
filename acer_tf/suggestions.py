"""Suggests what a user may have meant by a name that does not exist."""

import difflib
import heapq
from collections.abc import Callable, Collection, Iterable

Likeness = Callable[[str, str], float]
LIKE = 0.5
"""Least likeness of a name that is suggested for another."""
FEW = 8
"""Most choices that a message lists in full if none is similar."""

ELSEWHERE = {
    # Stable-Baselines3, its Zoo, and Stable Baselines 2
    "learning_rate": "lr",
    "learning_rate_schedule": "lrschedule",
    "lr_schedule": "lrschedule",
    "policy": "network",
    "policy_kwargs": "network policy",
    "features_extractor_class": "network",
    "net_arch": "num_hidden",
    "n_steps": "nsteps",
    "n_timesteps": "total_timesteps",
    "n_envs": "num_env",
    "env_name": "env",
    "vec_env": "vectorization",
    "vf_coef": "q_coef",
    "discount": "gamma",
    "correction_term": "c",
    "learning_starts": "replay_start",
    "train_freq": "replay_ratio",
    "gradient_steps": "replay_ratio",
    "batch_size": "segments_per_update nsteps",
    "target_kl": "delta",
    "tensorboard_log": "logdir",
    "log_folder": "logdir",
    "tb_log_name": "logdir",
    "n_cpu_tf_sess": "threads",
    "eval_freq": "eval_every",
    "n_eval_episodes": "eval_episodes episodes",
    "n_episodes": "episodes",
    "save_freq": "checkpoint_every",
    "trained_agent": "load_path",
    "hyperparams": "preset",
    "hyperparameters": "preset",
    "conf_file": "preset",
    "normalize": "normalize_observations",
    "norm_obs": "normalize_observations",
    "norm_reward": "normalize_rewards",
    "n_jobs": "workers num_workers",
    "n_trials": "trials",
    # CleanRL
    "env_id": "env",
    "num_envs": "num_env",
    "num_steps": "nsteps",
    "anneal_lr": "lrschedule",
    "exp_name": "logdir",
    "clip_coef": "c",
    "update_epochs": "replay_ratio",
    "train_frequency": "replay_ratio",
    "tau": "alpha",
    "capture_video": "video",
    "wandb_project_name": "track",
    # OpenAI baselines
    "network": "policy",
    "save_path": "logdir",
    "log_path": "logdir",
    "save_interval": "checkpoint_every",
    "replay_k": "replay_ratio",
    "nenvs": "num_env",
    "num_timesteps": "total_timesteps",
    # RLlib
    "num_env_runners": "actors",
    "num_rollout_workers": "actors",
    "num_envs_per_env_runner": "num_env",
    "num_envs_per_worker": "num_env",
    "rollout_fragment_length": "nsteps",
    "train_batch_size": "segments_per_update nsteps",
    "replay_buffer_capacity": "buffer_size",
    "entropy_coeff": "ent_coef",
    "vf_loss_coeff": "q_coef",
    "lambda": "q_lambda",
    "grad_clip": "max_grad_norm",
    "fcnet_hiddens": "num_hidden",
    "num_cpus": "threads",
    "observation_filter": "normalize_observations",
    "checkpoint_freq": "checkpoint_every",
    "evaluation_interval": "eval_every",
    "evaluation_duration": "eval_episodes",
    "config": "preset",
    "storage_path": "logdir",
    "stop_timesteps": "total_timesteps",
}
"""Names of other libraries (Stable-Baselines3, CleanRL, baselines, RLlib), and the settings that match them best."""


def likeness(a: str, b: str) -> float:
    """Returns how similar two names are, from 0 to 1, ignoring case; from `LIKE` on, one is suggested for the other."""
    return difflib.SequenceMatcher(a=a.lower(), b=b.lower()).ratio()


def from_elsewhere(name: str, known: Collection[str]) -> list[str]:
    """Returns the known settings that another library calls by this name."""
    return [setting for setting in ELSEWHERE.get(name.lower(), "").split() if setting in known]


def nearest(name: str, choices: Iterable[str], n: int = 3, alike: Likeness = likeness) -> list[str]:
    """Returns the `n` choices most similar to `name`, best first, or none if even the best is too different."""
    near = heapq.nlargest(n, choices, key=lambda choice: alike(name, choice))
    return near if near and alike(name, near[0]) >= LIKE else []


def suggestion(name: str, choices: Iterable[str], otherwise: str = "", alike: Likeness = likeness) -> str:
    """Returns the end of the message that a name does not exist, from its semicolon on.

    Args:
        name: what was given.
        choices: names that exist; if there are few and none is similar, the message lists them all.
        otherwise: where to find the choices, if there are many and none is similar.
        alike: how similar two names are, from 0 to 1.
    """
    names = list(choices)
    if near := nearest(name, names, alike=alike):
        return f"; the nearest are {', '.join(near)}"
    if len(names) > FEW:
        return otherwise and f"; {otherwise}"
    return f"; expected {' or '.join(filter(None, (', '.join(names[:-1]), names[-1])))}" if names else ""
