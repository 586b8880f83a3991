"""Names of flags: of those typed on a command line, and of what other libraries call them."""

import re
from collections.abc import Collection, Iterable

from acer_tf.suggestions import nearest

ALIASES = {"num_timesteps": "total_timesteps"}
"""Names that are taken as well: that of baselines' command."""
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
    "device": "threads",
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
    "cuda": "threads",
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
    "num_gpus": "threads",
    "num_cpus": "threads",
    "observation_filter": "normalize_observations",
    "checkpoint_freq": "checkpoint_every",
    "evaluation_interval": "eval_every",
    "evaluation_duration": "eval_episodes",
    "config": "preset",
    "storage_path": "logdir",
    "stop_timesteps": "total_timesteps",
}
"""Names that Stable-Baselines3, CleanRL, baselines and RLlib have for what these flags do, or are nearest to."""


def flag_name(word: str) -> str:
    """Returns the name of the flag in a word such as `--num-env=8`."""
    name = word.partition("=")[0].removeprefix("--").replace("-", "_")
    return ALIASES.get(name, name)


def intended_flag(name: str, known: Iterable[str]) -> str | None:
    """Returns the one of the known flags that an unknown name stands for elsewhere, or else resembles, if any."""
    flags = list(known)
    same = [flag for flag in ELSEWHERE.get(name.lower(), "").split() if flag in flags]
    return next(iter(same or nearest(name, flags, n=1)), None)


def instead_of(name: str, known: Iterable[str]) -> str:
    """Returns the end of the message that a flag does not exist."""
    flag = intended_flag(name, known)
    if flag is None:
        return "--help lists them"
    return f"use --{flag}" if flag in ELSEWHERE.get(name.lower(), "").split() else f"the nearest is --{flag}"


def stray(word: str, known: Collection[str]) -> str:
    """Returns the message that a word follows no flag."""
    is_env = "env" in known and re.fullmatch(r"[A-Z]\w*|.+-v\d+", word)
    return f"'{word}' belongs to no flag; expected {f'--env {word}' if is_env else '--name=value'}."
