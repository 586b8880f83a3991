import inspect
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import acer_tf
from acer_tf import policies
from acer_tf.agent import ACER
from acer_tf.callbacks import BaseCallback, EvalCallback, StopTrainingOnRewardThreshold
from acer_tf.envs.make import make_training_env, make_vec_env
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.evaluation import evaluate_policy
from tests.counter import Counter
from tests.scripted import ScriptedEnv
from tests.small_agents import NSTEPS, TINY, assert_same, everything, observations, tiny, vec_env

STABLE_BASELINES = {
    "gamma": 0.99, "n_steps": 20, "num_procs": None, "q_coef": 0.5, "ent_coef": 0.01, "max_grad_norm": 10,
    "learning_rate": 0.0007, "lr_schedule": "linear", "rprop_alpha": 0.99, "rprop_epsilon": 1e-5, "buffer_size": 5000,
    "replay_ratio": 4, "replay_start": 1000, "correction_term": 10.0, "trust_region": True, "alpha": 0.99, "delta": 1,
    "verbose": 0, "tensorboard_log": None, "_init_setup_model": True, "policy_kwargs": None,
    "full_tensorboard_log": False, "seed": None, "n_cpu_tf_sess": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def agent() -> ACER:
    """One that has learned a little; a test must leave it as it was."""
    return tiny().learn(60, log_interval=1)


def test_the_arguments_are_those_of_stable_baselines() -> None:
    parameters = list(inspect.signature(ACER.__init__).parameters.values())[3:]
    positional = {p.name: p.default for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD}
    assert positional == STABLE_BASELINES
    assert list(positional) == list(STABLE_BASELINES)
    assert acer_tf.ACER is ACER


def test_the_example_of_the_manual(tmp_path: Path) -> None:
    """Shorter, and with gymnasium's `reset` and `step`."""
    env = vec_env(n=4)
    model = ACER(policies.MlpPolicy, env, verbose=1)
    model.learn(total_timesteps=80)
    model.save(str(tmp_path / "acer_cartpole"))
    trained = model
    del model  # remove to demonstrate saving and loading

    model = ACER.load(str(tmp_path / "acer_cartpole"))
    obs, _ = env.reset()
    for _ in range(3):
        expected, _ = trained.predict(obs)
        action, _states = model.predict(obs)
        np.testing.assert_array_equal(action, expected)
        obs, _rewards, _terminations, _truncations, _info = env.step(action)
    assert action.shape == (4,) and _states is None


def test_arguments_can_be_read_but_not_changed(agent: ACER) -> None:
    assert (agent.gamma, agent.n_steps, agent.trust_region, agent.seed, agent.policy) == (0.99, NSTEPS, True, 0, "mlp")
    assert (agent.n_envs, agent.num_timesteps) == (2, 60)
    with pytest.raises(
        InputError, match=r"gamma is fixed when the agent is made; ACER\.load\(path, env, gamma=\.\.\.\)"
    ):
        agent.gamma = 0.9
    with pytest.raises(AttributeError, match="ACER has no attribute 'gama'"):
        agent.gama  # noqa: B018
    with pytest.raises(InputError, match="verbose is 7"):
        agent.verbose = 7
    assert agent.verbose == 0


def test_learning_in_parts_is_learning_at_once() -> None:
    settings = {
        "lr_schedule": "constant",
        "replay_ratio": 1,
        "policy": "MlpLstmPolicy",
        "policy_kwargs": {"n_lstm": 3, "layers": [4]},
    }
    whole, parts = tiny(**settings).learn(120), tiny(**settings)
    parts.learn(40)
    parts.learn(30, reset_num_timesteps=False)
    assert parts.num_timesteps == 70
    parts.learn(50)  # counts anew, but environments, replay and random streams go on
    assert parts.num_timesteps == 50
    assert_same(whole, parts)


@pytest.mark.parametrize("how", ["the agent's vector environment", "the environment itself", "another wrapper"])
def test_episodes_begin_anew_after_others_played_in_the_environment(how: str) -> None:
    single = Counter(6)
    agent = tiny(env=single)
    agent.learn(5)  # two steps before the end
    theirs = {
        "the agent's vector environment": agent.get_env(),
        "the environment itself": single,
        "another wrapper": gymnasium.wrappers.TimeLimit(single, 100),
    }[how]
    evaluate_policy(agent, theirs, 1)
    agent.learn(15)
    assert agent._loop is not None
    assert list(agent._loop.stats._last_lengths) == [7, 7]


def test_episodes_begin_anew_after_another_agent_played_in_the_environment() -> None:
    env = SyncVectorEnv([lambda: Counter(6)], autoreset_mode=AutoresetMode.SAME_STEP)
    first, second = tiny(env=env).learn(5), tiny(env=env)
    second.learn(10)
    first.learn(15)
    evaluate_policy(second, env, 1)
    second.learn(10)
    assert first._loop is not None and second._loop is not None
    assert list(first._loop.stats._last_lengths) == [7, 7] and list(second._loop.stats._last_lengths) == [7, 7]


class Flawed(Counter):
    """Fails once, in its third step."""

    def __init__(self, failure: BaseException | float) -> None:
        super().__init__(6)
        self.failure: BaseException | float | None = failure

    def step(self, action: int) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        if self.t == 3 and self.failure is not None:
            failure, self.failure = self.failure, None
            if isinstance(failure, BaseException):
                raise failure
            return np.full(1, failure, np.float32), reward, terminated, truncated, info
        return obs, reward, terminated, truncated, info


@pytest.mark.parametrize(
    ("failure", "error"),
    [(float("nan"), InputError), (OSError("no"), EnvironmentFailedError), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_after_an_error_episodes_begin_anew(failure: Any, error: type[BaseException]) -> None:
    agent = tiny(env=Flawed(failure))
    with pytest.raises(error):
        agent.learn(20)
    agent.learn(15)
    assert agent._loop is not None
    assert list(agent._loop.stats._last_lengths) == [7, 7]


def test_a_learn_that_is_refused_changes_no_count() -> None:
    agent = tiny().learn(20)
    for callback in (StopTrainingOnRewardThreshold(5), EvalCallback(agent.get_env())):
        with pytest.raises(InputError):
            agent.learn(20, callback)
        assert agent.num_timesteps == 20
    assert agent.learn(10, reset_num_timesteps=False).num_timesteps == 30


def test_a_model_that_is_set_up_anew_is_the_one_that_learns() -> None:
    agent = tiny().learn(20)
    agent.setup_model()
    before = agent.get_parameters()
    agent.learn(20)
    assert any((array != before[name]).any() for name, array in agent.get_parameters().items())


def test_whole_numbers_may_be_written_as_floats() -> None:
    agent = tiny().learn(2e1, log_interval=1.0)  # type: ignore[arg-type]
    assert agent.num_timesteps == 20
    with pytest.raises(InputError, match=r"total_timesteps is 20\.5; expected a whole number"):
        agent.learn(20.5)  # type: ignore[arg-type]


def rewards_seen(agent: ACER) -> set[float]:
    seen: set[float] = set()
    agent.learn(20, lambda here, _: seen.update(here["rewards"].tolist()))
    return seen


def test_the_scale_of_rewards_is_kept(tmp_path: Path) -> None:
    agent = tiny(env=Counter(0), reward_scale=0.5)
    agent.save(tmp_path / "agent")
    assert rewards_seen(agent) == {0.0, 0.5}
    assert rewards_seen(ACER.load(tmp_path / "agent", Counter(0))) == {0.0, 0.5}
    agent.set_env(Counter(0))
    assert rewards_seen(agent) == {0.0, 0.5}
    assert agent.get_env().step(np.array([1]))[1] == 1, "the user's own rewards are as they were"
    agent = tiny(env=make_training_env("CartPole-v1", 1, reward_scale=0.1))
    assert (agent.reward_scale, rewards_seen(agent)) == (0.1, {np.float32(0.1)})
    with pytest.raises(InputError, match="reward_scale is 0; expected a finite number > 0"):
        tiny(reward_scale=0)


def test_evaluation_elsewhere_leaves_episodes_alone() -> None:
    alone, watched = tiny(), tiny()
    alone.learn(20).learn(20)
    watched.learn(20)
    evaluate_policy(watched, gymnasium.make("CartPole-v1"), 1)
    assert_same(alone, watched.learn(20))


def test_training_and_evaluation_cannot_go_on_in_one_environment() -> None:
    agent = tiny()
    message = "the environment is that of training, which goes on in it; evaluate in one of its own"
    with pytest.raises(InputError, match=message):
        agent.learn(10, EvalCallback(agent.get_env(), eval_freq=1000))
    with pytest.raises(InputError, match=message):
        agent.learn(10, lambda here, _: evaluate_policy(here["self"], here["self"].env, 1))
    assert np.isfinite(evaluate_policy(agent, agent.env, 1)[0])


def test_the_schedule_goes_on_or_begins_anew() -> None:
    seen: list[float] = []
    agent = tiny(lr_schedule=lambda fraction: seen.append(fraction) or 1.0)
    agent.learn(40)
    assert seen == [0, 0.25, 0.5, 0.75]
    agent.learn(40, reset_num_timesteps=False)
    assert seen[4:] == [0.5, 0.625, 0.75, 0.875]
    agent.learn(20)
    assert seen[8:] == [0, 0.5]


class Recorder(BaseCallback):
    """Writes down what is called, and stops at a number of steps."""

    def __init__(self, stop_at: int = 10**9) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.steps: list[int] = []
        self.stop_at = stop_at

    def _on_training_start(self) -> None:
        self.calls.append("training start")

    def _on_rollout_start(self) -> None:
        self.calls.append("rollout start")

    def _on_step(self) -> bool:
        self.steps.append(self.num_timesteps)
        assert self.num_timesteps == self.model.num_timesteps
        assert self.locals["rewards"].shape == self.locals["dones"].shape == (2,)
        return self.num_timesteps < self.stop_at

    def _on_rollout_end(self) -> None:
        self.calls.append("rollout end")

    def _on_training_end(self) -> None:
        self.calls.append("training end")


def test_callbacks_are_told_of_everything_and_change_nothing() -> None:
    recorder, plain = Recorder(), tiny().learn(40, log_interval=1)
    told = tiny().learn(40, log_interval=1, callback=recorder)
    assert recorder.calls == ["training start", *["rollout start", "rollout end"] * 4, "training end"]
    assert recorder.steps == list(range(2, 42, 2))
    assert_same(plain, told)


def test_a_callback_ends_training_within_a_segment() -> None:
    recorder, agent = Recorder(stop_at=26), tiny()
    agent.learn(1000, log_interval=1, callback=recorder)
    assert recorder.steps[-1] == 26 and recorder.calls[-2:] == ["rollout start", "training end"]
    assert agent.num_timesteps == 26, "steps of the unfinished segment count"
    assert agent.model.updates == 2, "but nothing is learned from them"
    agent.learn(20, log_interval=1, reset_num_timesteps=False)
    assert agent.num_timesteps == 46
    stats = agent._loop.stats
    assert (stats._lengths + 0).sum() + sum(stats._last_lengths) == 46, "and so do its rewards"


def test_functions_and_lists_are_callbacks() -> None:
    seen: list[int] = []
    recorder = Recorder()
    agent = tiny()
    agent.learn(10, callback=[recorder, lambda variables, _: seen.append(variables["self"].num_timesteps)])
    assert seen == recorder.steps
    with pytest.raises(InputError, match="the callback is a int; expected a BaseCallback"):
        agent.learn(40, callback=3)


def test_episodes_statistics_and_progress_go_where_they_should(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = tiny(verbose=1, tensorboard_log=tmp_path / "tb")
    agent.learn(40, log_interval=2, tb_log_name="run", progress_bar=True)
    captured = capsys.readouterr()
    assert captured.out.count("| total_timesteps") == 2
    assert "| mean_episode_length" in captured.out and "100.0%" not in captured.out
    assert "40 steps" in captured.err
    agent.learn(10, tb_log_name="run")
    agent.learn(10, tb_log_name="run", reset_num_timesteps=False)
    assert sorted(path.name for path in (tmp_path / "tb").iterdir()) == ["run_1", "run_2"]
    assert all(any(path.iterdir()) for path in (tmp_path / "tb").iterdir())
    agent.verbose = 0
    capsys.readouterr()
    agent.learn(10, tb_log_name="run")
    assert capsys.readouterr().out == ""


def test_environments_may_be_changed_for_more_or_fewer(agent: ACER) -> None:
    agent = tiny().learn(10)
    for n in (3, 1):
        agent.set_env(vec_env(n=n))
        assert agent.n_envs == agent.get_env().num_envs == n
        before = everything(agent)
        agent.learn(15, log_interval=1, reset_num_timesteps=False)
        assert any((array != before[name]).any() for name, array in everything(agent).items())
    assert agent.num_timesteps == 10 + 15 + 15


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("Acrobot-v1", r"the environment's observation space is Box\(.*; the agent's is Box\("),
        (ScriptedEnv(np.zeros((9, 2, 4), np.float32), nact=3), "observation space is"),
        ("Cartpole-v2", "environment 'Cartpole-v2' does not exist; the nearest are CartPole-v1"),
        (3, r"the environment is a int; expected a gymnasium\.vector\.VectorEnv, a gymnasium\.Env, or an id"),
    ],
)
def test_environments_that_do_not_fit(agent: ACER, env: Any, message: str) -> None:
    before, kept = everything(agent), agent.env
    with pytest.raises(InputError, match=message):
        agent.set_env(env)
    assert agent.env is kept
    for name, array in everything(agent).items():
        np.testing.assert_array_equal(array, before[name])


class Actions(gymnasium.ObservationWrapper[Any, Any, Any]):
    """CartPole with the observations of another task."""

    def __init__(self) -> None:
        super().__init__(gymnasium.make("CartPole-v1"))
        self.action_space = Discrete(3)

    def observation(self, observation: Any) -> Any:
        return observation


def test_other_actions_do_not_fit(agent: ACER) -> None:
    with pytest.raises(
        InputError, match=r"the environment's action space is Discrete\(3\); the agent's is Discrete\(2\)"
    ):
        agent.set_env(Actions())


def test_an_environment_a_vector_and_an_id_are_the_same() -> None:
    agents = [
        tiny(env=env).learn(10, log_interval=1) for env in (gymnasium.make("CartPole-v1"), vec_env(n=1), "CartPole-v1")
    ]
    for other in agents[1:]:
        assert_same(agents[0], other)


def test_a_game_gets_baselines_wrappers() -> None:
    agent = tiny("cnn_small", "PongNoFrameskip-v4")
    try:
        agent.learn(5)
        assert agent.observation_space == Box(0, 255, (84, 84, 4), np.uint8)
        obs, _ = agent.env.reset(seed=1)
        assert agent.action_space.contains(agent.predict(obs[0])[0])
    finally:
        agent.env.close()


def test_normalisation_is_kept_and_left_alone_by_predictions() -> None:
    agent = tiny(env=vec_env("Pendulum-v1"), normalize_observations=True, normalize_rewards=True, gamma=0.9)
    agent.learn(40, log_interval=1)
    before = agent._current_statistics
    assert before["obs_count"] > 40 and before["return_count"] >= 40
    assert agent.get_vec_normalize_env().single_observation_space == Box(-10, 10, (3,), np.float32)
    assert agent.env.single_observation_space == agent.observation_space
    assert agent.observation_space != agent.get_vec_normalize_env().single_observation_space
    agent.predict(observations(agent))
    np.testing.assert_array_equal(agent._current_statistics["obs_mean"], before["obs_mean"])
    agent.set_env(vec_env("Pendulum-v1", n=1))
    np.testing.assert_array_equal(agent._current_statistics["obs_mean"], before["obs_mean"])
    assert tiny().get_vec_normalize_env() is None


def test_what_make_vec_env_made_speaks_the_environments_own_units() -> None:
    env = make_vec_env("Pendulum-v1", 2)
    agent = tiny(env=env, normalize_observations=True, sigma=5).learn(10)
    assert agent.get_env() is env
    obs, _ = env.reset(seed=0)
    actions, _ = agent.predict(np.repeat(obs, 20, axis=0))
    assert np.abs(obs[:, 2]).max() > 0.1 and set(np.abs(actions[:, 0])) > {2.0}  # the ends of Pendulum's range
    env.step(actions[:2])


def test_what_make_training_env_made_is_normalised_if_the_agent_is() -> None:
    agent = tiny(env=make_training_env("Pendulum-v1", 2), normalize_observations=True, normalize_rewards=True)
    assert agent.normalize_observations and agent.normalize_rewards
    agent.learn(20, log_interval=1)
    agent.set_env(make_training_env("Pendulum-v1", 1))
    agent.predict(observations(agent))
    kept = agent.env
    with pytest.raises(InputError, match="the environment normalises observations, but the agent was made without"):
        (plain := tiny(env=vec_env("Pendulum-v1"))).set_env(
            make_training_env("Pendulum-v1", 1, normalize_observations=True)
        )
    assert agent.env is kept and plain.n_envs == 2
    with pytest.raises(InputError, match="stacked frames are not normalised"):
        tiny("cnn_small", make_training_env("PongNoFrameskip-v4", 1, num_workers=0), normalize_observations=True)


def test_what_make_training_env_made_is_taken_as_it_is() -> None:
    agent = tiny(env=make_training_env("Pendulum-v1", 2, normalize_observations=True))
    assert agent.normalize_observations and not agent.normalize_rewards
    assert agent.action_space == Box(-2, 2, (1,), np.float32)


def test_a_seed_begins_all_streams_anew() -> None:
    first, second = tiny(seed=1), tiny(seed=2)
    second.load_parameters(first.get_parameters())
    for agent in (first, second):
        agent.learn(20, log_interval=1)
        agent.predict(observations(agent))
    second.model.load_state_dict(first.model.state_dict() | {"random": second.model.state_dict()["random"]})
    obs = observations(first, 50)
    assert (first.predict(obs)[0] != second.predict(obs)[0]).any()
    first.set_random_seed(None)
    for agent in (first, second):
        agent.set_random_seed(5)
    np.testing.assert_array_equal(first.predict(obs)[0], second.predict(obs)[0])
    for agent in (first, second):
        agent.learn(60, log_interval=1)
    assert_same(first, second)
    assert first.seed == 5


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"policy": "MlpPolcy"}, "network 'MlpPolcy' does not exist; the nearest are MlpPolicy, "),
        ({"policy": "MlpPolicy", "policy_kwargs": {"net_ach": [3]}}, "argument net_ach; the nearest are net_arch"),
        ({"policy_kwargs": [3]}, r"policy_kwargs is \[3\]; expected arguments of the policy by name"),
        ({"n_steps": 0}, "n_steps is 0; expected a whole number >= 1"),
        ({"learning_rate": -1}, "learning_rate is -1; expected a finite number >= 0"),
        ({"lr_schedule": "liner"}, "lr_schedule 'liner' does not exist; the nearest are linear"),
        ({"correction_term": 0}, "correction_term is 0; expected a number > 0"),
        ({"buffer_size": 5}, "buffer_size 5 is smaller than replay_start 10"),
        ({"verbose": 3}, "verbose is 3; expected 0, 1 or 2"),
        ({"seed": -1}, "seed is -1; expected a whole number"),
        ({"n_cpu_tf_sess": 0}, "n_cpu_tf_sess is 0; expected a whole number >= 1"),
        ({"normalize_observations": 1}, "normalize_observations is 1; expected True or False"),
        ({"optimizer": "adm"}, "optimizer is 'adm'; expected rmsprop, adam or a Keras optimizer"),
        ({"sigma": 0.5}, "sigma is 0.5, but the actions are Discrete"),
        ({"env": None}, "the environment is a NoneType"),
    ],
)
def test_arguments_that_cannot_work(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ACER(**({"policy": "mlp", "env": vec_env(), "n_steps": 5, "replay_start": 10, "buffer_size": 50} | kwargs))


def test_learn_needs_whole_numbers_and_an_environment(agent: ACER, tmp_path: Path) -> None:
    for argument in ("total_timesteps", "log_interval"):
        with pytest.raises(InputError, match=f"{argument} is 0; expected a whole number >= 1"):
            agent.learn(**{"total_timesteps": 10, argument: 0})
    agent.save(tmp_path / "agent")
    with pytest.raises(InputError, match="there is no environment to learn in; give one with set_env"):
        ACER.load(tmp_path / "agent").learn(10)


def test_the_model_may_be_set_up_later() -> None:
    agent = tiny(_init_setup_model=False)
    assert not hasattr(agent, "model")
    agent.setup_model()
    assert_same(agent, tiny())


def test_small_policies_have_numpys_numbers_too() -> None:
    agent = tiny(gamma=np.float64(0.9), n_steps=np.int64(5), trust_region=np.bool_(False), policy_kwargs=dict(TINY))
    assert (type(agent.gamma), type(agent.n_steps), type(agent.trust_region)) == (float, int, bool)
