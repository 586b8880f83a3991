import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from acer_tf.agent import ACER
from acer_tf.agent.cloning import Cloning
from acer_tf.agent.expert import expert_arrays
from acer_tf.errors import InputError, NotFiniteError
from tests.small_agents import assert_same, everything, tiny, vec_env

N = 600


def cartpole_expert() -> dict[str, Any]:
    """Pushes where the pole leans to; written as Stable Baselines writes it."""
    obs = np.random.default_rng(0).normal(size=(N, 4)).astype(np.float32)
    return {"obs": obs, "actions": (obs[:, 2:3] > 0).astype(np.int64)}


def test_choices_become_those_of_the_expert(capsys: pytest.CaptureFixture[str]) -> None:
    agent, expert = tiny(verbose=1), cartpole_expert()
    before = everything(agent)
    assert agent.pretrain(expert, n_epochs=20, learning_rate=0.02, val_interval=10) is agent
    actions, _ = agent.predict(expert["obs"], deterministic=True)
    assert (actions == expert["actions"][:, 0]).mean() > 0.95
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["epoch 10/20", "epoch 20/20"]
    losses = [
        [float(word) for word in line.replace(",", "").split() if word[0].isdigit() and "/" not in word]
        for line in lines
    ]
    assert all(second < first < np.log(2) for first, second in zip(*losses, strict=True))
    after = everything(agent)
    assert (after["average/pi_head/kernel"] == after["param/pi_head/kernel"]).all()
    for name in ("param/q_head/kernel", "ms/pi_head/kernel", "sampling", "replay_keys"):
        np.testing.assert_array_equal(after[name], before[name])


def test_means_become_the_experts_actions_in_their_own_units() -> None:
    agent = tiny(env=vec_env("Pendulum-v1"), normalize_observations=True)
    obs = np.random.default_rng(0).normal(3, 2, size=(N, 3)).astype(np.float32)
    expected = 1.5 * np.tanh(obs[:, :1] - 3)
    agent.pretrain({"obs": obs, "actions": expected}, n_epochs=20, learning_rate=0.02)
    actions, _ = agent.predict(obs, deterministic=True)
    assert np.corrcoef(actions[:, 0], expected[:, 0])[0, 1] > 0.95
    assert np.abs(actions - expected).mean() < 0.4


def test_actions_outside_of_the_bounds_count_as_the_nearest_inside() -> None:
    obs = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    actions = 6 * np.sign(obs[:, :1])  # bounds are -2 and 2
    outside, inside = (
        tiny(env=vec_env("Pendulum-v1")).pretrain({"obs": obs, "actions": given}, n_epochs=2, learning_rate=0.01)
        for given in (actions, np.clip(actions, -2, 2))
    )
    assert_same(outside, inside)


def test_normalisation_that_has_seen_nothing_begins_with_the_data() -> None:
    env = vec_env()
    agent = tiny(env=env, normalize_observations=True)
    expert = cartpole_expert()
    expert["obs"] = 3 + 2 * expert["obs"]
    agent.pretrain(expert, n_epochs=20, learning_rate=0.02)
    moments = everything(agent)
    np.testing.assert_allclose(moments["obs_mean"], expert["obs"].astype(np.float64).mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(moments["obs_var"], expert["obs"].astype(np.float64).var(axis=0), rtol=1e-6)
    before, _ = agent.predict(expert["obs"], deterministic=True)
    agent.set_env(env)  # as a first reset would: its observations join the data's
    agent.begin(agent.logger)
    assert everything(agent)["obs_count"] == N + 4  # two environments, reset twice
    after, _ = agent.predict(expert["obs"], deterministic=True)
    assert (after == before).mean() > 0.98


def test_a_recurrent_policy_learns_from_what_was_before() -> None:
    """The action repeats what was seen at the first step of the episode."""
    random = np.random.default_rng(0)
    obs = np.zeros((300, 5, 4), np.float32)
    obs[:, 0, 0] = random.choice([-1, 1], 300)
    actions = np.repeat(obs[:, :1, 0] > 0, 5, axis=1).astype(np.int64)
    starts = np.zeros((300, 5), np.bool_)
    starts[:, 0] = True
    agent = tiny("lstm", policy_kwargs={"nlstm": 8})
    data = {"obs": obs.reshape(-1, 4), "actions": actions.ravel(), "episode_starts": starts.ravel()}
    agent.pretrain(data, n_epochs=15, learning_rate=0.02)
    _, state = agent.predict(obs[:, 0])
    for t in (1, 2, 3):
        chosen, state = agent.predict(obs[:, t], state, deterministic=True)
        assert (chosen == actions[:, t]).mean() > 0.95


def test_the_average_policy_follows_also_after_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, train = tiny(), Cloning.train
    updates = iter(range(3))

    def interrupted(self: Cloning, batch: Any) -> float:
        if next(updates) == 2:
            raise KeyboardInterrupt
        return train(self, batch)

    before = everything(agent)
    monkeypatch.setattr(Cloning, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        agent.pretrain(cartpole_expert(), n_epochs=20, learning_rate=0.02)
    after = everything(agent)
    assert (after["param/pi_head/kernel"] != before["param/pi_head/kernel"]).any()
    np.testing.assert_array_equal(after["average/pi_head/kernel"], after["param/pi_head/kernel"])


def test_a_loss_that_is_not_finite_is_told_and_not_learned_from() -> None:
    agent = tiny(env=vec_env("Pendulum-v1"))
    bias = agent.model.policy.params["pi_head/bias"]
    bias.assign(np.full(bias.shape, np.nan))
    before = everything(agent)
    with pytest.raises(NotFiniteError, match="the loss of pretraining is not finite"):
        agent.pretrain({"obs": np.zeros((3, 3)), "actions": np.zeros((3, 1))}, n_epochs=1)
    for name, array in everything(agent).items():
        if name.startswith("param/"):
            np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_a_box_takes_finite_actions_and_a_recurrent_policy_whole_segments() -> None:
    with pytest.raises(InputError, match="the dataset holds an action that is not a finite number"):
        tiny(env=vec_env("Pendulum-v1")).pretrain({"obs": np.zeros((1, 3)), "actions": [[np.inf]]})
    with pytest.raises(InputError, match="the dataset has 4 steps; expected at least 5"):
        tiny("lstm", policy_kwargs={"nlstm": 3}).pretrain({"obs": np.zeros((4, 4)), "actions": np.zeros(4)})


def test_files_of_stable_baselines(tmp_path: Path) -> None:
    expert = cartpole_expert()
    np.savez(
        tmp_path / "expert.npz", **expert, rewards=np.ones(N), episode_starts=np.zeros(N), episode_returns=np.ones(3)
    )
    for path in (tmp_path / "expert.npz", str(tmp_path / "expert.npz")):
        arrays = expert_arrays(path)
        assert arrays.keys() == {"obs", "actions", "episode_starts"}
        np.testing.assert_array_equal(arrays["actions"], expert["actions"])


def test_minari_datasets() -> None:
    """Their episodes have one observation more than actions."""
    episodes = [SimpleNamespace(observations={"a": np.arange(n + 1.0)[:, None]}, actions=np.full(n, n)) for n in (2, 3)]
    arrays = expert_arrays(SimpleNamespace(iterate_episodes=lambda: iter(episodes)))
    assert arrays["obs"]["a"][:, 0].tolist() == [0, 1, 0, 1, 2]
    assert arrays["actions"].tolist() == [2, 2, 3, 3, 3]
    assert arrays["episode_starts"].tolist() == [True, False, True, False, False]


def test_parts_of_a_tuple_are_joined_one_by_one() -> None:
    episodes = [SimpleNamespace(observations=(np.zeros(3), np.full(3, n)), actions=np.zeros(2)) for n in (1, 2)]
    arrays = expert_arrays(SimpleNamespace(iterate_episodes=lambda: iter(episodes)))
    assert [part.tolist() for part in arrays["obs"]] == [[0] * 4, [1, 1, 2, 2]]


def test_what_minari_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="the Minari dataset has no episodes"):
        expert_arrays(SimpleNamespace(iterate_episodes=lambda: iter(())))

    def absent(name: str) -> Any:
        raise FileNotFoundError(f"Dataset {name} not found")

    monkeypatch.setitem(sys.modules, "minari", SimpleNamespace(load_dataset=absent))
    with pytest.raises(InputError, match=r"the Minari dataset 'no/such-v0' cannot be loaded \(Dataset no/such-v0 "):
        expert_arrays("no/such-v0")
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(InputError, match=r"'no/such-v0' is an id of Minari, which is not installed .*\[minari\]"):
        expert_arrays("no/such-v0")


@pytest.fixture(scope="module")
def agent() -> ACER:
    return tiny()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "the dataset is an int; expected arrays obs and actions by name, the path of an npz file, or a Minari"),
        ({"obs": np.zeros((3, 4))}, "the dataset has obs; expected obs and actions"),
        ({"obs": np.zeros((3, 4)), "actions": np.zeros(2)}, "the dataset has 3 observations and 2 actions"),
        ({"obs": np.zeros((3, 5)), "actions": np.zeros(3)}, r"an observation has shape \(3, 5\); expected \(4,\)"),
        ({"obs": np.zeros((3, 4)), "actions": [0, 1, 2]}, r"an action is not in Discrete\(2\)"),
        (
            {"obs": np.array(["a.png"] * 3), "actions": [0, 1, 1]},
            "the dataset's array obs is of type <U5; expected numbers",
        ),
        (
            {"obs": [[0, 1, 0, 1], [1]], "actions": [0, 1]},
            "array obs cannot be an array: its rows differ in length",
        ),
        ({"obs": np.zeros((2, 4)), "actions": [0, None]}, "array actions is of type object; expected numbers"),
        ({"obs": np.zeros((2, 4)), "actions": [0, 1], "episode_starts": [1]}, "2 observations and 1 episode_starts"),
        ({"obs": np.zeros((2, 4)), "actions": [0, 1], "episode_starts": ["x", "y"]}, "episode_starts is of type <U1"),
        ("absent.npz", "absent.npz is not a file"),
        (
            {"obs": np.full((3, 4), np.nan), "actions": [0, 1, 1]},
            "the observation holds a number that is not finite",
        ),
        (
            {"obs": np.where(np.arange(800) == 799, np.inf, 0).reshape(200, 4), "actions": [0] * 200},
            "the observation holds a number that is not finite",
        ),
    ],
)
def test_data_that_do_not_fit(agent: ACER, data: Any, message: str) -> None:
    before = everything(agent)
    with pytest.raises(InputError, match=message):
        agent.pretrain(data)
    for name, array in everything(agent).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"n_epochs": 0}, "n_epochs is 0; expected a whole number >= 1"),
        ({"learning_rate": 0}, "learning_rate is 0; expected a finite number > 0"),
        ({"adam_epsilon": -1}, "adam_epsilon is -1"),
        ({"val_interval": 0}, "val_interval is 0"),
    ],
)
def test_arguments_that_cannot_work(agent: ACER, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        agent.pretrain(cartpole_expert(), **kwargs)
