"""Compares the data path from environments to model and buffer: it only copies, so every bit must be equal."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acer_tf.buffer import Buffer, stack_obs
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.recordings.comparison import Quantity, exact
from acer_tf.recordings.recorded import Recorded
from acer_tf.recordings.scripted import NotedRandom, ScriptedActor, ScriptedEnv
from acer_tf.runner import Runner
from acer_tf.segment import Segment

STORED = ("enc_obs", "actions", "rewards", "mus", "dones", "masks")
DRAWN = ("obs", "actions", "rewards", "mus", "dones", "masks")
RUN = ("enc_obs", *DRAWN)


def compare_buffer(recorded: Recorded) -> list[Quantity]:
    """Compares `Buffer`: puts the recorded segments and draws with the recorded seeds."""
    buffer = Buffer(recorded.setting("nsteps"), recorded.setting("size_arg"))
    frames = recorded["has_atleast/frames"].tolist()
    gets = recorded["get/after_puts"].tolist()
    next_idx, filled, has_atleast = [], [], []
    draws: dict[int, tuple[Segment, NDArray[Any]]] = {}
    for puts in range(1, len(recorded["put/enc_obs"]) + 1):
        buffer.put(_stored(recorded, puts - 1))
        next_idx.append(buffer.next_idx)
        filled.append(buffer.num_in_buffer)
        has_atleast.append([buffer.has_atleast(count) for count in frames])
        draws |= {get: _draw(recorded, buffer, get) for get, after in enumerate(gets) if after == puts}
    in_order = [draws[get] for get in range(len(gets))]
    return [
        _equal(recorded, "put/next_idx_after", next_idx),
        _equal(recorded, "put/num_in_buffer_after", filled),
        _equal(recorded, "has_atleast/result", has_atleast),
        _equal(recorded, "get/idx", [slots for _, slots in in_order]),
        *(_equal(recorded, f"get/{name}", [getattr(segment, name) for segment, _ in in_order]) for name in DRAWN),
    ]


def compare_stack_obs(recorded: Recorded) -> list[Quantity]:
    """Compares `stack_obs` on the recorded frames."""
    return [
        _equal(recorded, f"{j}/obs", stack_obs(recorded[f"{j}/enc_obs"], recorded[f"{j}/dones"]))
        for j in recorded.indices()
    ]


def compare_frame_stack(recorded: Recorded) -> list[Quantity]:
    """Compares `FrameStack` on the recorded frames."""
    return [_equal(recorded, f"{j}/stacked", list(_stacks(recorded, j))) for j in recorded.indices()]


def compare_runner(recorded: Recorded) -> list[Quantity]:
    """Compares `Runner` on the recorded frames and actions."""
    nruns = len(recorded["run/enc_obs"])
    env = ScriptedEnv(recorded["env/frames"], recorded["env/dones"], recorded["env/rewards"])
    actions, mus = (_by_step(recorded[f"run/{name}"]) for name in ("actions", "mus"))
    shown = recorded["model/S"] if "model/S" in recorded else np.zeros((*actions.shape, 0))
    actor = ScriptedActor(actions, mus, shown)
    runner = Runner(FrameStack(env, recorded.setting("nstack")), actor, recorded.setting("nsteps"))
    segments = [runner.run() for _ in range(nruns)]
    starts = shown[:: recorded.setting("nsteps")]
    decodes = [np.array_equal(stack_obs(segment.enc_obs, segment.dones), segment.obs) for segment in segments]
    expected_decodes = np.array(recorded.setting("decode_of_enc_obs_equals_obs"))
    return [
        *(_equal(recorded, f"run/{name}", [getattr(s, name) for s in segments]) for name in RUN),
        Quantity("states", exact([segment.states for segment in segments], starts), 0.0),
        _equal(recorded, "env/reset_at", env.reset_at),
        _equal(recorded, "model/obs", actor.obs),
        _equal(recorded, "model/M", actor.masks),
        Quantity("model/S", exact(actor.states, shown), 0.0),
        Quantity("decode_of_enc_obs_equals_obs", exact(decodes, expected_decodes), 0.0),
    ]


def _equal(recorded: Recorded, key: str, ours: ArrayLike) -> Quantity:
    return Quantity(key, exact(ours, recorded[key]), 0.0)


def _stored(recorded: Recorded, put: int) -> Segment:
    arrays = {name: recorded[f"put/{name}"][put] for name in STORED}
    arrays |= {"states": np.zeros((len(arrays["actions"]), 0), np.float32), "final_values": 0 * arrays["rewards"]}
    return Segment(obs=stack_obs(arrays["enc_obs"], arrays["dones"]), **arrays)


def _draw(recorded: Recorded, buffer: Buffer, get: int) -> tuple[Segment, NDArray[Any]]:
    rng = NotedRandom(int(recorded["get/np_seed"][get]))
    segment = buffer.get(rng)
    return segment, rng.drawn[-1]


def _stacks(recorded: Recorded, j: int) -> Iterator[NDArray[Any]]:
    frames, dones = recorded[f"{j}/frames"], recorded[f"{j}/dones"]
    nstack = recorded[f"{j}/stacked"].shape[-1] // frames.shape[-1]
    env = FrameStack(ScriptedEnv(frames, dones, np.zeros(dones.shape, np.float32)), nstack)
    yield env.reset()[0].copy()
    for _ in frames[1:]:
        yield env.step(None)[0].copy()


def _by_step(array: NDArray[Any]) -> NDArray[Any]:
    """Turns [runs, N, T, ...] into [runs * T, N, ...]."""
    runs, nenvs, nsteps, *rest = array.shape
    return array.swapaxes(1, 2).reshape(runs * nsteps, nenvs, *rest)
