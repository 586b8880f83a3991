"""Compares the data path from environments to model and buffer, which only copies, so every bit must be equal."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acer_tf.buffer import Buffer, stack_obs
from acer_tf.envs.wrappers.frame_stack import FrameStack
from acer_tf.recordings.comparison import EXACT, Quantity
from acer_tf.recordings.recorded import Recorded
from acer_tf.recordings.scripted import NotedRandom, ScriptedActor, ScriptedEnv
from acer_tf.runner import Runner
from acer_tf.segment import Segment

STORED = ("enc_obs", "actions", "rewards", "mus", "dones", "masks")
DRAWN = ("obs", "actions", "rewards", "mus", "dones", "masks")
RUN = ("enc_obs", *DRAWN)


def compare_buffer(recorded: Recorded) -> Iterator[Quantity]:
    """Compares `Buffer`: puts in the recorded segments and draws with the recorded seeds."""
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
    ours: dict[str, ArrayLike] = {
        "put/next_idx_after": next_idx,
        "put/num_in_buffer_after": filled,
        "has_atleast/result": has_atleast,
        "get/idx": [slots for _, slots in in_order],
        **{f"get/{name}": [getattr(segment, name) for segment, _ in in_order] for name in DRAWN},
    }
    yield from (EXACT(key, array, recorded[key]) for key, array in ours.items())


def compare_stack_obs(recorded: Recorded) -> Iterator[Quantity]:
    """Compares `stack_obs` on the recorded frames."""
    for j in recorded.indices():
        ours = stack_obs(recorded[f"{j}/enc_obs"], recorded[f"{j}/dones"])
        yield EXACT(f"{j}/obs", ours, recorded[f"{j}/obs"])


def compare_frame_stack(recorded: Recorded) -> Iterator[Quantity]:
    """Compares `FrameStack` on the recorded frames."""
    for j in recorded.indices():
        frames, dones, stacked = (recorded[f"{j}/{name}"] for name in ("frames", "dones", "stacked"))
        source = ScriptedEnv(frames, dones, np.zeros(dones.shape, np.float32))
        env = FrameStack(source, stacked.shape[-1] // frames.shape[-1])
        ours = [env.reset()[0].copy(), *(env.step(None)[0].copy() for _ in frames[1:])]
        yield EXACT(f"{j}/stacked", ours, stacked)


def compare_runner(recorded: Recorded) -> Iterator[Quantity]:
    """Compares `Runner` on the recorded frames and actions."""
    nsteps = recorded.setting("nsteps")
    env = ScriptedEnv(recorded["env/frames"], recorded["env/dones"], recorded["env/rewards"])
    actions, mus = (_by_step(recorded[f"run/{name}"]) for name in ("actions", "mus"))
    shown = recorded["model/S"] if "model/S" in recorded else np.zeros((*actions.shape, 0))
    actor = ScriptedActor(actions, mus, shown)
    runner = Runner(FrameStack(env, recorded.setting("nstack")), actor, nsteps)
    segments = [runner.run() for _ in recorded["run/enc_obs"]]
    ours = {
        **{f"run/{name}": [getattr(segment, name) for segment in segments] for name in RUN},
        "env/reset_at": env.reset_at,
        "model/obs": actor.obs,
        "model/M": actor.masks,
    }
    yield from (EXACT(key, array, recorded[key]) for key, array in ours.items())
    yield EXACT("states", [segment.states for segment in segments], shown[::nsteps])
    yield EXACT("model/S", actor.states, shown)
    decodes = [np.array_equal(stack_obs(segment.enc_obs, segment.dones), segment.obs) for segment in segments]
    decoded = "decode_of_enc_obs_equals_obs"
    yield EXACT(decoded, decodes, np.array(recorded.setting(decoded)))


def _stored(recorded: Recorded, put: int) -> Segment:
    arrays = {name: recorded[f"put/{name}"][put] for name in STORED}
    arrays |= {"states": np.zeros((len(arrays["actions"]), 0), np.float32), "final_values": 0 * arrays["rewards"]}
    return Segment(obs=stack_obs(arrays["enc_obs"], arrays["dones"]), **arrays)


def _draw(recorded: Recorded, buffer: Buffer, get: int) -> tuple[Segment, NDArray[Any]]:
    rng = NotedRandom(int(recorded["get/np_seed"][get]))
    return buffer.get(rng), rng.drawn[-1]


def _by_step(array: NDArray[Any]) -> NDArray[Any]:
    """Turns [runs, N, T, ...] into [runs * T, N, ...]."""
    runs, nenvs, nsteps, *rest = array.shape
    return array.swapaxes(1, 2).reshape(runs * nsteps, nenvs, *rest)
