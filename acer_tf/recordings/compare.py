"""Comparison of recordings of all kinds."""

from collections.abc import Callable, Iterable

from acer_tf.errors import InputError
from acer_tf.recordings.comparison import Case, Quantity, UnsupportedError
from acer_tf.recordings.data_path import compare_buffer, compare_frame_stack, compare_runner, compare_stack_obs
from acer_tf.recordings.model_cases import compare_model
from acer_tf.recordings.recorded import Recorded
from acer_tf.recordings.small import (
    compare_episode_stats,
    compare_explained_variance,
    compare_ortho_init,
    compare_schedules,
    compare_small_math,
)
from acer_tf.recordings.trajectories import compare_trajectory

_COMPARE: dict[str, Callable[[Recorded], Iterable[Quantity]]] = {
    "trajectory": compare_trajectory,
    "model": compare_model,
    "buffer": compare_buffer,
    "runner": compare_runner,
    "stack_obs": compare_stack_obs,
    "vec_frame_stack": compare_frame_stack,
    "ortho_init": compare_ortho_init,
    "schedules": compare_schedules,
    "explained_variance": compare_explained_variance,
    "small_math": compare_small_math,
    "episode_stats": compare_episode_stats,
}


def compare(recorded: Recorded) -> Case:
    """Recomputes a recording from its inputs with this package, and compares the results with the recorded ones.

    The recording may be of any kind except curves, which have nothing to compare.

    Raises:
        InputError: the arrays do not fit the config or each other.
    """
    name, kind = recorded.path.stem, recorded.kind
    try:
        quantities = tuple(_COMPARE[kind](recorded))
    except UnsupportedError as error:
        return Case(name, kind, "unsupported", note=str(error))
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{recorded.path} has arrays that do not fit its config or each other ({error}).") from error
    if not quantities:
        raise InputError(f"{recorded.path} holds nothing to compare; expected a recording of kind {kind}.")
    return Case(name, kind, "pass" if all(quantity.passed for quantity in quantities) else "fail", quantities)
