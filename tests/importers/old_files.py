"""Files as Stable Baselines 2 and baselines wrote them, of recorded parameters; and what their networks gave."""

import base64
import contextlib
import functools
import io
import json
import sys
import types
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import cloudpickle
import gymnasium as gym
import joblib
import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from acer_tf.importers.imported import ImportedAgent
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.recordings.recorded import Recorded, read

GOLDEN = Path(__file__).parent.parent / "golden"
Arrays = dict[str, NDArray[Any]]
SETTINGS = {
    "gamma": 0.98, "n_steps": 10, "q_coef": 0.4, "ent_coef": 0.02, "max_grad_norm": 5, "learning_rate": 1e-3,
    "lr_schedule": "constant", "rprop_alpha": 0.9, "rprop_epsilon": 1e-4, "replay_ratio": 2, "replay_start": 100,
    "verbose": 0,
}  # fmt: skip
NORMALIZED = ("wx", "wh", "b", "gx", "bx", "gh", "bh", "gc", "bc")
OLD_NAMES = (
    "gym.spaces.box.Box", "gym.spaces.discrete.Discrete", "gym.spaces.multi_discrete.MultiDiscrete",
    "gym.spaces.multi_binary.MultiBinary", "gym.spaces.tuple_space.Tuple",
    "stable_baselines.common.running_mean_std.RunningMeanStd",
    "stable_baselines.common.vec_env.vec_normalize.VecNormalize", "own.wrappers.VecNormalize",
    "stable_baselines.common.policies.nature_cnn", "stable_baselines.common.policies.MlpPolicy",
    "stable_baselines.common.policies.MlpLstmPolicy", "stable_baselines.common.policies.MlpLnLstmPolicy",
    "stable_baselines.common.policies.CnnPolicy", "stable_baselines.common.policies.CnnLstmPolicy",
    "stable_baselines.common.policies.LstmPolicy", "tensorflow.python.ops.gen_nn_ops.relu",
    "tensorflow_core.python.ops.gen_nn_ops.relu",
    "tensorflow.python.ops.gen_nn_ops.crelu", "own.policies.MlpPolicy", "own.activations.relu",
)  # fmt: skip


def _old_modules() -> dict[str, types.ModuleType]:
    modules: dict[str, types.ModuleType] = {}
    for path in OLD_NAMES:
        module, _, name = path.rpartition(".")
        packages = module.split(".")
        for depth in range(1, len(packages) + 1):
            package = ".".join(packages[:depth])
            modules.setdefault(package, types.ModuleType(package))
        setattr(modules[module], name, type(name, (), {"__module__": module}))
    return modules


OLD_MODULES = _old_modules()


def old(path: str, **state: Any) -> Any:
    """A class or function of a dead library; with a state, an object of it."""
    module, _, name = path.rpartition(".")
    cls = getattr(OLD_MODULES[module], name)
    if not state:
        return cls
    instance = cls()
    instance.__dict__.update(state)
    return instance


@contextlib.contextmanager
def old_modules() -> Iterator[None]:
    """Lets Python pickle what is of the dead libraries."""
    with mock.patch.dict(sys.modules, OLD_MODULES):
        yield


def box(low: Any, high: Any, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    low, high = np.full(shape, low, dtype), np.full(shape, high, dtype)
    return old("gym.spaces.box.Box", low=low, high=high, shape=shape, dtype=np.dtype(dtype), np_random=RandomState(0))


def discrete(n: int) -> Any:
    return old("gym.spaces.discrete.Discrete", n=n, shape=(), dtype=np.dtype(np.int64))


def running_mean_std(mean: Any, var: Any, count: Any = 5000.0001) -> Any:
    return old("stable_baselines.common.running_mean_std.RunningMeanStd", mean=mean, var=var, count=count)


def vec_normalize(mean: Any, var: Any, **more: Any) -> Any:
    """A `VecNormalize` as Stable Baselines 2.9 and later pickle it: with its spaces, without its environments."""
    state = {
        "num_envs": 1, "observation_space": box(-1, 1, np.shape(mean)), "action_space": discrete(3),
        "obs_rms": running_mean_std(mean, var), "ret_rms": running_mean_std(np.float64(2.0), np.float64(4.0)),
        "clip_obs": 10.0, "clip_reward": 10.0, "gamma": 0.99, "epsilon": 1e-8, "training": True, "norm_obs": True,
        "norm_reward": False, "old_obs": np.zeros((1, *np.shape(mean))), "old_rews": np.zeros(1),
    }  # fmt: skip
    return old("stable_baselines.common.vec_env.vec_normalize.VecNormalize", **state | more)


def data_of(recorded: Recorded, policy: str, **more: Any) -> dict[str, Any]:
    """What Stable Baselines 2 saved beside the parameters."""
    shape = tuple(recorded.setting("obs_shape"))
    space = box(0, 255, shape, np.uint8) if len(shape) == 3 else box(-np.inf, np.inf, shape)
    return {
        **SETTINGS,
        "policy": old(f"stable_baselines.common.policies.{policy}"),
        "observation_space": space,
        "action_space": discrete(recorded.setting("nact")),
        "n_envs": 8,
        "_vectorize_action": False,
        **more,
    }


def layers_of(recorded: Recorded) -> dict[str, Arrays]:
    """The recorded parameters as layers of Stable Baselines 2, in its order, V's layer included."""
    shared = recorded.setting("network_kwargs").get("value_network") != "copy"
    layers: dict[str, Arrays] = {}
    for name, array in recorded.group("param/acer_model").items():
        layer, _, kind = name.rpartition("/")
        scope, _, layer = layer.partition("/")
        layer = layer.replace("mlp_fc", "shared_fc" if shared else f"{scope}_fc") or scope
        layers.setdefault("lstm1" if "lstm" in layer else layer, {})[kind] = array
    if "lstm1" in layers:
        layers["lstm1"] = {kind: layers["lstm1"][kind] for kind in NORMALIZED if kind in layers["lstm1"]}
    heads = {name: layers.pop(name) for name in ("pi", "q")}
    latent = len(heads["pi"]["w"])
    layers = dict(sorted(layers.items(), key=lambda item: item[0][2:] if "_fc" in item[0] else ""))
    return {**layers, "vf": {"w": np.ones((latent, 1), np.float32), "b": np.zeros(1, np.float32)}, **heads}


def named(layers: Mapping[str, Arrays]) -> Arrays:
    return {f"model/{layer}/{kind}:0": a for layer, arrays in layers.items() for kind, a in arrays.items()}


def write_pickle(path: Path, data: Any, params: Any) -> Path:
    with old_modules():
        path.write_bytes(cloudpickle.dumps((data, params)))
    return path


def write_zip(path: Path, data: Mapping[str, Any], params: Arrays) -> Path:
    """As `BaseRLModel._save_to_file_zip` lays it out."""
    file = io.BytesIO()
    np.savez(file, **params)  # type: ignore[arg-type]
    with old_modules(), zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps({name: _json(value) for name, value in data.items()}))
        archive.writestr("parameters", file.getvalue())
        archive.writestr("parameter_list", json.dumps(list(params)))
    return path


def _json(value: Any) -> Any:
    try:
        json.dumps(value)
        return value
    except TypeError:
        text = base64.b64encode(cloudpickle.dumps(value, protocol=4)).decode()
        return {":type:": str(type(value)), ":serialized:": text}


def write_joblib(path: Path, recorded: Recorded, **options: Any) -> Path:
    """As baselines' `save_variables` does: parameters, average, slots, and what else was in the graph."""
    variables = {"global_step:0": np.int64(7)}
    for group, suffix in (("param", ""), ("ema0", "/ExponentialMovingAverage"), ("param", "/RMSProp_1")):
        variables |= {f"{name}{suffix}:0": array for name, array in recorded.group(group).items()}
    variables |= {f"{name}/RMSProp:0": np.abs(array) + 1 for name, array in recorded.group("param").items()}
    joblib.dump(variables, path, **options)
    return path


@functools.cache
def recording(name: str) -> Recorded:
    return read(GOLDEN / f"{name}.npz")


def assert_gives_what_was_recorded(agent: ImportedAgent, recorded: Recorded, average: bool = False) -> None:
    """Compares logits and Q of the converted weights on a recorded batch with those of the original network."""
    space = agent.observation_space
    if space is None:
        space = gym.spaces.Box(0, 255, tuple(recorded.setting("obs_shape")), np.uint8)
    policy = CategoricalPolicy(agent.policy, space, agent.action_space, RandomState(0), **agent.policy_kwargs)
    weights = agent.averages if average else agent.params
    assert weights is not None
    assert weights.keys() == policy.params.keys()
    for name, variable in policy.params.items():
        assert weights[name].dtype == np.float32
        variable.assign(weights[name])
    nenvs, nsteps = recorded.setting("nenvs"), recorded.setting("nsteps") + 1
    obs = recorded["batch/obs"][0].reshape(nenvs, nsteps, *recorded.setting("obs_shape"))
    masks = recorded["batch/masks"][0].reshape(nenvs, nsteps)
    logits, q, _ = policy.network(obs, masks, policy.initial_state(nenvs))
    prefix = "out/polyak_" if average else "out/"
    for ours, theirs in ((logits, f"{prefix}pi_logits"), (q, f"{prefix}q_full")):
        expected = recorded[theirs]
        np.testing.assert_allclose(
            np.reshape(ours, expected.shape), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max()
        )
