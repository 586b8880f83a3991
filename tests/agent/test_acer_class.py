import copy
import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acer_tf
from acer_tf import policies
from acer_tf.agent import ACER
from acer_tf.agent.settings import ARGUMENTS, DEFAULTS, BeyondStableBaselines
from acer_tf.config import Config
from acer_tf.errors import InputError
from tests.small_agents import NSTEPS, TINY, assert_same, observations, tiny, vec_env

STABLE_BASELINES = {
    "gamma": 0.99, "n_steps": 20, "num_procs": None, "q_coef": 0.5, "ent_coef": 0.01, "max_grad_norm": 10,
    "learning_rate": 0.0007, "lr_schedule": "linear", "rprop_alpha": 0.99, "rprop_epsilon": 1e-5, "buffer_size": 5000,
    "replay_ratio": 4, "replay_start": 1000, "correction_term": 10.0, "trust_region": True, "alpha": 0.99, "delta": 1,
    "verbose": 0, "tensorboard_log": None, "_init_setup_model": True, "policy_kwargs": None,
    "full_tensorboard_log": False, "seed": None, "n_cpu_tf_sess": None,
}  # fmt: skip


def test_the_arguments_are_those_of_stable_baselines() -> None:
    parameters = list(inspect.signature(ACER.__init__).parameters.values())[3:]
    positional = {p.name: p.default for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD}
    assert positional == STABLE_BASELINES
    assert list(positional) == list(STABLE_BASELINES)
    assert {name: positional.get(name, DEFAULTS[name]) for name in DEFAULTS} == DEFAULTS
    assert acer_tf.ACER is ACER


def test_an_old_name_of_the_number_of_threads_is_taken() -> None:
    assert tiny(num_procs=1, _init_setup_model=False).n_cpu_tf_sess == 1


def test_all_other_arguments_are_declared_and_misspelt_ones_refused() -> None:
    own = set(inspect.signature(ACER.__init__).parameters)
    assert set(BeyondStableBaselines.__annotations__) == set(ARGUMENTS) - own
    with pytest.raises(InputError, match="ACER takes no argument burn_inn; the nearest are burn_in"):
        ACER("mlp", vec_env(), burn_inn=2)


def test_a_checkpoint_of_other_spaces_is_told_as_such() -> None:
    state = tiny(env=vec_env("CartPole-v1")).state_dict()
    with pytest.raises(
        InputError, match=r"^its observation space is a Box of shape \(4,\) .*; the agent's is a Box of shape \(6,\)"
    ):
        tiny(env=vec_env("Acrobot-v1")).load_state_dict(state)


def test_load_of_an_instance_is_refused(agent: ACER, tmp_path: Path) -> None:
    """Stable Baselines' users write it, and wonder why nothing has been loaded."""
    agent.save(tmp_path / "agent.zip")
    with pytest.raises(InputError, match=r"write model = ACER\.load\(path\), or model\.load_weights\(path\)"):
        agent.load(tmp_path / "agent.zip")
    assert ACER.load(tmp_path / "agent.zip").num_timesteps == agent.num_timesteps


def test_an_agent_is_not_pickled(agent: ACER) -> None:
    for write in (pickle.dumps, copy.copy):
        with pytest.raises(InputError, match=r"cannot be pickled; save\(path\) writes it"):
            write(agent)


def test_numbers_of_numpy_are_taken_everywhere(tmp_path: Path) -> None:
    """As a search draws them."""
    kwargs = {"n_lstm": np.int32(3), "layers": [np.int64(4)], "net_arch": None}
    agent = tiny("MlpLstmPolicy", policy_kwargs={k: v for k, v in kwargs.items() if v}, gamma=np.float32(0.5))
    assert agent.policy_kwargs == {"n_lstm": 3, "layers": [4]} and agent.gamma == 0.5
    agent.save(tmp_path / "agent.zip")
    assert ACER.load(tmp_path / "agent.zip").policy_kwargs == agent.policy_kwargs


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
    with pytest.raises(AttributeError, match="'ACER' object has no attribute 'gama'"):
        agent.gama  # noqa: B018
    with pytest.raises(InputError, match="verbose is 7"):
        agent.verbose = 7
    assert agent.verbose == 0
    agent.verbose = True
    assert agent.settings.verbose == 1 and type(agent.verbose) is int


def test_versions_are_printed_if_asked(agent: ACER, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent.save(tmp_path / "agent")
    ACER.load(tmp_path / "agent", print_system_info=True)
    saved, here = capsys.readouterr().out.splitlines()
    assert re.search(r"/agent: acer_tf \S+ .*numpy \d.* tensorflow 2", saved)
    assert here.removeprefix("here: ") == saved.partition(": ")[2]


def test_a_copy_is_what_saving_and_loading_would_give(agent: ACER) -> None:
    other = copy.deepcopy(agent)
    assert_same(agent, other)
    assert other.env is None and other.num_timesteps == 60
    obs = observations(agent)
    np.testing.assert_array_equal(other.predict(obs)[0], copy.deepcopy(agent).predict(obs)[0])
    own = tiny(lr_schedule=lambda left: 1.0, _init_setup_model=False)
    own.setup_model()
    assert copy.deepcopy(own).lr_schedule is own.lr_schedule


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
        ({"correction_term": 0}, "correction_term is 0; expected a finite number > 0"),
        ({"buffer_size": 5}, "buffer_size 5 is smaller than replay_start 10"),
        ({"verbose": 3}, "verbose is 3; expected 0, 1 or 2"),
        ({"tensorboard_log": 5}, "a path is an int; expected text"),
        ({"seed": -1}, "seed is -1; expected a whole number"),
        ({"n_cpu_tf_sess": 0}, "n_cpu_tf_sess is 0; expected a whole number from 1 to 1024"),
        ({"normalize_observations": 1}, "normalize_observations is 1; expected True or False"),
        ({"optimizer": "adm"}, "optimizer is 'adm'; expected rmsprop, adam or a Keras optimizer"),
        ({"sigma": 0.5}, "sigma is 0.5, but the actions are not a Box"),
        ({"env": None}, "the environment is None"),
    ],
)
def test_arguments_that_cannot_work(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ACER(**({"policy": "mlp", "env": vec_env(), "n_steps": 5, "replay_start": 10, "buffer_size": 50} | kwargs))


def test_the_model_may_be_set_up_later() -> None:
    agent = tiny(_init_setup_model=False)
    for use in (lambda: agent.learn(5), lambda: agent.predict(np.zeros(4)), agent.get_parameters, lambda: agent.model):
        with pytest.raises(InputError, match=r"the agent has no networks yet; call setup_model\(\) first"):
            use()
    agent.setup_model()
    assert_same(agent, tiny())


def test_small_policies_have_numpys_numbers_too() -> None:
    agent = tiny(gamma=np.float64(0.9), n_steps=np.int64(5), trust_region=np.bool_(False), policy_kwargs=dict(TINY))
    assert (type(agent.gamma), type(agent.n_steps), type(agent.trust_region)) == (float, int, bool)


@pytest.mark.parametrize("q_lambda", [0, 1])
def test_q_lambda_may_be_a_whole_number(q_lambda: int) -> None:
    agent = tiny(q_lambda=q_lambda)
    before = agent.get_parameters()
    agent.learn(10, log_interval=1)
    assert any((array != before[name]).any() for name, array in agent.get_parameters().items())


def test_hyper_parameters_may_be_given_under_baselines_names() -> None:
    config = Config(nsteps=NSTEPS, lr=0.01, c=3, buffer_size=50, replay_start=10, replay_ratio=0)
    agent = ACER.from_config("mlp", vec_env(), config, policy_kwargs=TINY, seed=0)
    assert agent.model.config is config, "checked once, where it was made"
    assert (agent.n_steps, agent.learning_rate, agent.correction_term, agent.policy_kwargs) == (NSTEPS, 0.01, 3, TINY)
    twin = tiny(learning_rate=0.01, correction_term=3, bootstrap_truncated=False)
    assert_same(agent.learn(20), twin.learn(20))


class Named(ACER):
    """A class of one's own."""

    def name(self) -> str:
        return f"{self.policy} after {self.num_timesteps} steps"


def test_a_class_of_ones_own(tmp_path: Path) -> None:
    agent = Named("mlp", vec_env(), n_steps=NSTEPS, replay_ratio=0, policy_kwargs=TINY).learn(10)
    agent.save(tmp_path / "agent")
    assert agent.name() == Named.load(tmp_path / "agent").name() == "mlp after 10 steps"
    assert Named.from_preset("CartPole-v1").name() == "mlp after 0 steps"


def test_settings_that_may_change() -> None:
    agent = tiny(_init_setup_model=False)
    agent.verbose, agent.tensorboard_log = 1, Path("logs")
    assert (agent.verbose, agent.tensorboard_log, agent.settings.verbose) == (1, "logs", 1)
