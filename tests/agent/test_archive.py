import copy
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.backend.common import global_state

import acer_tf
from acer_tf.agent import ACER
from acer_tf.errors import InputError
from acer_tf.storage.agent_file import read_agent
from acer_tf.storage.checkpoint import step_folder
from tests.counter import Counter
from tests.saved import make_buffer, make_checkpoints
from tests.small_agents import TINY, assert_same, everything, observations, saved, tiny, vec_env
from tests.zips import members, write_members


def recurrent(**kwargs: Any) -> ACER:
    settings = {"policy_kwargs": {"n_lstm": 3, "layers": [4]}, "normalize_observations": True, "replay_ratio": 1}
    return tiny("MlpLstmPolicy", vec_env("Pendulum-v1"), **(settings | kwargs))


@pytest.fixture(scope="module")
def agent() -> ACER:
    agent = recurrent().learn(40)
    agent.predict(observations(agent))
    return agent


def test_saved_loaded_and_saved_again_is_the_same_file(agent: ACER, tmp_path: Path) -> None:
    first = saved(agent, tmp_path / "first.zip")
    loaded = ACER.load(tmp_path / "first")
    assert saved(loaded, tmp_path / "second.zip") == first
    assert_same(agent, loaded)
    assert (loaded.num_timesteps, loaded.n_envs, loaded.env) == (40, 2, None)
    loaded.set_env(vec_env("Pendulum-v1"))
    assert saved(loaded, tmp_path / "third.zip") == first


def test_a_checkpoint_holds_all_that_the_file_does(agent: ACER, tmp_path: Path) -> None:
    """Normalisation, streams and all: the agent that is loaded from it writes the same file."""
    state = {"model": agent.model.state_dict(), "agent": agent.state_dict()}
    make_checkpoints(tmp_path / "run" / "checkpoints").save(40, state, make_buffer(), None, {}, {})
    for path in (tmp_path / "run", step_folder(tmp_path / "run" / "checkpoints", 40)):
        assert saved(ACER.load(path), tmp_path / "a.zip") == saved(agent, tmp_path / "b.zip")
    other = recurrent(seed=5)
    other.load_weights(tmp_path / "run")
    np.testing.assert_equal(other.get_parameters(), agent.get_parameters())


def test_a_file_wins_over_a_folder_of_its_name(agent: ACER, tmp_path: Path) -> None:
    agent.save(tmp_path / "agent.zip")
    (tmp_path / "agent").mkdir()
    assert_same(agent, ACER.load(tmp_path / "agent"))


def test_the_folder_of_a_run_may_be_the_working_directory(
    agent: ACER, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.save(tmp_path / "model.zip")
    monkeypatch.chdir(tmp_path)
    assert ACER.load(".").num_timesteps == agent.num_timesteps


def test_a_name_that_no_file_can_have_is_told() -> None:
    with pytest.raises(InputError, match=r"^a{300} cannot be read \(File name too long\)\.$"):
        ACER.load("a" * 300)
    with pytest.raises(InputError, match=r"^a{300} cannot be read \(File name too long\)\.$"):
        read_agent("a" * 300)


def test_the_file_is_json_and_arrays(agent: ACER, tmp_path: Path) -> None:
    agent.save(tmp_path / "agent")
    with zipfile.ZipFile(tmp_path / "agent.zip") as archive:
        names = ("model", "random", "normalization")
        assert archive.namelist() == ["data.json", *(f"{name}.npz" for name in names)]
        data = json.loads(archive.read("data.json"))
        agent.model.save(tmp_path / "model.npz")
        assert archive.read("model.npz") == (tmp_path / "model.npz").read_bytes()
    assert data["settings"]["policy"] == "MlpLstmPolicy" and data["num_timesteps"] == 40
    assert data["versions"]["acer_tf"] == acer_tf.__version__


def test_files_that_are_open(agent: ACER) -> None:
    file = io.BytesIO()
    agent.save(file)
    file.seek(0)
    assert_same(agent, ACER.load(file))


GO_ON = """
import sys
import numpy as np
from acer_tf.agent import ACER
from tests.small_agents import observations, vec_env
agent = ACER.load(sys.argv[1], env=vec_env("Pendulum-v1"))
actions = agent.predict(observations(agent, 20))[0]
agent.learn(40, reset_num_timesteps=False)
agent.save(sys.argv[2])
np.save(sys.argv[3], actions)
"""


def test_training_goes_on_in_another_process_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """To the bit, where both begin with new episodes: environments and replay are in no file."""
    agent = recurrent().learn(40)
    agent.save(tmp_path / "agent")
    paths = [str(tmp_path / name) for name in ("agent.zip", "went_on.zip", "actions.npy")]
    root = Path(acer_tf.__file__).parent.parent
    process = subprocess.Popen([sys.executable, "-c", GO_ON, *paths], cwd=root)
    agent.set_env(vec_env("Pendulum-v1"))
    actions = agent.predict(observations(agent, 20))[0]
    agent.learn(40, reset_num_timesteps=False)
    assert process.wait() == 0
    np.testing.assert_array_equal(np.load(paths[2]), actions)
    assert_same(agent, ACER.load(paths[1]))
    assert Path(paths[1]).read_bytes() == saved(agent, tmp_path / "here.zip")


def test_an_agent_that_trains_again_has_other_episodes(tmp_path: Path) -> None:
    env = Counter(3)
    tiny(env=env).learn(20).save(tmp_path / "agent")
    for _ in range(2):
        ACER.load(tmp_path / "agent", env).learn(20, reset_num_timesteps=False).save(tmp_path / "agent")
    seeds = [seed for seed in env.seeds if seed is not None]
    assert len({*seeds}) == len(seeds) == 3


def test_overrides(agent: ACER, tmp_path: Path) -> None:
    agent.save(tmp_path / "agent")
    other = ACER.load(tmp_path / "agent", gamma=0.5, custom_objects={"n_steps": 7}, optimizer="adam", seed=9)
    assert (other.gamma, other.n_steps, other.optimizer, other.seed) == (0.5, 7, "adam", 9)
    ours, theirs = everything(agent), everything(other)
    same = [name for name in ours if name.startswith(("param/", "average/"))]
    assert all((ours[name] == theirs[name]).all() for name in same)
    assert (ours["sampling"] != theirs["sampling"]).any()
    assert not any(name.startswith("ms/") for name in theirs)
    for overrides, message in (
        ({"gama": 1}, "ACER takes no argument gama"),
        ({"gamma": 2}, "gamma is 2; expected a number between 0 and 1"),
        ({"normalize_observations": False}, "normalize_observations is True in .*; what was learned depends on it"),
        ({"policy_kwargs": {"n_lstm": 4, "layers": [4]}}, "policy_kwargs differ: "),
        ({"env": "CartPole-v1"}, "the environment's observation space"),
    ):
        with pytest.raises(InputError, match=message):
            ACER.load(tmp_path / "agent", **overrides)


def test_policy_kwargs_are_those_of_the_file(tmp_path: Path) -> None:
    """Another activation fits weights of the same shapes."""
    tiny("MlpPolicy", policy_kwargs={"net_arch": (4,)}).save(tmp_path / "agent")
    same = {"net_arch": [4], "act_fun": tf.tanh, "layers": None}
    assert ACER.load(tmp_path / "agent", policy_kwargs=same).policy_kwargs == same | {"act_fun": "tanh"}
    for given, message in (
        ({"act_fun": "relu", "net_arch": [4]}, "act_fun is 'tanh' in .*agent, but 'relu' here; what was learned"),
        ({"act_fun": lambda h: h, "net_arch": [4]}, "act_fun is 'tanh' in .*agent, but <function"),
        ({"net_arch": [{"pi": [4], "vf": [4]}]}, r"net_arch is \[4\] in .*agent, but \[\{'pi': \[4\]"),
        ({}, r"net_arch is \[4\] in .*agent, but None here"),
    ):
        with pytest.raises(InputError, match=f"policy_kwargs differ: {message}"):
            ACER.load(tmp_path / "agent", policy_kwargs=given)
    with pytest.raises(InputError, match="policy_kwargs differ: act_fun"):
        tiny("MlpPolicy", policy_kwargs={"net_arch": [4], "act_fun": "elu"}).load_weights(tmp_path / "agent")


def test_functions_are_given_again(tmp_path: Path) -> None:
    def features(inputs: keras.KerasTensor) -> keras.KerasTensor:
        return keras.layers.Dense(3, activation="tanh")(inputs)

    agent = tiny(features, lr_schedule=lambda p: 1.0)
    agent.save(tmp_path / "agent")
    message = r"policy in .*agent is or contains a function, which a file cannot hold; pass it"
    with pytest.raises(InputError, match=message):
        ACER.load(tmp_path / "agent")
    assert_same(agent, ACER.load(tmp_path / "agent", policy=features, lr_schedule="constant"))


class Halved(keras.optimizers.Adam):
    """An optimizer of a user's own."""


def test_the_slots_of_an_optimizer_of_ones_own_are_loaded_and_copied(tmp_path: Path) -> None:
    agent = tiny(optimizer=Halved(), learning_rate=0.1).learn(20, log_interval=1)
    agent.save(tmp_path / "agent")
    for other in (ACER.load(tmp_path / "agent", optimizer=Halved()), copy.deepcopy(agent)):
        assert everything(other)["slot/0"] == 2, "updates"
        assert_same(agent, other)
    assert everything(ACER.load(tmp_path / "agent", optimizer="adam"))["slot/0"] == 0


@pytest.mark.parametrize("optimizer", ["adam", keras.optimizers.SGD(momentum=0.9)])
def test_optimizers_are_in_the_file_with_their_slots(tmp_path: Path, optimizer: Any) -> None:
    agent = tiny(optimizer=optimizer, learning_rate=0.1).learn(20, log_interval=1)
    first = saved(agent, tmp_path / "first.zip")
    loaded = ACER.load(tmp_path / "first", env=vec_env())
    assert_same(agent, loaded)
    assert saved(loaded, tmp_path / "second.zip") == first
    slots = {name: array for name, array in everything(loaded).items() if name.startswith("slot/")}
    assert slots["slot/0"] == 2, "updates"
    assert any((array != 0).any() for name, array in slots.items() if name != "slot/0")
    before = loaded.get_parameters()
    assert_same(agent, ACER.load(tmp_path / "first", optimizer=optimizer))  # the same class: its slots are kept
    other = everything(ACER.load(tmp_path / "first", optimizer="rmsprop"))
    assert all((array == 1).all() for name, array in other.items() if name.startswith("ms/"))
    loaded.learn(10, log_interval=1)
    assert any((array != before[name]).any() for name, array in loaded.get_parameters().items())


def changed(data: bytes, **fields: Any) -> bytes:
    return json.dumps(json.loads(data) | fields).encode()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_damaged_and_foreign_files(agent: ACER, tmp_path: Path) -> None:
    path = tmp_path / "agent.zip"
    whole = saved(agent, path)
    content = members(path)
    data = content["data.json"]
    settings = json.loads(data)["settings"]
    flipped = bytearray(whole)
    flipped[whole.index(b"\x93NUMPY") + 200] ^= 1
    for broken in (b"", b"abc", whole[:100], whole[:-1], whole[: len(whole) // 2], bytes(flipped)):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"agent\.zip is not the file of a trained agent, or is incomplete"):
            ACER.load(path)
    for other in (
        {"a": b"b"},
        content | {"data.json": b"[]"},
        content | {"data.json": b"{"},
        content | {"data.json": b"[" * 10**5},
        content | {"data.json": changed(data, format=3)},
        content | {"model.npz": b"abc"},
    ):
        write_members(path, other)
        with pytest.raises(InputError, match=r"agent\.zip is not the file of a trained agent, or is incomplete"):
            ACER.load(path)
    write_members(path, content, zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="it has compressed members"):
        ACER.load(path)
    moments = {"obs_mean": np.ones(7), "obs_var": np.ones(7), "obs_count": np.ones(())}
    system = settings | {"optimizer": {"class": "system", "arguments": {}}}
    for other, message in (
        ({name: member for name, member in content.items() if name != "model.npz"}, r"damaged: it has no model\.npz"),
        ({name: member for name, member in content.items() if name != "random.npz"}, r"damaged: it has no random\.npz"),
        (content | {"random.npz": npz(sampling=np.zeros(3))}, "of another network: predictions has shape none there"),
        (content | {"data.json": changed(data, settings={})}, "damaged, or of another version"),
        (content | {"data.json": changed(data, settings=settings | {"policy": 3})}, "network '3' does not exist"),
        (
            content | {"data.json": changed(data, action_space={"type": "Box", "shape": [10**12]})},
            "a space has 1,000,000,000,000",
        ),
        (content | {"data.json": changed(data, observation_space={"type": "Text"})}, "the observation space is a Text"),
        (content | {"data.json": changed(data, settings=system)}, "its optimizer is none of"),
        (content | {"model.npz": npz(a=np.ones(3))}, "it has no weights for the actions"),
        (content | {"normalization.npz": npz(**moments)}, r"obs_mean has shape \(7,\) there"),
    ):
        write_members(path, other)
        with pytest.raises(InputError, match=message):
            ACER.load(path)


def test_versions_that_are_none(content: dict[str, bytes], tmp_path: Path) -> None:
    write_members(tmp_path / "agent.zip", content | {"data.json": changed(content["data.json"], versions=[1])})
    with pytest.raises(InputError, match=r"agent\.zip is damaged"):
        ACER.load(tmp_path / "agent.zip", print_system_info=True)


@pytest.fixture(scope="module")
def content(agent: ACER, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("whole") / "agent.zip"
    agent.save(path)
    return members(path)


def discrete(n: int, start: int = 0) -> dict[str, Any]:
    return {"type": "Discrete", "n": n, "start": start}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_timesteps": -5}, "agent.zip is damaged: num_timesteps is -5; expected a whole number >= 0"),
        ({"num_timesteps": np.inf}, "num_timesteps is inf; expected a whole number >= 0"),
        ({"n_envs": -3}, "n_envs is -3; expected a whole number >= 0"),
        ({"n_envs": 2.5}, r"n_envs is 2\.5; expected a whole number >= 0"),
        ({"observation_space": {"type": "MultiBinary", "shape": [10**12]}}, "1,000,000,000,000 numbers or choices"),
        ({"observation_space": discrete(10**19)}, "expected at most 16,777,216"),
        ({"observation_space": discrete(3, 10**19)}, "agent.zip is damaged.*OverflowError"),
        ({"action_space": discrete(10**9)}, "1,000,000,000 numbers or choices; expected at most 16,777,216"),
        ({"action_space": discrete(10**6)}, r"agent.zip is damaged: it has no weights for the actions Discrete\(10000"),
        ({"action_space": discrete(2, 5)}, "the actions start at 5; expected Discrete with start 0"),
        ({"action_space": {"type": "MultiBinary", "shape": [13]}}, "has 8,192 joint actions; expected at most 4,096"),
    ],
)
def test_values_that_no_agent_has(content: dict[str, bytes], tmp_path: Path, fields: Any, message: str) -> None:
    write_members(tmp_path / "agent.zip", content | {"data.json": changed(content["data.json"], **fields)})
    with pytest.raises(InputError, match=message):
        ACER.load(tmp_path / "agent.zip")


def test_a_network_larger_than_the_weights_in_the_file(content: dict[str, bytes], tmp_path: Path) -> None:
    settings = json.loads(content["data.json"])["settings"] | {"policy_kwargs": {"n_lstm": 3, "layers": [2**50]}}
    write_members(tmp_path / "agent.zip", content | {"data.json": changed(content["data.json"], settings=settings)})
    with pytest.raises(
        InputError, match=r"of another network: it has too few weights of shape \(3, 1125899906842624\)"
    ):
        ACER.load(tmp_path / "agent.zip")


def arrays(content: dict[str, bytes], group: str) -> dict[str, Any]:
    with np.load(io.BytesIO(content[f"{group}.npz"]), allow_pickle=False) as file:
        return dict(file)


@pytest.fixture
def keras_makes_anything() -> Iterator[None]:
    """A user has asked for it, and it must make no difference."""
    keras.config.enable_unsafe_deserialization()
    yield
    global_state.set_global_attribute("safe_mode_saving", None)


@pytest.mark.filterwarnings("ignore:The object being serialized includes a `lambda`")
@pytest.mark.usefixtures("keras_makes_anything")
@pytest.mark.parametrize(("policy", "name"), [("mlp", "activation"), ("MlpPolicy", "act_fun")])
def test_a_file_asks_for_activations_by_name(tmp_path: Path, policy: str, name: str) -> None:
    attacked = str(tmp_path / "attacked")
    writes = keras.saving.serialize_keras_object(lambda h: (open(attacked, "w"), h)[1])
    keras.layers.Activation(writes)(np.ones((1, 1)))
    Path(attacked).unlink()  # so Keras alone would run it

    path = tmp_path / "agent.zip"
    saved(tiny(policy, policy_kwargs={}), path)
    content = members(path)
    settings = json.loads(content["data.json"])["settings"]
    layer = {"module": "keras.layers", "class_name": "TFSMLayer", "config": {"filepath": attacked}}
    for value in (writes, layer, "Custom>relu", "deserialize", ["relu"], 3, None):
        data = changed(content["data.json"], settings=settings | {"policy_kwargs": {name: value}})
        write_members(path, content | {"data.json": data})
        with pytest.raises(InputError, match=r"the activation .* does not exist; "):
            ACER.load(path)
        preset = tmp_path / "own.yml"
        preset.write_text(json.dumps({"network": policy, "env": "CartPole-v1", "network_kwargs": {name: value}}))
        with pytest.raises(InputError, match=r"the activation .* does not exist; "):
            ACER.from_preset(preset)
    assert not Path(attacked).exists()


def test_damage_is_told_from_what_this_machine_cannot_do(
    agent: ACER, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another backend of Keras, for instance, is nothing that the file could be blamed for."""
    agent.save(tmp_path / "agent")

    def other_backend(*_: Any, **__: Any) -> None:
        raise AttributeError("module 'keras.backend' has no attribute 'tensorflow'")

    monkeypatch.setattr("acer_tf.agent.state.make_policy", other_backend)
    with pytest.raises(AttributeError, match=r"keras\.backend"):
        ACER.load(tmp_path / "agent")


def test_weights_for_other_observations_are_told_by_their_spaces(tmp_path: Path) -> None:
    tiny(env=vec_env("Acrobot-v1")).save(tmp_path / "agent")
    with pytest.raises(
        InputError,
        match=r"agent: its observation space is a Box of shape \(6,\) .*; the agent's is a Box of shape \(4,\)",
    ):
        tiny(env=vec_env("CartPole-v1")).load_weights(tmp_path / "agent")


PARAMETER, AVERAGE, SLOT = (f"{kind}/pi_head/kernel" for kind in ("param", "average", "ms"))


@pytest.mark.parametrize(
    ("group", "name", "change", "message"),
    [
        ("model", PARAMETER, lambda a: a * np.nan, "agent.zip is damaged: param/.* holds a number that is not finite"),
        ("model", PARAMETER, lambda a: a.astype(str), "param/.* is of type <U32; expected numbers"),
        ("model", PARAMETER, lambda a: a + 0j, "param/.* is of type complex64; expected numbers"),
        (
            "model",
            PARAMETER,
            lambda a: a[1:],
            r"has shape \(2, 1\) there, \(3, 1\) here|too few weights of shape \(3, 1\)",
        ),
        ("model", AVERAGE, lambda a: a * np.inf, "average/.* holds a number that is not finite"),
        ("model", SLOT, lambda a: a + np.nan, "ms/.* holds a number that is not finite"),
        (
            "normalization",
            "obs_var",
            lambda a: a.astype(str),
            "obs_var is of type <U32; expected numbers",
        ),
        ("normalization", "obs_var", lambda a: -a, "obs_var is negative; expected numbers >= 0"),
        ("normalization", "obs_mean", lambda a: a[0], r"obs_mean has shape \(\) there, \(3,\) here"),
        ("normalization", "obs_count", lambda a: None, r"obs_count has shape none there, \(\) here"),
        ("random", "sampling", lambda a: a * np.nan, "sampling is of type float64; expected numbers of type int64"),
        ("random", "replay_keys", lambda a: a[0], r"replay_keys has shape \(\) there, \(624,\) here"),
        (
            "random",
            "replay_position",
            lambda a: a - 10**6,
            "random stream is at position -99.*; expected 0 to 624",
        ),
    ],
)
def test_arrays_that_no_agent_has(
    agent: ACER, content: dict[str, bytes], tmp_path: Path, group: str, name: str, change: Any, message: str
) -> None:
    whole = arrays(content, group)
    other = {key: array if key != name else change(array) for key, array in whole.items()}
    damaged = npz(**{key: array for key, array in other.items() if array is not None})
    write_members(tmp_path / "agent.zip", content | {f"{group}.npz": damaged})
    with pytest.raises(InputError, match=message):
        ACER.load(tmp_path / "agent.zip")
    if group == "random":
        return
    before = everything(agent)
    with pytest.raises(InputError, match=message):
        agent.load_weights(tmp_path / "agent.zip")
    for key, array in everything(agent).items():
        np.testing.assert_array_equal(array, before[key], err_msg=key)


def test_numbers_of_another_precision_are_converted(agent: ACER, content: dict[str, bytes], tmp_path: Path) -> None:
    whole = arrays(content, "model")
    wide = {name: array.astype(np.float64) if name.startswith("param/") else array for name, array in whole.items()}
    write_members(tmp_path / "agent.zip", content | {"model.npz": npz(**wide)})
    assert_same(agent, ACER.load(tmp_path / "agent.zip"))


def test_weights_alone(agent: ACER, tmp_path: Path) -> None:
    agent.save(tmp_path / "agent")
    other = recurrent(seed=5)
    before, steps = everything(other), other.num_timesteps
    other.load_weights(tmp_path / "agent")
    ours, theirs = everything(agent), everything(other)
    loaded = [name for name in ours if name.startswith(("param/", "average/", "ms/", "mom/", "obs_"))]
    assert {name.split("/")[0] for name in loaded} >= {"param", "average", "ms", "obs_mean", "obs_var"}
    for name in loaded:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    for name in theirs.keys() - set(loaded):
        np.testing.assert_array_equal(theirs[name], before[name], err_msg=name)
    assert other.num_timesteps == steps and other.seed == 5
    with pytest.raises(
        InputError, match="was made with normalize_observations=True, this one with False; give both the same"
    ):
        tiny().load_weights(tmp_path / "agent")


def test_a_full_disk_leaves_the_old_file(agent: ACER, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved(agent, tmp_path / "agent.zip")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        agent.save(tmp_path / "agent.zip")
    assert (tmp_path / "agent.zip").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["agent.zip"]


def test_no_code_is_written(agent: ACER, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="files of this package hold no code"):
        agent.save(tmp_path / "agent", cloudpickle=True)
    assert not list(tmp_path.iterdir())


def test_a_small_network_may_have_any_arguments(tmp_path: Path) -> None:
    tiny(policy_kwargs=TINY | {"value_network": "copy"}).save(tmp_path / "agent")
    assert "vf/mlp_fc0/kernel" in ACER.load(tmp_path / "agent").get_parameters()
