"""Measures the speed of the train step and of the complete loop: `python -m benchmarks.throughput`.

Machines are noisy and differ, so what counts are the shares of the bound and of the loop, measured within one run.
"""

import contextlib
import dataclasses
import resource
import sys
from collections.abc import Mapping
from typing import Any, Literal

from acer_tf.cli.command import command
from acer_tf.config import Config
from acer_tf.envs.ids import atari_game, is_atari
from acer_tf.envs.make import make_training_env
from acer_tf.logs.logger import Logger
from benchmarks import LoopFlags, prepare, print_shares
from benchmarks.emulation import emulated_steps_per_second


@dataclasses.dataclass(frozen=True)
class Throughput(LoopFlags):
    """Measures ACER's speed on this machine."""

    precision: Literal["float32", "bfloat16"] = "float32"
    """Precision of the layers below the heads; the bound is for products in this precision."""
    overlap: bool = Config.overlap
    """Whether to collect the next segment while updates from replay run."""


def measure(flags: Throughput) -> dict[str, Any]:
    """Measures train step and loop."""
    # These import TensorFlow, which then fixes its threads and kernels.
    from acer_tf.learning import make_model_and_loop
    from benchmarks.flops import update_flops
    from benchmarks.loop import device_memory_mib, loop, train_step

    config = flags.config(precision=flags.precision, overlap=flags.overlap)
    with contextlib.closing(make_training_env(flags.env, flags.num_env)) as env:
        acer = make_model_and_loop(flags.network, env, 0, config, Logger())
        acer.learn(lambda: True)  # one iteration, so that there is a segment to train on
        flops = update_flops(acer.model.policy.network, flags.num_env, flags.nsteps)
        numbers = train_step(acer.model, acer.buffer, flops) | loop(acer, env, "emulation", flags.seconds)
    if is_atari(flags.env):
        numbers |= limit(numbers, flops * (1 + flags.replay_ratio) / (flags.num_env * flags.nsteps), flags.env)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return numbers | {"memory_mib": memory, "device_memory_mib": device_memory_mib()}


def limit(numbers: Mapping[str, Any], flops: float, env_id: str) -> dict[str, float]:
    """Measures the emulator alone, and compares the loop with the time of products and emulator, one after the other.

    Args:
        numbers: results for train step and loop.
        flops: floating-point operations of the updates for one agent step.
        env_id: an Atari game.
    """
    emulated = emulated_steps_per_second(atari_game(env_id))
    least = flops / (1e9 * numbers["matmul_gflops"]) + 1 / emulated
    return {"emulated_steps_per_s": emulated, "times_its_limit": 1 / numbers["env_steps_per_s"] / least}


def run(flags: Throughput) -> None:
    """Runs the measurement."""
    prepare(flags.network)
    numbers = measure(flags)
    print(f"train call            {numbers['train_call_ms']:8.2f} ms")
    print(f"share of its bound    {numbers['bound_share']:8.2f}    ({numbers['matmul_gflops']:.0f} GFLOP/s)")
    print(f"environment steps     {numbers['env_steps_per_s']:8.0f} /s")
    if "times_its_limit" in numbers:
        print(f"the emulator alone    {numbers['emulated_steps_per_s']:8.0f} /s")
        print(
            f"time over its limit   {numbers['times_its_limit']:8.2f}    (products and emulator, one after the other)"
        )
    print_shares(numbers["share"])
    if flags.overlap:
        print("beside it")
    print_shares(numbers["share_beside"])
    print(f"storing               {numbers['storing_of_collecting']:8.1%} of collecting")
    print(f"drawing               {numbers['drawing_of_training']:8.1%} of training")
    print(f"memory                {numbers['memory_mib']:8.0f} MiB")
    flags.write(numbers)


main = command("benchmarks.throughput", Throughput, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
