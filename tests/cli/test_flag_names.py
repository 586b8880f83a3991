import pytest

from acer_tf import doctor, evaluate, run, run_atari, sweep
from acer_tf.cli.flag_names import ALIASES, flag_name
from acer_tf.cli.parsing import parse
from acer_tf.errors import InputError
from acer_tf.suggestions import ELSEWHERE

TYPED = {
    # Stable-Baselines3, its Zoo, Stable Baselines 2
    "learning_rate": "lr", "policy": "network", "policy_kwargs": "network", "tensorboard_log": "logdir",
    "correction_term": "c", "n_steps": "nsteps", "n_envs": "num_env",
    "n-timesteps": "total_timesteps",
    "vf_coef": "q_coef", "learning_starts": "replay_start", "gradient_steps": "replay_ratio",
    "train_freq": "replay_ratio",
    "eval-freq": "eval_every", "n_eval_episodes": "eval_episodes", "save-freq": "checkpoint_every",
    "trained-agent": "load_path", "log-folder": "logdir", "vec-env": "vectorization", "lr_schedule": "lrschedule",
    "n_cpu_tf_sess": "threads", "norm_obs": "normalize_observations", "net_arch": "num_hidden",
    # CleanRL
    "env-id": "env", "num-envs": "num_env", "num-steps": "nsteps", "anneal-lr": "lrschedule", "exp-name": "logdir",
    "update-epochs": "replay_ratio", "clip-coef": "c", "tau": "alpha",
    "train-frequency": "replay_ratio",
    # OpenAI baselines
    "save_path": "logdir", "log_path": "logdir", "nenvs": "num_env", "save_interval": "checkpoint_every",
    # RLlib
    "num_env_runners": "actors", "num_envs_per_env_runner": "num_env", "rollout_fragment_length": "nsteps",
    "entropy_coeff": "ent_coef", "vf_loss_coeff": "q_coef", "lambda": "q_lambda", "grad_clip": "max_grad_norm",
    "checkpoint_freq": "checkpoint_every", "evaluation_interval": "eval_every",
    "stop-timesteps": "total_timesteps", "observation_filter": "normalize_observations", "storage_path": "logdir",
}  # fmt: skip
"""Flags that people who come from other libraries type, and those of `acer run`."""


@pytest.mark.parametrize(("typed", "flag"), TYPED.items())
def test_names_of_other_libraries(typed: str, flag: str) -> None:
    with pytest.raises(InputError) as refused:
        run.read(["--env", "CartPole-v1", f"--{typed}=3"])
    name = typed.replace("-", "_")
    assert str(refused.value) == f"--{name} is not a flag, nor an argument of network 'mlp'; the nearest is --{flag}."


def test_what_a_command_calls_it() -> None:
    with pytest.raises(InputError, match=r"^--n_eval_episodes is not a flag; the nearest is --episodes\.$"):
        parse("acer_tf.evaluate", evaluate.Evaluate, ["run", "--n_eval_episodes", "3"])
    with pytest.raises(InputError, match=r"^--network is not a flag; the nearest is --policy\.$"):
        run_atari.read(["--network", "cnn_small"])
    with pytest.raises(InputError, match=r"^--n_trials is not a flag; the nearest is --trials\.$"):
        sweep.Sweep(envs=("CartPole-v1",)).planned(["--n_trials", "3"])


@pytest.mark.parametrize("name", ["xyzzy", "device", "cuda"])
def test_names_that_resemble_nothing(name: str) -> None:
    with pytest.raises(InputError, match=rf"^--{name} is not a flag, nor .* 'mlp'; --help lists them\.$"):
        run.read([f"--{name}", "3"])


def test_the_table_names_flags_that_exist() -> None:
    commands = {*run.PARSER.names, *run_atari.PARSER.names, *sweep.PARSER.names, "episodes", "video", "num_hidden"}
    assert {flag for flags in ELSEWHERE.values() for flag in flags.split()} <= commands
    assert not ELSEWHERE.keys() & {*run.PARSER.names} - {"network"}


@pytest.mark.parametrize("word", ["--num_timesteps", "--num-timesteps", "--total-timesteps", "--total_timesteps"])
def test_the_length_has_the_name_of_baselines_as_well(word: str) -> None:
    assert run.read(["--env", "CartPole-v1", word, "2e5"]).config.total_timesteps == 200_000
    assert run_atari.read(["--env", "Pong", f"{word}=3e5"]).config.total_timesteps == 300_000
    assert flag_name(f"{word}=3") == ALIASES["num_timesteps"]


@pytest.mark.parametrize(("word", "expected"), [("CartPole-v1", "--env CartPole-v1"), ("3", "--name=value")])
def test_words_without_a_flag(word: str, expected: str) -> None:
    for read in (run.read, run_atari.read):
        with pytest.raises(InputError, match=rf"^unexpected word '{word}'; expected {expected}\.$"):
            read([word])


def test_words_without_a_flag_of_a_sweep() -> None:
    for word, expected in (("CartPole-v1", "--envs CartPole-v1"), ("3", "--name=value")):
        for flags in (sweep.Sweep(), sweep.Sweep(envs=("CartPole-v1",))):
            with pytest.raises(InputError, match=rf"^unexpected word '{word}'; expected {expected}\.$"):
                flags.planned([word, "--lr", "1e-3"])


def test_a_word_where_there_are_no_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(["x"]) == 2
    assert capsys.readouterr().err == "error: unexpected word 'x'; expected none.\n"


def test_bare_names_of_games() -> None:
    assert run_atari.read(["--env", "Pong"]).environment.env == "PongNoFrameskip-v4"
    assert run.read(["--env", "Pong", "--network", "cnn"]).environment.env == "PongNoFrameskip-v4"
    with pytest.raises(InputError, match="'Pon' does not exist; the nearest are PongNoFrameskip-v4"):
        run_atari.read(["--env", "Pon"])
