import base64
import contextlib
import itertools
import json
import pickle
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from acer_tf.errors import InputError
from acer_tf.importers.objects import Inert
from acer_tf.importers.stable_baselines import LARGEST_TEXT, is_stable_baselines, read_space, read_stable_baselines
from acer_tf.storage import arrays
from tests.importers.old_files import (
    Arrays,
    assert_gives_what_was_recorded,
    box,
    data_of,
    discrete,
    layers_of,
    named,
    old,
    recording,
    write_joblib,
    write_pickle,
    write_zip,
)
from tests.memory import at_most
from tests.zips import members, write_members

POLICIES = "stable_baselines.common.policies"
OLDEST = ("wx", "gx", "bx", "wh", "gh", "bh", "b", "gc", "bc")
APART = {"net_arch": [{"pi": [32, 32], "vf": [32, 32]}]}
SHARED = {"net_arch": [64, 64, {"pi": [], "vf": []}]}
LSTM = {"n_lstm": 48, "net_arch": ["lstm", {"pi": [], "vf": []}]}
CASES: dict[str, tuple[str, str, Any, str, Any]] = {
    "two trunks": ("mlp_value_copy", "MlpPolicy", None, "MlpPolicy", APART),
    "two trunks, said": (
        "mlp_value_copy", "MlpPolicy", {"net_arch": [{"vf": [32, 32], "pi": [32, 32]}]}, "MlpPolicy", APART,
    ),
    "two trunks, as layers": ("mlp_value_copy", "MlpPolicy", {"layers": [32, 32]}, "MlpPolicy", APART),
    "one trunk": ("mlp_defaults", "MlpPolicy", {"net_arch": [64, 64]}, "MlpPolicy", SHARED),
    "lstm": ("lstm", "MlpLstmPolicy", {"n_lstm": 48, "layers": []}, "MlpLstmPolicy", LSTM),
    "lstm, said": ("lstm", "MlpLstmPolicy", {"n_lstm": 48, "net_arch": ["lstm"]}, "MlpLstmPolicy", LSTM),
    "normalised lstm": ("lnlstm", "MlpLnLstmPolicy", {"n_lstm": 48, "layers": []}, "MlpLnLstmPolicy", LSTM),
    "normalised lstm, by argument": (
        "lnlstm", "MlpLstmPolicy", {"n_lstm": 48, "layers": [], "layer_norm": True}, "MlpLnLstmPolicy", LSTM,
    ),
    "images": ("cnn_lstm", "CnnLstmPolicy", {"n_lstm": 32}, "CnnLstmPolicy", {"n_lstm": 32}),
    "images, by argument": (
        "cnn_lstm", "LstmPolicy", {"n_lstm": 32, "cnn_extractor": old(f"{POLICIES}.nature_cnn")},
        "CnnLstmPolicy", {"n_lstm": 32},
    ),
}  # fmt: skip


def as_list(layers: dict[str, Arrays]) -> list[Any]:
    return [array for arrays in layers.values() for array in arrays.values()]


def as_zip(path: Path, data: dict[str, Any], layers: dict[str, Arrays]) -> Path:
    return write_zip(path, data, named(layers))


def as_named(path: Path, data: dict[str, Any], layers: dict[str, Arrays]) -> Path:
    return write_pickle(path, data, OrderedDict(named(layers)))


def as_numbered(path: Path, data: dict[str, Any], layers: dict[str, Arrays]) -> Path:
    return write_pickle(path, data, as_list(layers))


def as_oldest(path: Path, data: dict[str, Any], layers: dict[str, Arrays]) -> Path:
    """As when the normalised LSTM still had baselines' order."""
    if "gx" in (lstm := layers.get("lstm1", {})):
        layers = layers | {"lstm1": {name: lstm[name] for name in OLDEST}}
    return write_pickle(path, data, as_list(layers))


Write = Callable[[Path, dict[str, Any], dict[str, Arrays]], Path]


@pytest.mark.parametrize("case", CASES)
def test_every_form_holds_the_same_agent(tmp_path: Path, case: str) -> None:
    name, policy, given, expected_policy, expected_kwargs = CASES[case]
    recorded = recording(name)
    data = data_of(recorded, policy, **({} if given is None else {"policy_kwargs": given}))
    forms = [as_zip, as_named, as_numbered, as_oldest]
    agents = [read_stable_baselines(write(tmp_path / "agent", data, layers_of(recorded))) for write in forms]
    for agent in agents:
        assert (agent.policy, agent.policy_kwargs) == (expected_policy, expected_kwargs)
        assert agent.params.keys() == agents[0].params.keys()
        for parameter, array in agent.params.items():
            np.testing.assert_array_equal(array, agents[0].params[parameter], strict=True)


@pytest.mark.parametrize("case", ["two trunks", "one trunk", "lstm", "normalised lstm", "images"])
def test_its_weights_give_the_recorded_outputs(tmp_path: Path, case: str) -> None:
    name, policy, given, *_ = CASES[case]
    recorded = recording(name)
    data = data_of(recorded, policy, **({} if given is None else {"policy_kwargs": given}))
    agent = read_stable_baselines(as_zip(tmp_path / "agent", data, layers_of(recorded)))
    assert_gives_what_was_recorded(agent, recorded)


def test_what_a_file_says_is_taken_over(tmp_path: Path) -> None:
    recorded = recording("mlp_value_copy")
    agent = read_stable_baselines(
        as_zip(tmp_path / "agent", data_of(recorded, "MlpPolicy", seed=5), layers_of(recorded))
    )
    assert agent.settings == {
        "gamma": 0.98, "n_steps": 10, "q_coef": 0.4, "ent_coef": 0.02, "max_grad_norm": 5, "learning_rate": 1e-3,
        "lr_schedule": "constant", "rprop_alpha": 0.9, "rprop_epsilon": 1e-4, "replay_ratio": 2, "replay_start": 100,
        "seed": 5,
    }  # fmt: skip
    assert agent.observation_space == Box(-np.inf, np.inf, (4,), np.float32)
    assert agent.action_space == Discrete(3)
    assert (agent.averages, agent.slots) == ({}, {})


def test_replay_is_as_large_as_what_it_waits_for(tmp_path: Path) -> None:
    recorded = recording("lstm")
    for start in (20000, 20000.0):
        data = data_of(recorded, "MlpLstmPolicy", policy_kwargs={"layers": []}, replay_start=start)
        settings = read_stable_baselines(as_zip(tmp_path / "agent", data, layers_of(recorded))).settings
        assert settings["buffer_size"] == 20000


def test_layers_before_and_after_an_lstm(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def fc(rows: int, columns: int) -> Arrays:
        return {"w": rng.normal(size=(rows, columns)).astype(np.float32), "b": np.ones(columns, np.float32)}

    lstm = {"wx": fc(8, 12)["w"], "wh": fc(3, 12)["w"], "b": np.zeros(12, np.float32)}
    layers = {
        "shared_fc0": fc(4, 8), "lstm1": lstm, "shared_fc2": fc(3, 9), "pi_fc0": fc(9, 5), "vf_fc0": fc(9, 6),
        "vf": fc(6, 1), "pi": fc(5, 2), "q": fc(6, 2),
    }  # fmt: skip
    net_arch = [8, "lstm", 9, {"vf": [6], "pi": [5]}]
    data = data_of(recording("lstm"), "MlpLstmPolicy", policy_kwargs={"net_arch": net_arch, "n_lstm": 3})
    for write in (as_zip, as_numbered):
        agent = read_stable_baselines(write(tmp_path / "agent", data, layers))
        assert agent.policy_kwargs == {"net_arch": net_arch, "n_lstm": 3}
        np.testing.assert_array_equal(agent.params["after_fc0/kernel"], layers["shared_fc2"]["w"])
        np.testing.assert_array_equal(agent.params["vf_fc0/kernel"], layers["vf_fc0"]["w"])


def test_trunks_of_different_depth(tmp_path: Path) -> None:
    def fc(rows: int, columns: int) -> Arrays:
        return {"w": np.full((rows, columns), rows, np.float32), "b": np.ones(columns, np.float32)}

    layers = {
        "shared_fc0": fc(4, 8), "vf_fc0": fc(8, 6), "pi_fc0": fc(8, 5), "vf_fc1": fc(6, 7),
        "vf": fc(7, 1), "pi": fc(5, 2), "q": fc(7, 2),
    }  # fmt: skip
    by_turns = {name: layers[name] for name in ("shared_fc0", "pi_fc0", "vf_fc0", "vf_fc1", "vf", "pi", "q")}
    net_arch = [8, {"pi": [5], "vf": [6, 7]}]
    for write, order, given in ((as_zip, layers, net_arch), (as_numbered, by_turns, tuple(net_arch))):
        data = data_of(recording("mlp_defaults"), "MlpPolicy", policy_kwargs={"net_arch": given})
        agent = read_stable_baselines(write(tmp_path / "agent", data, order))
        assert agent.policy_kwargs == {"net_arch": net_arch}
        assert agent.params["vf_fc1/kernel"].shape == (6, 7)


def test_an_activation_is_known_by_its_name(tmp_path: Path) -> None:
    recorded = recording("mlp_value_copy")
    relus = [old(f"{package}.python.ops.gen_nn_ops.relu") for package in ("tensorflow", "tensorflow_core")]
    for write, relu in itertools.product((as_zip, as_numbered), relus):
        data = data_of(recorded, "MlpPolicy", policy_kwargs={"act_fun": relu, "net_arch": APART["net_arch"]})
        assert (
            read_stable_baselines(write(tmp_path / "agent", data, layers_of(recorded))).policy_kwargs["act_fun"]
            == "relu"
        )


def own_class() -> Any:
    class Own:
        pass

    return Own


SPACE = {"observation_space": box(0, 1, (40, 40, 4))}
WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "another algorithm": ("mlp_value_copy", {"replay_ratio": None}, "has no replay_ratio"),
    "continuous": ("mlp_value_copy", {"action_space": box(-1, 1, (2,))}, "actions are not discrete"),
    "no space": (
        "mlp_value_copy", {"observation_space": old("gym.spaces.tuple_space.Tuple", spaces=())}, "its observation",
    ),
    "bad space": ("mlp_value_copy", {"action_space": discrete(-3)}, "its Discrete space is invalid"),
    "own class": ("mlp_value_copy", {"policy": own_class()}, "policy is a user-defined class"),
    "own class elsewhere": ("mlp_value_copy", {"policy": pytest.Item}, "policy is a user-defined class"),
    "own class of a known name": (
        "mlp_value_copy", {"policy": old("own.policies.MlpPolicy")}, "policy is a user-defined class",
    ),
    "own extractor": ("cnn_lstm", {"policy_kwargs": {"cnn_extractor": own_class()}}, "cnn_extractor is user-defined"),
    "unknown argument": ("mlp_value_copy", {"policy_kwargs": {"pad": "SAME"}}, "kwargs hold 'pad', which"),
    "unknown activation": (
        "mlp_value_copy", {"policy_kwargs": {"act_fun": old("tensorflow.python.ops.gen_nn_ops.crelu")}}, "its act_fun",
    ),
    "own activation": ("mlp_value_copy", {"policy_kwargs": {"act_fun": own_class()}}, "its act_fun is none of tanh"),
    "own activation of a known name": (
        "mlp_value_copy", {"policy_kwargs": {"act_fun": old("own.activations.relu")}}, "its act_fun is none of tanh",
    ),
    "no number": ("mlp_value_copy", {"gamma": own_class()}, "its gamma is not a number"),
    "other images": ("cnn_lstm", SPACE, "not bounded by 0 and 255"),
    "images from -1": ("cnn_lstm", {"observation_space": box(-1, 255, (40, 40, 4))}, "not bounded by 0 and 255"),
    "vectors": ("cnn_lstm", {"observation_space": discrete(4)}, "not bounded by 0 and 255"),
}  # fmt: skip


@pytest.mark.parametrize("write", [as_zip, as_numbered])
@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_converted_is_told_in_one_sentence(tmp_path: Path, case: str, write: Write) -> None:
    name, changes, message = WRONG[case]
    recorded = recording(name)
    data = data_of(recorded, "MlpPolicy" if name == "mlp_value_copy" else "CnnLstmPolicy") | changes
    data = {key: value for key, value in data.items() if value is not None}
    with pytest.raises(InputError, match=message) as error:
        read_stable_baselines(write(tmp_path / "agent", data, layers_of(recorded)))
    assert str(error.value).startswith(f"{tmp_path / 'agent'} does not hold an ACER agent of Stable Baselines 2 (")
    assert "\n" not in str(error.value)


def changed(**changes: Any) -> dict[str, Arrays]:
    layers = layers_of(recording("mlp_value_copy")) | changes
    return {name: arrays for name, arrays in layers.items() if arrays is not None}


W, B = np.zeros((32, 3), np.float32), np.zeros(3, np.float32)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (changed(q=None), "no layer q"),
        (changed(other={"w": W, "b": B}), "its layer 'other' is unknown"),
        (changed(c1={"w": W, "b": B}), "network for images is not one"),
        (changed(pi_fc0={"b": B}), "no matrix w"),
        (changed(q={"w": W, "b": np.zeros(3, np.int32)}), "q_head holds int32, not weights"),
    ],
)
def test_layers_that_no_policy_has_are_told(tmp_path: Path, layers: dict[str, Arrays], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_stable_baselines(as_zip(tmp_path / "agent", data_of(recording("mlp_value_copy"), "MlpPolicy"), layers))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (as_list(changed())[:-1], "it has 13 arrays"),
        ([*as_list(changed()), B], "it has 15 arrays"),
        ([*as_list(changed())[:-1], "b"], "one of its parameters is not an array"),
        ([], "it has 0 arrays"),
        ({"model/q/b:0": "b"}, "'model/q/b:0' is unknown"),
        ({3: B}, "'3' is unknown"),
        ("text", "expected settings and parameters"),
    ],
)
def test_parameters_that_are_others_are_told(tmp_path: Path, params: Any, message: str) -> None:
    data = data_of(recording("mlp_value_copy"), "MlpPolicy")
    with pytest.raises(InputError, match=message):
        read_stable_baselines(write_pickle(tmp_path / "agent", data, params))


@pytest.mark.parametrize("member", ["data", "parameters", "parameter_list"])
@pytest.mark.parametrize("content", [None, "", "[" * 100000, '{"a": 1}', "[[]]", "3"])
def test_a_zip_that_is_another_is_told(tmp_path: Path, member: str, content: str | None) -> None:
    recorded = recording("mlp_value_copy")
    whole = as_zip(tmp_path / "whole", data_of(recorded, "MlpPolicy"), layers_of(recorded))
    others = {name: data for name, data in members(whole).items() if name != member}
    write_members(tmp_path / "agent", others if content is None else others | {member: content.encode()})
    with pytest.raises(InputError, match="does not hold an ACER agent of Stable Baselines 2"):
        read_stable_baselines(tmp_path / "agent")


def packed_again(whole: Path, path: Path) -> Path:
    """Its members compressed."""
    write_members(path, members(whole), zipfile.ZIP_DEFLATED)
    return path


def test_a_bomb_in_a_zip_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = recording("mlp_value_copy")
    data = data_of(recorded, "MlpPolicy", padding=" " * 2**21)
    whole = packed_again(as_zip(tmp_path / "whole", data, layers_of(recorded)), tmp_path / "agent")
    assert read_stable_baselines(whole).policy == "MlpPolicy"
    monkeypatch.setattr(arrays, "LARGEST_COMPRESSED", 2**20)
    with pytest.raises(InputError, match="it would unpack to"):
        read_stable_baselines(whole)


@pytest.mark.parametrize("member", ["data", "parameter_list"])
def test_json_takes_no_large_memory(tmp_path: Path, member: str) -> None:
    """Empty lists take twenty times as much memory as their text, which shrinks to nothing in a zip."""
    recorded = recording("mlp_value_copy")
    whole = as_zip(tmp_path / "whole", data_of(recorded, "MlpPolicy"), layers_of(recorded))
    text = b'{"a":[%s[]]}' % (b"[]," * (LARGEST_TEXT // 3))
    write_members(tmp_path / "agent", members(whole) | {member: text}, zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match=f"{member} has more than 4 MiB"), at_most(2**24):
        read_stable_baselines(tmp_path / "agent")


def test_a_zip_that_was_compressed_again_is_none(tmp_path: Path) -> None:
    """It would be unpacked twice, each time to the largest size."""
    recorded = recording("mlp_value_copy")
    whole = as_zip(tmp_path / "whole", data_of(recorded, "MlpPolicy"), layers_of(recorded))
    (tmp_path / "agent").write_bytes(zlib.compress(whole.read_bytes()))
    for reader in (read_stable_baselines, is_stable_baselines):
        with pytest.raises(InputError, match="does not hold"):
            reader(tmp_path / "agent")


def test_a_zip_that_was_packed_again_is_read(tmp_path: Path) -> None:
    recorded = recording("mlp_value_copy")
    whole = as_zip(tmp_path / "whole", data_of(recorded, "MlpPolicy"), layers_of(recorded))
    agent = packed_again(whole, tmp_path / "agent")
    assert read_stable_baselines(agent).params.keys() == read_stable_baselines(whole).params.keys()


def test_every_truncation_is_told(tmp_path: Path) -> None:
    recorded = recording("mlp_value_copy")
    for write in (as_zip, as_named):
        data = write(tmp_path / "agent", data_of(recorded, "MlpPolicy"), layers_of(recorded)).read_bytes()
        for length in range(0, len(data), len(data) // 50):
            (tmp_path / "agent").write_bytes(data[:length])
            with pytest.raises(InputError):
                read_stable_baselines(tmp_path / "agent")


def test_a_class_that_merely_has_the_name_is_not_taken_for_it(tmp_path: Path) -> None:
    recorded = recording("mlp_value_copy")
    impostor = type("MlpPolicy", (), {})
    path = as_numbered(tmp_path / "agent", data_of(recorded, "MlpPolicy") | {"policy": impostor}, layers_of(recorded))
    with pytest.raises(InputError, match="a user-defined class"):
        read_stable_baselines(path)


def test_what_is_of_no_use_here_is_not_decoded(tmp_path: Path) -> None:
    """There may be any number of such pickles, each of the largest size."""
    recorded = recording("mlp_value_copy")
    whole = as_zip(tmp_path / "whole", data_of(recorded, "MlpPolicy"), layers_of(recorded))
    content = members(whole)
    for name, reads in (("callback", True), ("policy", False)):
        data = json.loads(content["data"]) | {name: {":serialized:": base64.b64encode(b"no pickle").decode()}}
        write_members(tmp_path / "agent", content | {"data": json.dumps(data).encode()})
        with contextlib.nullcontext() if reads else pytest.raises(InputError, match="opcode b'n' unknown"):
            assert read_stable_baselines(tmp_path / "agent").policy == "MlpPolicy"


def test_each_kind_is_told_by_its_content(tmp_path: Path) -> None:
    recorded = recording("mlp_value_copy")
    data, params = data_of(recorded, "MlpPolicy"), named(layers_of(recorded))
    assert is_stable_baselines(write_zip(tmp_path / "agent", data, params))
    assert is_stable_baselines(write_pickle(tmp_path / "agent", data, list(params.values())))
    assert not is_stable_baselines(write_joblib(tmp_path / "agent", recorded))
    assert not is_stable_baselines(write_joblib(tmp_path / "agent", recorded, compress=3))


@pytest.mark.parametrize("content", [b"", b"text", pickle.dumps([1]), pickle.dumps(None)])
def test_anything_else_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "agent").write_bytes(content)
    with pytest.raises(InputError, match="agent does not hold an agent of Stable Baselines 2 or baselines"):
        is_stable_baselines(tmp_path / "agent")


def described(name: str, **state: object) -> Inert:
    inert = Inert(f"gym.spaces.{name.lower()}.{name}", ())
    inert.state = state
    return inert


LOW = np.array([0, 1, 2], np.uint8)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (described("Box", low=LOW, high=LOW + 3, shape=(3,), dtype=np.dtype("u1")), Box(LOW, LOW + 3, (3,), np.uint8)),
        (described("Discrete", n=5, np_random=Inert("numpy.random.x", ())), Discrete(5)),
        (described("MultiDiscrete", nvec=np.array([2, 3])), MultiDiscrete([2, 3])),
        (described("MultiBinary", n=4), MultiBinary(4)),
        (described("Tuple", spaces=[]), None),
        (described("Discrete", n="5"), None),
        (Inert("gym.spaces.discrete.Discrete"), None),
        ({"n": 3}, None),
    ],
)
def test_a_space_is_what_gymnasium_has_for_it(old: object, new: Space | None) -> None:
    assert read_space(old) == new


@pytest.mark.parametrize(
    "old",
    [
        described("Discrete", n=-1),
        described("Discrete", n=0),
        described("Box", low=np.zeros(2), high=np.zeros(3)),
        described("Box", low=np.zeros(2), high=np.array([np.nan, 1])),
        described("MultiBinary", n=-1),
        described("MultiBinary", n=2**45),
        described("Discrete", n=2**50),
        described("MultiDiscrete", nvec=np.array([2**24, 2])),
        described("Box", low=np.zeros((2**25, 0)), high=np.zeros((2**25, 0))),
        described("Box", low=np.zeros(2, np.complex64), high=np.zeros(2, np.complex64)),
    ],
)
def test_an_invalid_space_is_told(old: Inert) -> None:
    with pytest.raises(ValueError, match=f"its {old.short_name} space is invalid"):
        read_space(old)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_number_is_no_bound(dtype: type) -> None:
    """gym's CartPole said so; gymnasium's says infinity."""
    high = np.array([4.8, np.finfo(dtype).max], dtype)
    found = read_space(described("Box", low=-high, high=high))
    assert found == Box(np.array([-4.8, -np.inf], dtype), np.array([4.8, np.inf], dtype), (2,), dtype)
